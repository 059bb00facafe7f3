"""The largest tile that fits, found by compiling the kernel with smaller constexprs."""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Callable, Iterator

from agent.explain.records import Fit
from agent.records import Compilation, Launch
from agent.symptoms.edits import Code, is_call, names_in

# A compilation takes half a second to some seconds; three halvings of two sizes are what a person would try.
MAX_LOWERINGS = 6
_MAKERS = ("arange", "zeros", "full", "make_block_ptr", "broadcast_to", "zeros_like")
# The cube works on tiles of 16 and a DMA on 32 bytes: smaller tiles are another problem, not a way out.
LEAST_TILE = 16

Try = Callable[[str], Compilation | None]
"""Compile another text of the file; None where it cannot be compiled at all (a host that is stuck)."""
Accepts = Callable[[Compilation], bool]


@dataclasses.dataclass(slots=True)
class Search:
    """What a search compiles with, what it takes for a fit, and how many compilations are left.

    `over` is how many times too large the memory is; `peak` names the field of `Resources` to report.
    """

    lower: Try
    accepts: Accepts
    over: float
    peak: str
    left: int = MAX_LOWERINGS

    def takes(self, made: Compilation | None) -> bool:
        """Tell whether a compilation is a fit."""
        return made is not None and self.accepts(made)


def find_fit(source: str, launch: Launch, search: Search) -> Fit | None:
    """Return the constexpr that has to shrink least, with the largest power-of-two part of it that fits.

    None where no smaller value was found within the search's compilations, or the kernel stands in another file.
    """
    if not any(isinstance(n, ast.FunctionDef) and n.name == launch.kernel for n in ast.walk(ast.parse(source))):
        return None
    code = Code(source, 0, launch)
    best: Fit | None = None
    for name in tile_names(code):
        found = _shrink(code, name, search)
        if found is not None and (best is None or found.value // found.fits < best.value // best.fits):
            best = found
        if best is not None and best.value == 2 * best.fits:
            break  # nothing can shrink less
    return best


def tile_names(code: Code) -> list[str]:
    """Return the constexprs that are sizes of tiles, the largest first."""
    calls = [n for n in ast.walk(code.function) if isinstance(n, ast.Call) and is_call(n, *_MAKERS)]
    used = {name for call in calls for name in names_in(call)}
    sizes = {name: value for name, value in code.launch.constexprs.items() if name in used and _can_shrink(value)}
    return sorted(sizes, key=lambda name: -int(str(sizes[name])))


def _can_shrink(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 2 * LEAST_TILE and value % 2 == 0


def _shrink(code: Code, name: str, search: Search) -> Fit | None:
    value = int(str(code.launch.constexprs[name]))
    known: dict[int, Compilation | None] = {}
    for factor in _factors(value, known, search):
        if not search.left:
            break
        search.left -= 1
        known[factor] = search.lower(with_value(code, name, value // factor))
    fitting = [factor for factor, made in known.items() if search.takes(made)]
    if not fitting:
        return None
    factor = min(fitting)
    made = known[factor]
    used = getattr(made.resources, search.peak) if made is not None else None
    return Fit(name, value, value // factor, 2 * value // factor, used)


def _factors(value: int, known: dict[int, Compilation | None], search: Search) -> Iterator[int]:
    """Yield divisors to try: what the overflow suggests, then larger tiles while they fit, smaller until one does."""
    factor = min(max(2, 2 ** math.ceil(math.log2(max(search.over, 1.01)))), value // LEAST_TILE)
    while factor >= 2 and value % factor == 0 and value // factor >= LEAST_TILE and factor not in known:
        yield factor
        factor = factor // 2 if search.takes(known.get(factor)) else factor * 2


def with_value(code: Code, name: str, value: int) -> str:
    """Return the file with a constexpr replaced by a number wherever the kernel's body names it; no line moves."""

    def visit(node: ast.expr) -> str | None:
        reads = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id == name
        return str(value) if reads else None

    edit = code.change(code.function.body, visit)
    return edit.source if edit is not None else code.source

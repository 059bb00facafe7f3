"""Dumps after single passes -> snapshots of the whole module, at their places in the pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from indexer.ir.generic import parse_module
from indexer.ir.records import IrModule, IrOp, Snapshot

_ALIAS = re.compile(r"^(#(?!loc)[A-Za-z_][\w$.-]*) = (.*)$", re.MULTILINE)
_USED_ALIAS = re.compile(r"#(?!loc)[A-Za-z_][\w$.-]*")
# Characters that aliases may add to a dump. Affine maps have about a hundred, and a dump of a large kernel a megabyte.
_MOST_WRITTEN_OUT = 1 << 26
_WHOLE = "module"


@dataclass(frozen=True, slots=True)
class PassRun:
    """One run of a pass: on the whole module (`scope` "module") or on the function named by `scope`."""

    argument: str
    scope: str = _WHOLE


@dataclass(frozen=True, slots=True)
class Dump:
    """What one pass run that changed something left, in generic form, and the file that holds it."""

    run: PassRun
    compiler: str
    text: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One pass run of the pipeline at its position; `dump` is its index among the dumps, None when unchanged."""

    run: PassRun
    position: int
    dump: int | None


def align(changed: Sequence[PassRun], ran: Sequence[PassRun], first_position: int = 0) -> list[Step]:
    """Place the runs that changed something, in order, among all that ran.

    A pass that ran several times on one function is placed at the first run that keeps the order. One that `ran` has
    too early, since it lists a pass before those it runs inside itself, moves to its dump; one that it lacks is added.
    """
    steps: list[tuple[PassRun, int | None]] = []
    at = 0
    for index, run in enumerate(changed):
        found = next((i for i in range(at, len(ran)) if ran[i] == run), None)
        if found is not None:
            steps += [(skipped, None) for skipped in ran[at:found]]
            at = found + 1
        elif (run, None) in steps:
            del steps[len(steps) - 1 - steps[::-1].index((run, None))]
        steps.append((run, index))
    steps += [(skipped, None) for skipped in ran[at:]]
    return [Step(run, first_position + i, dump) for i, (run, dump) in enumerate(steps)]


@dataclass(slots=True)
class _State:
    """The module so far: what the next dump changes."""

    functions: dict[str, IrOp] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)

    def take(self, module: IrModule) -> None:
        """Replace what the dump shows: the root module everything, a function or a nested module its own functions."""
        functions = module.functions()
        top = module.top
        if top.name == "builtin.module" and not top.symbol:
            self.functions, self.attributes = functions, top.attributes
        else:
            self.functions = self.functions | functions


def compose(dumps: Iterable[tuple[Dump, int]], user_file: str) -> Iterator[Snapshot]:
    """Yield the module after each dump; a dump comes with its position.

    Attribute aliases (affine maps) are written out, since their numbers mean something else in each dump. Raises
    `ValueError` naming the dump when it is not generic-form MLIR.
    """
    state = _State()
    for dump, position in dumps:
        try:
            module = parse_module(inline_aliases(dump.text), user_file)
        except ValueError as error:
            raise ValueError(f"{dump.file or dump.run.argument}: {error}") from error
        state.take(module)
        yield Snapshot(
            position, dump.run.argument, dump.compiler, state.functions, state.attributes, module.aliases, dump.file
        )


def inline_aliases(text: str) -> str:
    """Write attribute aliases such as `#map1` out where they are used; location aliases stay.

    Raises `ValueError` when that makes more of the text than any dump is.
    """
    aliases = {found[1]: found[2] for found in _ALIAS.finditer(text)}
    if not aliases:
        return text
    lines: list[str] = []
    size = 0
    for line in text.splitlines():
        written = line if _ALIAS.match(line) else _USED_ALIAS.sub(lambda m: aliases.get(m[0], m[0]), line)
        size += len(written)
        if size > len(text) + _MOST_WRITTEN_OUT:
            raise ValueError("its attribute aliases, written out, are larger than any module")
        lines.append(written)
    return "\n".join(lines)


def count_ops(functions: Mapping[str, IrOp]) -> int:
    """Count the operations of a module, functions included."""
    return sum(1 for function in functions.values() for _ in function.walk())

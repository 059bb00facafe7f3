"""Recompilation: what of a launch changes with the shapes and makes Triton compile the kernel again.

Triton compiles once for each set of constexprs, argument types, integers equal to 1 and arguments divisible by 16 (what
it specialises on). A server that meets new shapes stalls at each new set. The launches of one run of the host, and
where the file has SHAPES those of every shape, tell which parameters differ.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agent.capture import capture
from agent.records import KernelSource, Launch, Lowering, ScalarArgument, TensorArgument
from agent.toolchain.client import Worker
from indexer.errors import BadInput, SandboxError

Kind = Literal["constexpr", "one", "type", "alignment"]
ROUNDED = "next_power_of_2"
# Shapes that are traced: one run of the host each, without compiling.
MOST_SHAPES = 16
_EVERY_SHAPE = f"""


_run_one_shape = run


def run(*_):
    for shape in list(SHAPES)[:{MOST_SHAPES}]:
        given = make_inputs(0, shape)
        _run_one_shape(*given) if isinstance(given, (tuple, list)) else _run_one_shape(given)
"""


@dataclass(frozen=True, slots=True)
class Varying:
    """A parameter that takes several values, and so several compilations; `follows` is the extent that it copies."""

    parameter: str
    kind: Kind
    values: tuple[str, ...]
    line: int | None
    follows: str = ""


@dataclass(frozen=True, slots=True)
class Recompilation:
    """A kernel that different shapes compile anew.

    `shapes` counts the different arguments it was launched with, `compilations` the artefacts they need, `avoidable`
    those beyond what a single shape needs. `seconds_each` is the measured time of one compilation here, None where none
    was made; the back end that makes device code of the last IR is not in it.
    """

    kernel: str
    line: int
    shapes: int
    compilations: int
    avoidable: int
    causes: tuple[Varying, ...]
    seconds_each: float | None

    @property
    def stall_seconds(self) -> float | None:
        """Return how long the avoidable compilations last, at least."""
        return None if self.seconds_each is None else self.seconds_each * self.avoidable


def find_recompilations(worker: Worker, lowering: Lowering) -> tuple[Recompilation, ...]:
    """Return the kernels of a lowered host that its shapes compile anew, those that stall longest first."""
    launches = [item.launch for item in lowering.launches]
    launches += trace_shapes(worker, lowering.source, lowering.target)
    seconds = {
        item.launch.kernel: item.compilation.seconds for item in lowering.launches if item.compilation.seconds > 0
    }
    return compare_launches(launches, lowering.source.text, seconds)


def trace_shapes(worker: Worker, source: KernelSource, target: str) -> list[Launch]:
    """Return the launches of every shape of SHAPES; none where the file has no such list or its host fails on one."""
    if source.entry.function or source.entry.signature or not _makes_inputs_of_shapes(source.text):
        return []
    every = dataclasses.replace(source, text=source.text + _EVERY_SHAPE)
    try:
        return [item.launch for item in capture(worker, every, target).launches]
    except (BadInput, SandboxError):  # the first shape ran: what a further one does is no fault of the kernel's
        return []


def compare_launches(
    launches: Iterable[Launch], source: str, seconds: Mapping[str, float]
) -> tuple[Recompilation, ...]:
    """Find the kernels that need other compilations for other arguments; `seconds` is the time of one, by kernel."""
    by_kernel: dict[str, list[Launch]] = {}
    for launch in launches:
        by_kernel.setdefault(launch.kernel, []).append(launch)
    found = [_compare(kernel, made, source, seconds.get(kernel)) for kernel, made in by_kernel.items()]
    told = [item for item in found if item is not None]
    return tuple(sorted(told, key=lambda r: -(r.stall_seconds or 0.0)))


def _compare(kernel: str, launches: Sequence[Launch], source: str, seconds: float | None) -> Recompilation | None:
    by_shape: dict[tuple[object, ...], list[Launch]] = {}
    for launch in launches:
        by_shape.setdefault(_shape_of(launch), []).append(launch)
    needs = {frozenset(launch.key for launch in made) for made in by_shape.values()}
    if len(needs) < 2:
        return None
    compilations = len(frozenset().union(*needs))
    avoidable = compilations - min(map(len, needs))
    lines = _parameter_lines(source, kernel)
    causes = tuple(_varying(list(by_shape.values()), lines))
    return Recompilation(kernel, launches[0].line, len(by_shape), compilations, avoidable, causes, seconds)


def _shape_of(launch: Launch) -> tuple[object, ...]:
    """Return what the host passed: extents of tensors and values of numbers, whatever became a constant."""
    tensors = [(a.name, a.shape) for a in launch.arguments if isinstance(a, TensorArgument)]
    numbers = [(a.name, a.value) for a in launch.arguments if isinstance(a, ScalarArgument)]
    return (*tensors, *numbers)


def _varying(shapes: Sequence[Sequence[Launch]], lines: Mapping[str, int]) -> Iterator[Varying]:
    """Tell the parameters whose constants, types or alignment are not the same for all shapes."""
    every = [launch for made in shapes for launch in made]
    run_time = {name for launch in every for name in launch.signature}
    for name in dict.fromkeys(n for launch in every for n in (*launch.signature, *launch.constexprs)):
        if name in run_time:
            yield from _specialised(name, every, lines)
        elif len({frozenset(repr(x.constexprs.get(name)) for x in made) for made in shapes}) > 1:
            values = {str(value): value for value in (x.constexprs.get(name) for x in every)}
            shown = tuple(sorted(values, key=lambda text: _order(values[text])))
            yield Varying(name, "constexpr", shown, lines.get(name), _follows(name, every))


def _specialised(name: str, launches: Sequence[Launch], lines: Mapping[str, int]) -> Iterator[Varying]:
    ones = {name in launch.signature for launch in launches}
    types = sorted({launch.signature[name] for launch in launches if name in launch.signature})
    aligned = {name in launch.aligned for launch in launches if name in launch.signature}
    if len(ones) > 1:
        yield Varying(name, "one", ("1",), lines.get(name))
    if len(types) > 1:
        yield Varying(name, "type", tuple(types), lines.get(name))
    if len(aligned) > 1:
        yield Varying(name, "alignment", ("16",), lines.get(name))


def _follows(name: str, launches: Sequence[Launch]) -> str:
    """Return the extent that a constant copies in every launch, or whose next power of two it is; "" for none."""
    for label in _extents(launches[0]):
        extents = [_extents(launch).get(label) for launch in launches]
        values = [launch.constexprs.get(name) for launch in launches]
        if extents == values:
            return label
        if [None if e is None else _next_power_of_two(e) for e in extents] == values:
            return f"{ROUNDED}({label})"
    return ""


def _extents(launch: Launch) -> dict[str, int]:
    extents: dict[str, int] = {}
    for argument in launch.arguments:
        if isinstance(argument, TensorArgument):
            extents |= {f"{argument.name}.shape[{axis}]": size for axis, size in enumerate(argument.shape)}
        elif isinstance(argument.value, int):
            extents[argument.name] = argument.value
    return extents


def _next_power_of_two(value: int) -> int:
    return 1 << (value - 1).bit_length() if value > 0 else 1


def _order(value: object) -> tuple[bool, float, str]:
    number = float(value) if isinstance(value, int | float) else 0.0
    return not isinstance(value, int | float), number, str(value)


def _parameter_lines(source: str, kernel: str) -> dict[str, int]:
    definitions = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef) and n.name == kernel]
    return {
        a.arg: a.lineno for d in definitions for a in (*d.args.posonlyargs, *d.args.args, *d.args.kwonlyargs)
    }  # fmt: skip


def _makes_inputs_of_shapes(source: str) -> bool:
    """Return whether the file lists SHAPES and has a `make_inputs(seed, shape)` and a `run` for them."""
    body = ast.parse(source).body
    functions = {n.name: n for n in body if isinstance(n, ast.FunctionDef)}
    names = {t.id for n in body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    maker = functions.get("make_inputs")
    return "SHAPES" in names and "run" in functions and maker is not None and len(maker.args.args) > 1

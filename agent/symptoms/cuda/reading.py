"""What the CUDA detectors share: the kernel's final TTGIR, its accesses, widths in PTX, and how a finding is told."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from agent.gpu.address import Address, address_of
from agent.gpu.scalars import Scalars
from agent.gpu.ttgir import ACCESSES, COPY, DOTS, Tile, accessed, kernel_flow, tile
from agent.records import Structure
from agent.symptoms.base import Subject
from agent.symptoms.origin import excerpt
from agent.symptoms.structure import LOOPS, Flow, line_of
from indexer.ir.records import IrOp

COALESCE = "tritongpu-coalesce"
ACCELERATE = "tritongpu-accelerate-matmul"
LATENCIES = "tritongpu-assign-latencies"
PIPELINE = "tritongpu-pipeline"
TO_LLVM = "convert-triton-gpu-to-llvm"
# cp.async copies 4, 8 or 16 bytes; the widest access of a thread is 16.
LEAST_COPY_BYTES = 4
WIDEST_BYTES = 16
# The archs of every symptom here.
CUDA = frozenset({"cuda"})


def final_flow(subject: Subject) -> Flow | None:
    """Return the kernel in its last TTGIR, None for a rejected one."""
    final = subject.compilation.hivm
    return kernel_flow(final) if final is not None else None


@dataclass(frozen=True, slots=True)
class Access:
    """A load, store, copy or atomic of a tile: its pointers' tile, pattern, line, and bytes a thread has in a row."""

    op: IrOp
    tile: Tile
    address: Address
    line: int | None
    width_bytes: int


def accesses(subject: Subject, names: Iterable[str] = ACCESSES) -> list[Access]:
    """Return the tile accesses of the kernel by the named operations, in program order."""
    flow = final_flow(subject)
    wanted = frozenset(names)
    return [] if flow is None else [a for a in _accesses(flow) if a.op.name in wanted]


@lru_cache(maxsize=64)
def _accesses(flow: Flow) -> tuple[Access, ...]:
    found = ((op, accessed(op)) for op in flow.ops)
    return tuple(
        Access(op, seen, (where := address_of(flow, op)), line_of(op), _width(seen, where))
        for op, seen in found
        if seen is not None
    )


def _width(seen: Tile, where: Address) -> int:
    """Return the bytes that a thread has in a row along the axis that is contiguous, else of one element."""
    layout, axis = seen.layout, where.unit_axis
    if layout is None or axis is None or axis >= len(layout.size_per_thread):
        return seen.element_bytes
    return layout.size_per_thread[axis] * seen.element_bytes


def widest_in_ptx(subject: Subject, line: int | None) -> int:
    """Return the bytes of the widest access of a thread to global memory on a line, 0 where there is none."""
    found = (m.width for m in subject.compilation.machine if m.line == line and m.width and _is_global(m.opcode))
    return max(found, default=0)


def _is_global(opcode: str) -> bool:
    return ".global" in opcode or opcode.startswith("cp.async")


def loop_of(flow: Flow, op: IrOp) -> IrOp | None:
    """Return the innermost loop around an operation."""
    around = flow.loops(op)
    return around[-1] if around else None


def is_inside(flow: Flow, made: object, loop: IrOp) -> bool:
    """Tell whether a producer is computed inside a loop; what the loop carries, and its counter, are too."""
    if isinstance(made, IrOp):
        return any(parent is loop for parent in flow.parents(made))
    owner = getattr(made, "owner", None)
    return owner is loop or (owner is not None and any(parent is loop for parent in flow.parents(owner)))


def near_first(flow: Flow, op: IrOp, operand: int) -> Iterator[IrOp]:
    """Yield the operations that an operand is computed from, the nearest ones first."""
    seen: set[int] = set()
    waiting = deque([flow.producer(op, operand)])
    while waiting:
        made = waiting.popleft()
        if isinstance(made, IrOp) and id(made) not in seen:
            seen.add(id(made))
            yield made
            waiting.extend(flow.producers(made))


def dot_loops(flow: Flow) -> list[tuple[IrOp, IrOp]]:
    """Return the dots that stand in a loop, each with its innermost loop."""
    found = ((op, loop_of(flow, op)) for op in flow.ops if op.name in DOTS)
    return [(op, loop) for op, loop in found if loop is not None]


def loads_of_dot(flow: Flow, dot: IrOp, loop: IrOp) -> list[IrOp]:
    """Return the tile loads inside the loop that a dot's two operands come from."""
    found = [
        made
        for operand in (0, 1)
        for made in flow.slice_back(dot, operand, loop)
        if isinstance(made, IrOp) and made.name == "tt.load" and tile(made.operands[0].type) is not None
    ]
    return sorted({id(op): op for op in found}.values(), key=flow.ops.index)


def has_copies(loop: IrOp) -> bool:
    """Tell whether anything is copied asynchronously inside a loop."""
    return any(op.name.startswith(("ttg.async_copy", "ttng.async_tma")) for op in loop.walk())


def stages_of(subject: Subject, line: int | None) -> int:
    """Return the number of stages that a loop on a line was asked for: its own, else the launch's, else Triton's 3."""
    own = loop_stages(subject, line)
    return own if own is not None else option(subject, "num_stages", 3)


def loop_stages(subject: Subject, line: int | None) -> int | None:
    """Return the loop's own `num_stages`, None where it has none."""
    for snapshot in subject.compilation.snapshots:
        flow = kernel_flow(snapshot)
        found = [op for op in flow.ops if op.name in LOOPS and line_of(op) == line] if flow is not None else []
        for op in found:
            if "tt.num_stages" in op.attributes:
                return int(op.attributes["tt.num_stages"].split(" ")[0])
    return None


def option(subject: Subject, name: str, default: int) -> int:
    """Return a launch option that is a number."""
    value = subject.launch.options.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def warps_of(subject: Subject) -> int:
    """Return the warps of a program."""
    return subject.compilation.gpu.warps if subject.compilation.gpu is not None else option(subject, "num_warps", 4)


def scalars_of(subject: Subject, flow: Flow) -> Scalars:
    """Return the numbers that the launch fixes."""
    return Scalars(flow, subject.launch)


def told(  # noqa: PLR0913 - what a finding is made of
    subject: Subject,
    symptom: str,
    ops: Iterable[IrOp],
    made_by: str | None,
    *,
    line: int | None,
    weight: float = 1.0,
    stage: str = "ttgir",
    note: str = "",
) -> Structure:
    """Build a structure; its position is where the pass last ran, if the stages list it. `note` follows the excerpt."""
    shown = list(ops)
    places = [s.position for s in subject.compilation.stages if s.name == made_by]
    text = "\n".join(part for part in (excerpt(shown), note) if part)
    names = tuple(dict.fromkeys(op.name for op in shown)) or ((made_by,) if made_by else ())
    return Structure(symptom, line, names, text, stage, made_by, places[-1] if places else None, weight)


def weight_of(subject: Subject, line: int | None, lines: Iterable[int | None], part: float) -> float:
    """Return the weight, on its own line, of a structure that holds `part` of the cost of several lines."""
    cost = subject.cost
    own = cost.by_line.get(line, 0.0) if cost is not None else 0.0
    if cost is None or not own:
        return part
    return part * sum(cost.by_line.get(each, 0.0) for each in {line, *lines}) / own


def unaligned(subject: Subject) -> frozenset[int]:
    """Return the parameters of the kernel that it is not compiled for as multiples of 16, by number."""
    names = list(subject.launch.signature)
    return frozenset(i for i, name in enumerate(names) if name not in subject.launch.aligned)


def parameter(flow: Flow, made: object) -> int | None:
    """Return which parameter of the kernel a producer is, None for another thing."""
    owner, number = getattr(made, "owner", None), getattr(made, "index", None)
    return number if owner is flow.function else None


def first(ops: Iterable[IrOp], holds: Callable[[IrOp], bool]) -> IrOp | None:
    """Return the first operation that satisfies `holds`."""
    return next((op for op in ops if holds(op)), None)


def is_copy_or_load(op: IrOp) -> bool:
    """Tell whether an operation brings a tile from memory."""
    return op.name in {"tt.load", COPY}


def ttir_flow(subject: Subject) -> Flow | None:
    """Return the kernel as the TTIR passes left it, before layouts."""
    position = next((s.position for s in subject.compilation.stages if s.name == "convert-triton-to-tritongpu"), None)
    before = [s for s in subject.compilation.snapshots if position is None or s.position < position]
    return kernel_flow(before[-1]) if before else None

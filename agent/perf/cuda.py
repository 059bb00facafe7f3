"""Predicted cost of a CUDA launch from its TTGIR and its PTX: a roofline, with widths, spread and occupancy.

Not a simulator. Each user line asks for bytes of HBM and of L2, for sectors in L1, and for cycles of the tensor cores,
the FMA units, the special function unit and the instruction issue; the launch takes as long as the busiest of them, or
as memory needs when too few bytes are under way. Two kernels of the suite that differ in one of these are told apart;
the value itself is good to a factor, and its interval says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agent.gpu.address import Step, address_of, base_of
from agent.gpu.scalars import Scalars
from agent.gpu.ttgir import ATOMICS, COPY, DOTS, LOADS, Tile, accessed, elements_a_thread, kernel_flow, tile
from agent.perf.cuda_chip import Chip, chip_of
from agent.records import Compilation, Cost, GpuResources, Interval, Launch, TensorArgument
from agent.symptoms.structure import Flow, line_of
from agent.toolchain.cuda_targets import THREADS_A_WARP, CudaTarget
from indexer.ir.records import IrOp
from indexer.messages import message

# What a launch was predicted to take against what it took, on the measured table of the 25 pairs: four fifths lay
# within this factor.
_SPREAD = 3.0
SECTOR_BYTES = 32
LINE_BYTES = 128
# A mask that the lowering cannot cut into whole vectors, or a value that is not contiguous: one element an access.
_TERMS = ("load", "store", "cube", "vector", "scalar", "sync", "launch", "imbalance")


@dataclass(slots=True)
class Spent:
    """What one line asks for, of all programs together, in microseconds of each unit if it had the unit alone."""

    hbm: float = 0.0
    l2: float = 0.0
    l1: float = 0.0
    tensor: float = 0.0
    fma: float = 0.0
    special: float = 0.0
    issue: float = 0.0
    wait: float = 0.0
    spill: float = 0.0
    bytes: int = 0
    stored: bool = False


@dataclass(slots=True)
class _Launched:
    """One launch with all that is looked up often."""

    flow: Flow
    launch: Launch
    chip: Chip
    gpu: GpuResources
    scalars: Scalars
    lines: dict[int | None, Spent] = field(default_factory=lambda: defaultdict(Spent))
    left: dict[int | None, int] = field(default_factory=dict)

    @property
    def programs(self) -> int:
        return self.launch.programs

    @property
    def multiprocessors(self) -> float:
        """Return the multiprocessors that have work, the last wave counted as it is."""
        slots = self.chip.multiprocessors * max(1, self.gpu.programs_per_multiprocessor)
        waves = -(-self.programs // slots)
        return (
            self.chip.multiprocessors
            * min(1.0, self.programs / (waves * slots) if waves > 1 else 1.0)
            * min(1.0, self.programs / self.chip.multiprocessors)
        )


def predict_cuda(made: Compilation, target: CudaTarget) -> Cost | None:
    """Predict the time of one launch; None for a rejected kernel."""
    flow = kernel_flow(made.hivm) if made.hivm is not None else None
    if flow is None or made.gpu is None:
        return None
    run = _Launched(flow, made.launch, chip_of(target), made.gpu, Scalars(flow, made.launch))
    _spend(run, made)
    return _cost(run)


def _spend(run: _Launched, made: Compilation) -> None:
    widths = _widths(made)
    for op in run.flow.ops:
        runs = run.scalars.runs(op) * run.programs
        if op.name in LOADS | ATOMICS | {"tt.store"}:
            _spend_access(run, op, runs, widths)
        elif op.name in DOTS:
            _spend_dot(run, op, runs)
        else:
            _spend_elements(run, op, runs)
    spilled = run.gpu.spill_bytes
    if spilled:
        total = spilled * THREADS_A_WARP * run.gpu.warps * run.programs
        run.lines[None].spill += total / run.chip.l2_bytes_us


def _widths(made: Compilation) -> Mapping[int, float]:
    """Return the average bytes that a thread moves with one access to global memory, by line."""
    sums: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for op in made.machine:
        if op.line is not None and op.width and (".global" in op.opcode or op.opcode.startswith("cp.async")):
            sums[op.line][0] += op.width * op.count
            sums[op.line][1] += op.count
    return {line: total / count for line, (total, count) in sums.items()}


def _spend_access(run: _Launched, op: IrOp, runs: int, widths: Mapping[int, float]) -> None:
    spent, line = run.lines[line_of(op)], line_of(op)
    found = accessed(op)
    if found is None:
        spent.issue += runs / run.chip.warp_instructions_us / max(1.0, run.multiprocessors)
        return
    width = widths.get(line or 0, float(found.element_bytes))
    moved = found.elements * found.element_bytes * runs
    sectors = _sectors(found, address_of(run.flow, op).steps, width) * found.elements * runs
    copies = max(1.0, 1 / elements_a_thread(found, run.gpu.warps))
    instructions = moved / width / THREADS_A_WARP * (copies if op.name in LOADS else 1.0)
    spent.bytes += moved
    spent.stored = spent.stored or op.name == "tt.store"
    spent.hbm += _from_memory(run, op, moved, sectors) / run.chip.hbm_bytes_us
    spent.l2 += sectors * SECTOR_BYTES / run.chip.l2_bytes_us
    lines = max(sectors * SECTOR_BYTES / LINE_BYTES, instructions)
    spent.l1 += lines / run.chip.l1_lines_us / run.multiprocessors
    spent.issue += instructions * _ISSUED_AN_ACCESS / run.chip.warp_instructions_us / run.multiprocessors
    if op.name in ATOMICS:
        spent.l2 += found.elements * runs / run.chip.atomics_us
    spent.wait += _waiting(run, op, runs)


# Address, predicate and the access itself.
_ISSUED_AN_ACCESS = 3


def _sectors(found: Tile, steps: tuple[Step, ...], width: float) -> float:
    """Return the sectors of 32 bytes that each element costs; neighbours share one."""
    size = found.element_bytes
    fast = [step for step, extent in zip(steps, found.shape, strict=False) if extent > 1]
    if any(step == 1 for step in fast):
        extent = next(e for step, e in zip(steps, found.shape, strict=False) if step == 1 and e > 1)
        run_bytes = extent * size
        whole = -(-run_bytes // SECTOR_BYTES) / extent
        # A warp whose threads read one element each out of a run of several touches the same sectors again and again.
        again = (
            min(2.0, max(1.0, (found.layout.size_per_thread[-1] * size / width) ** 0.5))
            if found.layout and found.layout.size_per_thread
            else 1.0
        )
        return whole * again
    if not fast or all(step == 0 for step in fast):
        return size / SECTOR_BYTES / 8
    smallest = min((abs(step) for step in fast if isinstance(step, int) and step), default=None)
    if any(step == "divided" for step in fast):
        return 1.5 * size / SECTOR_BYTES
    return min(1.0, (smallest or SECTOR_BYTES) * size / SECTOR_BYTES)


def _from_memory(run: _Launched, op: IrOp, moved: int, sectors: float) -> float:
    """Return the bytes that come from HBM: what an argument holds, once; a wave of programs shares the rest in L2."""
    base = base_of(run.flow, op, 0)
    held = _held_bytes(run.launch, base)
    if held is None:
        return min(moved, sectors * SECTOR_BYTES)
    if base not in run.left:
        run.left[base] = held
    first = min(run.left[base], moved)
    run.left[base] -= first
    again = max(0.0, sectors * SECTOR_BYTES - held)
    missed = again * (1 - min(1.0, run.chip.l2_capacity / held)) if held else 0.0
    return first + missed * run.chip.reuse_missed


def _held_bytes(launch: Launch, base: int | None) -> int | None:
    names = list(launch.signature)
    name = names[base] if base is not None and base < len(names) else None
    tensor = next((a for a in launch.arguments if isinstance(a, TensorArgument) and a.name == name), None)
    if tensor is None:
        return None
    count = 1
    for extent, stride in zip(tensor.shape, tensor.strides, strict=True):
        count *= extent if stride else 1
    return count * _type_bytes(tensor.dtype)


def _type_bytes(dtype: str) -> int:
    bits = "".join(c for c in dtype.removeprefix("*") if c.isdigit())
    return max(1, int(bits) // 8) if bits and not dtype.removeprefix("*").startswith("fp8") else 1


def _waiting(run: _Launched, op: IrOp, runs: int) -> float:
    """Return the time in which memory is waited for: latency over what is under way at once."""
    if op.name not in LOADS:
        return 0.0
    resident = min(max(1, run.gpu.programs_per_multiprocessor), -(-run.programs // run.chip.multiprocessors))
    waves = runs / max(1, min(run.programs, resident * run.chip.multiprocessors))
    depth = run.chip.stages_under_way if op.name == COPY else 1.0
    return waves * run.chip.latency_us / depth


def _spend_dot(run: _Launched, op: IrOp, runs: int) -> None:
    a, b, c = (tile_or_buffer(op.operands[i].type) if i < len(op.operands) else None for i in range(3))
    if a is None or b is None or c is None:
        return
    operations = 2.0 * a[0][-2] * a[0][-1] * b[0][-1] * runs
    spent = run.lines[line_of(op)]
    layout = tile(op.results[0].type) if op.results else None
    kind = layout.layout.kind if layout is not None and layout.layout is not None else "nvidia_mma"
    if kind == "blocked":
        spent.fma += operations / run.chip.fma_operations_us(c[1]) / run.multiprocessors
        return
    rate = run.chip.tensor_operations_us(a[1], wgmma=op.name != "tt.dot")
    spent.tensor += operations / rate / run.multiprocessors
    if op.name == "ttng.warp_group_dot" and "isAsync = false" in op.text:
        spent.wait += run.chip.latency_us * 0.1 * runs / max(1, run.programs)


def tile_or_buffer(text: str) -> tuple[tuple[int, ...], str] | None:
    """Read shape and element of a tensor or of a buffer in shared memory; None for another type."""
    if text.startswith("!ttg.memdesc<"):
        text = "tensor<" + text.removeprefix("!ttg.memdesc<")
    found = tile(text)
    return (found.shape, found.element) if found is not None and len(found.shape) >= 2 else None


# Instructions a thread issues for one element: a plain one, and those that are expanded (counts in PTX and SASS).
_INSTRUCTIONS: Mapping[str, float] = {
    "arith.divf": 6.0, "math.exp": 3.0, "math.exp2": 2.0, "math.log": 4.0, "math.log2": 3.0, "math.sqrt": 6.0,
    "math.rsqrt": 3.0, "math.erf": 20.0, "math.sin": 20.0, "math.cos": 20.0, "arith.divsi": 25.0, "arith.remsi": 25.0,
    "arith.divui": 20.0, "arith.remui": 20.0,
}  # fmt: skip
_SPECIAL = frozenset({"math.exp", "math.exp2", "math.log", "math.log2", "math.sqrt", "math.rsqrt", "arith.divf"})
_FREE = frozenset({
    "tt.splat", "tt.broadcast", "tt.expand_dims", "arith.constant", "tt.make_range", "ttg.memdesc_trans", "scf.yield",
    "ttg.local_alloc", "ttg.memdesc_index", "tt.addptr", "scf.for", "scf.if", "tt.return", "tt.func", "tt.trans",
    "ttg.async_commit_group",
})  # fmt: skip


def _spend_elements(run: _Launched, op: IrOp, runs: int) -> None:
    if op.name in _FREE or not op.results:
        return
    found = tile(op.operands[0].type) if op.operands else None
    found = found or tile(op.results[0].type)
    if found is None:
        return
    spent = run.lines[line_of(op)]
    each = max(1.0, elements_a_thread(found, run.gpu.warps))
    warps = run.gpu.warps * runs
    factor = _INSTRUCTIONS.get(op.name, 1.0)
    if found.element == "f64":
        spent.fma += each * factor * warps / run.chip.fp64_warps_us / run.multiprocessors
    if op.name in {"ttg.convert_layout", "tt.reduce", "tt.scan"}:
        spent.wait += (
            run.chip.barrier_us
            * (3 if op.name != "ttg.convert_layout" else 1)
            * runs
            / max(1, min(run.programs, run.chip.multiprocessors * max(1, run.gpu.programs_per_multiprocessor)))
        )
        factor = 2.0
    spent.issue += each * factor * warps / run.chip.warp_instructions_us / run.multiprocessors
    if op.name in _SPECIAL:
        spent.special += each * warps / run.chip.special_warps_us / run.multiprocessors


def _cost(run: _Launched) -> Cost:
    units = ("hbm", "l2", "l1", "tensor", "fma", "special", "issue", "wait", "spill")
    totals = {unit: sum(getattr(s, unit) for s in run.lines.values()) for unit in units}
    power = run.chip.bound_power
    body = float(sum(total**power for total in totals.values()) ** (1 / power))
    starts = run.programs * run.chip.program_us / max(1, min(run.programs, run.chip.multiprocessors))
    weight = {unit: (total / body) ** power if body else 0.0 for unit, total in totals.items()}
    by_line = {line: _share(spent, totals, weight) * body for line, spent in run.lines.items()}
    launch = run.chip.launch_us + starts
    by_line[None] = by_line.get(None, 0.0) + launch
    terms = _terms(run, totals, weight, body, launch)
    value = body + launch
    limiter = max(_TERMS, key=lambda term: terms[term] - (run.chip.launch_us if term == "launch" else 0.0))
    moved = {line: spent.bytes for line, spent in run.lines.items() if spent.bytes}
    return Cost(
        value=value, basis="predicted", interval=Interval(value / _SPREAD, value * _SPREAD), limiter=limiter,
        terms=terms, by_line=by_line, bytes_moved=sum(moved.values()), bytes_by_line=moved,
        remarks=(message("perf.cuda_roofline", card=run.chip.card, spread=f"{_SPREAD:.0f}"),),
    )  # fmt: skip


def _share(spent: Spent, totals: Mapping[str, float], weight: Mapping[str, float]) -> float:
    return float(sum(weight[unit] * getattr(spent, unit) / total for unit, total in totals.items() if total))


def _terms(
    run: _Launched, totals: Mapping[str, float], weight: Mapping[str, float], body: float, launch: float
) -> dict[str, float]:
    terms = dict.fromkeys(_TERMS, 0.0)
    for unit, term in _split(totals):
        terms[term] += weight[unit] * body * _part(run, unit, term, totals)
    terms["launch"] += launch
    return terms


_TERM_OF = {
    "tensor": "cube",
    "fma": "vector",
    "special": "vector",
    "issue": "scalar",
    "wait": "sync",
    "spill": "scalar",
}


def _split(totals: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    for unit in totals:
        if unit in _TERM_OF:
            yield unit, _TERM_OF[unit]
        else:
            yield unit, "load"
            yield unit, "store"


def _part(run: _Launched, unit: str, term: str, totals: Mapping[str, float]) -> float:
    """Return the part of a unit's time that a term holds: memory is split into what is loaded and what is stored."""
    if unit in _TERM_OF:
        return 1.0
    stored = sum(getattr(s, unit) for s in run.lines.values() if s.stored)
    part = stored / totals[unit] if totals[unit] else 0.0
    return part if term == "store" else 1 - part

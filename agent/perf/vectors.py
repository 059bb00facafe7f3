"""Vector work: repeats and instructions of an operation on UB, and the register instructions of the 950."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from agent.perf.arithmetic import Value
from agent.perf.events import Chain, Event, Register, Vector
from agent.perf.memref import MemRef, element_of, vector_bits
from agent.perf.views import read_array
from indexer.ir.records import IrOp

# A vector instruction covers 256 B as eight 32 B blocks with a stride of their own, up to 255 times
# (AscendNPU-IR@8796a8ac:bishengir/lib/Template/include/Vector/VecUtils.h:25-30).
BLOCK_BYTES = 32
REPEAT_BYTES = 256
BLOCKS = REPEAT_BYTES // BLOCK_BYTES
MAX_REPEATS = 255
REGISTER_BITS = 2048  # vector register of the 950 (AscendNPU-IR@f9d978b1:bishengir/lib/Template/include/Utils.h:69)
# Vector operations of HIVM with a rule here; any other counts as a plain one and is named in a remark
# (AscendNPU-IR@8796a8ac:bishengir/include/bishengir/Dialect/HIVM/IR/HIVMVectorOps.td).
_VECTOR = frozenset({
    "vabs", "vadd", "vand", "varange", "vbrc", "vcast", "vcmp", "vconcat", "vcos", "vcumprod", "vcumsum",
    "vdeinterleave", "vdiv", "verf", "vexp", "vflip", "vgather", "vgathermask", "vinterleave", "vln", "vmax", "vmin",
    "vmod", "vmul", "vmulext", "vmulextended", "vmulextui", "vnot", "vor", "vpad", "vpow", "vrec", "vreduce", "vrelu",
    "vrsqrt", "vsel", "vshl", "vshr", "vsin", "vsort", "vsqrt", "vsub", "vtanh", "vtranspose", "vxor", "copy",
})  # fmt: skip
# Register instructions under the name of the arith or math operation that the vendor's table lists.
_REGISTER_NAMES = {
    "vadd": "addf", "vadds": "addf", "vsub": "subf", "vmul": "mulf", "vmuls": "mulf", "vdiv": "divf", "vexp": "exp",
    "vsqrt": "sqrt", "vln": "log", "vsitofp": "sitofp", "vfptosi": "fptosi",
}  # fmt: skip
_INTEGER_NAMES = {"addf": "addi", "subf": "subi", "mulf": "muli"}
_ELEMENTS = {"bf16": "f16"}  # the vendor's table has no bf16


def describe_vector(op: IrOp, name: str, operands: Sequence[Value], line: int | None) -> Sequence[Event]:
    """Count the work of a vector operation on UB."""
    works = [count_work(view) for view in _working_views(op, name, operands)] or [(1, 1)]
    repeats, instructions = max(r for r, _ in works), max(i for _, i in works)
    source = next(value for value in operands if isinstance(value, MemRef))
    axes = read_array(op.attributes.get("reduce_dims", "") or op.attributes.get("cum_dims", ""))
    last_axis = len(source.sizes) - 1 in axes
    known = name in _VECTOR and op.name.startswith("hivm.")
    if last_axis and name == "vreduce" and not _folds(op):
        # Rows are halved by an operation of two halves until one element is left; halves add up to less than the whole.
        levels = max(source.sizes[-1] or 1, 2).bit_length() - 1
        return (Vector(name, line, repeats + levels, levels * instructions, known=known),)
    return (Vector(name, line, repeats, instructions, last_axis, known),)


def _folds(op: IrOp) -> bool:
    """Tell whether one instruction reduces within a repeat: sum, maximum and minimum of floats only.

    Others are built of halves (AscendNPU-IR@8796a8ac:bishengir/lib/Template/lib/Vector/Reduction/ReduceAR.cpp:23-68).
    """
    kind = op.attributes.get("arith", "")
    return element_of(op.operands[0].type) in {"f16", "f32"} and any(word in kind for word in ("sum", "max", "min"))


def _working_views(op: IrOp, name: str, operands: Sequence[Value]) -> list[MemRef]:
    """Return the views the vector unit walks over: inputs and outputs, without scratch space and look-up tables."""
    segments = read_array(op.attributes.get("operandSegmentSizes", ""))
    kept = operands[: sum(segments[:2])] if segments else operands
    if name == "vgather":  # table, indices, result, scratch
        kept = operands[1:3]
    return [value for value in kept if isinstance(value, MemRef)]


def count_work(view: MemRef) -> tuple[int, int]:
    """Return (repeats, instructions) to walk over `view` once.

    A long piece takes repeats of its own; rows of up to one repeat share an instruction, and rows of one block share
    a repeat, through the strides between blocks and repeats.
    """
    run_bytes = max(-(-view.run * view.bits // 8), 1)
    pieces = view.pieces
    if run_bytes > REPEAT_BYTES:
        repeats = -(-run_bytes // REPEAT_BYTES)
        return pieces * repeats, pieces * -(-repeats // MAX_REPEATS)
    repeats = -(-pieces // BLOCKS) if run_bytes <= BLOCK_BYTES and pieces > 1 else pieces
    return max(repeats, 1), max(-(-repeats // MAX_REPEATS), _outer_loops(view), 1)


def _outer_loops(view: MemRef) -> int:
    """Return the loops that one instruction's two strides cannot take: dimensions beyond the rows of the last one."""
    groups: list[int] = []
    expected: int | None = None
    for size, stride in zip(reversed(view.sizes), reversed(view.strides), strict=True):
        if size is None or size == 1:
            continue
        if groups and stride == expected:
            groups[-1] *= size
        else:
            groups.append(size)
        expected = None if stride is None else stride * size
    inner = 2 if view.run > 1 else 1
    return prod(groups[inner:])


def works_on_registers(op: IrOp) -> bool:
    """Tell whether `op` is a register instruction of a vector function."""
    return any(vector_bits(v.type) for v in op.results) or any(vector_bits(v.type) for v in op.operands)


def describe_register(op: IrOp, line: int | None) -> Sequence[Register]:
    """A register instruction of the 950: as many as the widest vector needs registers; masks are free."""
    shown = [*op.results, *op.operands]
    widest = max(shown, key=lambda value: vector_bits(value.type))
    if op.name in {"ave.hir.pge", "arith.constant"} or element_of(widest.type) == "i1":
        return ()
    return (Register(op.name, line, element_of(widest.type), -(-vector_bits(widest.type) // REGISTER_BITS)),)


def register_key(op: str, element: str) -> str:
    """Return a register instruction as the vendor's table names it: operation and element type."""
    name = op.rpartition(".")[2]
    name = _REGISTER_NAMES.get(name, name)
    element = _ELEMENTS.get(element, element)
    return f"{_INTEGER_NAMES.get(name, name) if element.startswith('i') else name} {element}"


def longest_chain(function: IrOp, line: int | None) -> Chain:
    """Return the longest row of register instructions in a vector function that wait for one another."""
    chains: dict[str, tuple[str, ...]] = {}
    longest: tuple[str, ...] = ()
    for op in function.walk():
        if not works_on_registers(op):
            continue
        events = describe_register(op, line)
        before = max((chains.get(operand.name, ()) for operand in op.operands), key=len, default=())
        own = (*before, *(register_key(event.op, event.element) for event in events))
        for result in op.results:
            chains[result.name] = own
        longest = max(longest, own, key=len)
    return Chain(line, longest)

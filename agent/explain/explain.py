"""A lowering -> why the compiler refused it: cause, buffers, largest tile that fits, place in the compiler."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from agent.explain.buffers import buffer_uses
from agent.explain.causes import Cause, cause_of, words_of
from agent.explain.fit import Search, find_fit
from agent.explain.places import return_inside, tile_condition
from agent.explain.records import BufferUse, Explanation, Fit
from agent.records import Compilation, Diagnostic, Evidence, KernelSource, Lowered, Lowering
from agent.sandbox import is_limit
from agent.symptoms.structure import line_of
from agent.toolchain.resources import PLANNER
from indexer.errors import BadInput, SandboxError
from indexer.ir.records import IrOp
from indexer.ir.types import shaped
from indexer.messages import Message, message

# Cause: the memory as the compiler calls it, and its peak in `Resources`.
_MEMORY = {
    "ub_overflow": ("ub", "ub_bytes"),
    "l1_overflow": ("cbuf", "l1_bytes"),
    "l0c_overflow": ("cc", "l0c_bytes"),
}
_MULTI_BUFFER = "enable-auto-multi-buffer"
# The vector unit has no double precision, and the passes that lower a cast to it die of it.
_DOUBLE = "f64"
_SILENT = frozenset({"compiler_crash", "compiler_silent"})
_MOVING = ("memref.", "bufferization.", "func.", "tensor.")
_SHORT = {"f64": "fp64", "f32": "fp32", "f16": "fp16", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8"}

Lower = Callable[[KernelSource], Lowering]
Cite = Callable[[str, str, str | None], tuple[Evidence, ...]]
"""Where a compiler says something: its words, the operation in them, the pass that failed."""


def cite_nothing(_said: str, _op: str, _pass: str | None) -> tuple[Evidence, ...]:
    """Cite nothing, where there is no index."""
    return ()


def explain(lowering: Lowering, lower: Lower | None, cite: Cite = cite_nothing) -> tuple[Explanation, ...]:
    """Explain each launch that counts and is refused, or was taken only without something.

    `lower` compiles other texts of the file to find the largest tile that fits; without it none is looked for.
    """
    return tuple(found for index in lowering.active for found in _explain_launch(lowering, index, lower, cite))


def _explain_launch(lowering: Lowering, index: int, lower: Lower | None, cite: Cite) -> Iterator[Explanation]:
    made = lowering.launches[index].compilation
    if made.status == "rejected":
        first = next((d for d in made.diagnostics if d.severity == "error"), None)
        if first is not None:
            yield _refused(lowering, index, first, lower, cite)
    elif made.retried_without:
        yield _conceded(lowering, index, lower)


def _refused(lowering: Lowering, index: int, told: Diagnostic, lower: Lower | None, cite: Cite) -> Explanation:
    item = lowering.launches[index]
    made, source = item.compilation, lowering.source.text
    cause = _completed(cause_of(told), told, made)
    buffers: tuple[BufferUse, ...] = ()
    fit: Fit | None = None
    if cause.key in _MEMORY:
        space, peak = _MEMORY[cause.key]
        buffers = buffer_uses(made.snapshots[-1], space, source) if made.snapshots else ()
        over = int(cause.values["needed"]) / int(cause.values["available"])
        fit = _fit(lowering, index, lower, over, peak, _compiles)
    said, op = words_of(told), cause.values.get("op", "")
    return Explanation(
        cause=cause.key,
        kind="rejected",
        launch_index=index,
        line=_line(told, cause, buffers, made, source),
        stage=told.stage,
        pass_argument=told.pass_argument,
        op=op,
        said=said,
        title=message(f"explain.{cause.key}", **cause.values),
        way_out=_way_out(cause, fit),
        details=tuple(_details(made)),
        buffers=buffers,
        fit=fit,
        place=cite(said, op, told.pass_argument),
    )


def _conceded(lowering: Lowering, index: int, lower: Lower | None) -> Explanation:
    """Tell what the compiler switched off to take a launch, and the largest tile with which it need not."""
    made = lowering.launches[index].compilation
    options = ", ".join(made.retried_without)
    key = "no_multi_buffer" if _MULTI_BUFFER in made.retried_without else "switched_off"
    fit = _fit(lowering, index, lower, 2.0, "ub_bytes", lambda c: _compiles(c) and not c.retried_without)
    return Explanation(
        cause=key,
        kind="conceded",
        launch_index=index,
        line=None,
        stage="bishengir",
        pass_argument=PLANNER,
        op="",
        said=options,
        title=message(f"explain.{key}", options=options),
        way_out=_way_out(Cause(key, {}), fit),
        fit=fit,
    )


def _compiles(made: Compilation) -> bool:
    return made.status == "ok"


def _completed(cause: Cause, told: Diagnostic, made: Compilation) -> Cause:
    """Add what the words leave out: the type that was found, the operation that was left over."""
    if cause.key in {"element_type", "not_legalized"}:
        found = sorted({_element(v.type) for op in _named(made, cause.values["op"], told.line) for v in op.operands})
        odd = [name for name in found if name in {"f64", "i64"}] or found
        return Cause(cause.key, {**cause.values, "found": ", ".join(_SHORT.get(n, n) for n in odd) or "-"})
    if cause.key == "not_lowered":
        left = _left_over(made)
        return Cause(cause.key, {"op": left.name if left is not None else "-"})
    if cause.key in _SILENT and (double := _in_double(made)) is not None:
        return Cause(cause.key, {"op": double.name, "found": _SHORT[_DOUBLE]})
    return cause


def _named(made: Compilation, name: str, line: int | None) -> list[IrOp]:
    """Return the operations of the last dump that an error can mean."""
    if not made.snapshots:
        return []
    ops = [op for f in made.snapshots[-1].functions.values() for op in f.walk()]
    on_line = [op for op in ops if line_of(op) == line and op.operands]
    return [op for op in on_line if op.name == name] or [
        op for op in on_line if any(shaped(v.type) for v in op.operands)
    ]


def _element(text: str) -> str:
    kind = shaped(text)
    return kind.element if kind is not None else text


def _left_over(made: Compilation) -> IrOp | None:
    """Return the first operation of Triton that the adapter left in its module."""
    if not made.snapshots:
        return None
    ops = (op for f in made.snapshots[-1].functions.values() for op in f.walk())
    return next((op for op in ops if op.name.startswith("tt.") and op.place is not None), None)


def _in_double(made: Compilation) -> IrOp | None:
    """Return the first operation on double precision that is more than a copy, None where there is none."""
    ops = [op for f in made.snapshots[-1].functions.values() for op in f.walk()] if made.snapshots else []
    found = (op for op in ops if op.place is not None and op.results and not op.name.startswith(_MOVING))
    return next((op for op in found if any(_element(v.type) == _DOUBLE for v in op.operands)), None)


def _line(told: Diagnostic, cause: Cause, buffers: tuple[BufferUse, ...], made: Compilation, source: str) -> int | None:
    if cause.key in _MEMORY:
        at_peak = [b for b in buffers if b.at_peak and b.line is not None]
        largest = max(at_peak, key=lambda b: b.bytes, default=None)
        return largest.line if largest is not None else told.line
    if cause.key == "not_lowered":
        left = _left_over(made)
        return line_of(left) if left is not None else told.line
    if cause.key == "loop_return":
        return return_inside(source, told.line)
    if cause.key == "front_end_crash":
        return tile_condition(source, made.launch) or told.line
    if cause.key in _SILENT and cause.values:
        double = _in_double(made)
        return line_of(double) if double is not None else told.line
    return told.line


def _way_out(cause: Cause, fit: Fit | None) -> Message:
    if cause.key in _MEMORY or cause.key in {"no_multi_buffer", "switched_off"}:
        if fit is None:
            return message(f"explain.{cause.key}_way")
        return message(f"explain.{cause.key}_way_fit", name=fit.name, fits=fit.fits, too_large=fit.too_large)
    if cause.key in {"element_type", "not_legalized", *_SILENT} and "fp64" in cause.values.get("found", ""):
        return message("explain.element_type_way_fp64")
    return message(f"explain.{cause.key}_way", **cause.values)


def _details(made: Compilation) -> Iterator[Message]:
    if made.retried_without:
        yield message("explain.tried_without", options=", ".join(made.retried_without))


def _fit(
    lowering: Lowering, index: int, lower: Lower | None, over: float, peak: str, accepts: Callable[[Compilation], bool]
) -> Fit | None:
    if lower is None:
        return None
    launch = lowering.launches[index].launch
    place = [i for i, item in enumerate(lowering.launches) if item.launch.kernel == launch.kernel].index(index)

    def compiled(text: str) -> Compilation | None:
        twins = _lower(lower, dataclasses.replace(lowering.source, text=text), launch.kernel)
        return twins[place].compilation if place < len(twins) else None

    return find_fit(lowering.source.text, launch, Search(compiled, accepts, over, peak))


def _lower(lower: Lower, source: KernelSource, kernel: str) -> list[Lowered]:
    try:
        lowered = lower(source)
    except BadInput:  # the host cannot be captured with that size: no fit
        return []
    except SandboxError as error:
        if not is_limit(error):
            raise
        return []
    return [item for item in lowered.launches if item.launch.kernel == kernel]

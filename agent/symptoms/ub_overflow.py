"""The tile does not fit into the unified buffer: the compiler rejects the kernel."""

from __future__ import annotations

import ast
import math
import re

from agent.records import Diagnostic, Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, is_call, names_in
from agent.symptoms.structure import flows, line_of, shaped
from indexer.ir.records import IrOp

PLAN_MEMORY = "hivm-plan-memory"
_OVERFLOW = re.compile(r"\bub overflow, requires (\d+) bits while (\d+) bits")
_SHOWN = 4


def _detect(subject: Subject) -> list[Structure]:
    told = next((d for d in subject.compilation.diagnostics if _OVERFLOW.search(d.message)), None)
    if told is None or subject.compilation.status != "rejected":
        return []
    buffers = _largest_buffers(subject)
    last = subject.compilation.snapshots[-1].position if subject.compilation.snapshots else None
    line = next((line for line in map(line_of, buffers) if line is not None), told.line)
    excerpt = "\n".join([told.message, *(op.text for op in buffers)])
    return [Structure("ub_overflow", line, ("memref.alloc",), excerpt, "hivm", told.pass_argument or PLAN_MEMORY, last)]


def _largest_buffers(subject: Subject) -> list[IrOp]:
    """Return the largest unplanned buffers of the last dump."""
    if not subject.compilation.snapshots:
        return []
    made = [op for flow in flows(subject.compilation.snapshots[-1]) for op in flow.ops if op.name == "memref.alloc"]
    return sorted(made, key=_bytes, reverse=True)[:_SHOWN]


def _bytes(op: IrOp) -> int:
    kind = shaped(op.results[0].type) if op.results else None
    return kind.bytes if kind is not None else 0


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Divide the size of the largest range, wherever the kernel uses it, by what is over the limit."""
    told: Diagnostic = next(d for d in subject.compilation.diagnostics if _OVERFLOW.search(d.message))
    found = _OVERFLOW.search(told.message)
    assert found is not None  # noqa: S101 - it was selected by it
    factor = 2 ** math.ceil(math.log2(int(found[1]) / int(found[2]) + 1e-9))
    code = Code(subject.source, structure.line or told.line or 0, subject.launch)
    ranges = [
        n for n in ast.walk(code.function) if isinstance(n, ast.Call) and is_call(n, "arange") and len(n.args) > 1
    ]
    sizes = {name: code.launch.constexprs.get(name) for n in ranges for name in names_in(n.args[1])}
    known = {name: value for name, value in sizes.items() if isinstance(value, int) and value % factor == 0}
    if not known:
        return None
    largest = max(known, key=lambda name: known[name])
    edit = code.change(code.function.body, lambda n: _smaller(n, largest, factor))
    return edit.variant("ub_overflow", structure.line) if edit else None


def _smaller(node: ast.expr, name: str, factor: int) -> str | None:
    return f"({name} // {factor})" if isinstance(node, ast.Name) and node.id == name else None


UB_OVERFLOW = Symptom(
    id="ub_overflow",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(PLAN_MEMORY,),
    ops=("memref.alloc", "hivm.hir.pointer_cast"),
    query="plan memory ub overflow requires bits while bits available memory could not be placed failed",
    detect=_detect,
    counterfactual=_counterfactual,
)

"""The tile does not fit into the unified buffer: the compiler rejects the kernel."""

from __future__ import annotations

import ast
import math

from agent.records import BufferPlan, Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, is_call, names_in

PLAN_MEMORY = "hivm-plan-memory"
_SHOWN = 4


def _detect(subject: Subject) -> list[Structure]:
    resources = subject.compilation.resources
    needed, limit = resources.ub_bytes, resources.ub_limit_bytes
    if subject.compilation.status != "rejected" or needed is None or needed <= limit:
        return []
    buffers = sorted((b for b in resources.buffers if b.space == "ub"), key=_bytes, reverse=True)[:_SHOWN]
    told = next((d for d in subject.compilation.diagnostics if d.pass_argument == PLAN_MEMORY), None)
    line = next((b.line for b in buffers if b.line is not None), told.line if told is not None else None)
    snapshots = subject.compilation.snapshots
    position = next((s.position for s in reversed(snapshots) if s.pass_argument == PLAN_MEMORY), None)
    shown = [f"{needed} bytes of {limit}", *(f"{_bytes(b)} bytes: {b.type} (line {b.line})" for b in buffers)]
    return [Structure("ub_overflow", line, ("memref.alloc",), "\n".join(shown), "hivm", PLAN_MEMORY, position)]


def _bytes(buffer: BufferPlan) -> int:
    return buffer.bytes * buffer.copies


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Divide the size of the largest range, wherever the kernel uses it, by what is over the limit."""
    resources = subject.compilation.resources
    factor = 2 ** math.ceil(math.log2((resources.ub_bytes or 1) / resources.ub_limit_bytes + 1e-9))
    code = Code(subject.source, structure.line or 0, subject.launch)
    nodes = ast.walk(code.function)
    ranges = [n for n in nodes if isinstance(n, ast.Call) and is_call(n, "arange") and len(n.args) > 1]
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

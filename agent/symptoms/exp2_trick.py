"""A power of two of a scaled value: the scale and its inverse both cost a multiplication."""

from __future__ import annotations

import ast
import math
import re

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line, is_call
from agent.symptoms.expanded import NORMALIZE, function_of
from agent.symptoms.origin import Origin, structure
from agent.symptoms.replaced import Replacement, replacements
from agent.symptoms.structure import Flow, flows, line_of
from indexer.ir.records import IrOp

_LOG2_E = math.log2(math.e)
_NUMBER = re.compile(r"^-?[\d.]+(?:e[+-]?\d+)?", re.IGNORECASE)


def _detect(subject: Subject) -> list[Structure]:
    found: dict[int | None, Structure] = {}
    for item in replacements(subject, NORMALIZE, lambda op: function_of(op) == "exp2"):
        scale = _scale_of(item)
        if scale is not None:
            made_by = Origin(NORMALIZE, item.snapshot.position)
            shown = [item.op, scale, *(op for op in item.made if op.name != "tensor.empty")]
            found.setdefault(line_of(item.op), structure("exp2_trick", shown, made_by, "hfusion", weight=0.4))
    return list(found.values())


def _scale_of(item: Replacement) -> IrOp | None:
    """Return the multiplication by log2(e) that feeds the power."""
    for flow in flows(item.before):
        if any(op is item.op for op in flow.ops):
            made = flow.producer(item.op, 0)
            product = isinstance(made, IrOp) and function_of(made) == "mul"
            if isinstance(made, IrOp) and product and any(_is_log2_e(flow, made, i) for i in (0, 1)):
                return made
    return None


def _is_log2_e(flow: Flow, op: IrOp, operand: int) -> bool:
    found = (p for p in flow.slice_back(op, operand) if isinstance(p, IrOp) and p.name == "arith.constant")
    numbers = (_NUMBER.match(p.attributes.get("value", "")) for p in found)
    return any(n is not None and math.isclose(abs(float(n[0])), _LOG2_E, rel_tol=1e-3) for n in numbers)


def _exp(_code: Code, node: ast.expr) -> str | None:
    if isinstance(node, ast.Call) and is_call(node, "exp2") and node.args:
        return f"tl.exp({ast.unparse(node.args[0])})"
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Take the power of e."""
    return edit_line("exp2_trick", subject, structure, _exp, nested=True)


EXP2_TRICK = Symptom(
    id="exp2_trick",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(NORMALIZE,),
    ops=("hivm.hir.vmul", "hivm.hir.vexp"),
    query="normalize exp2 rewritten as exp of x times ln2 no exp2 instruction NormalizeExp2Op",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"vector"}),
)

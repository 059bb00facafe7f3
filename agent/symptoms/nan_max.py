"""A maximum or minimum with the default rule for NaN costs seven vector operations instead of one."""

from __future__ import annotations

import ast
import copy

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line, is_call
from agent.symptoms.expanded import NORMALIZE, expanded_structures, function_of
from indexer.ir.records import IrOp


def _belongs(op: IrOp) -> bool:
    return function_of(op) in {"maxnumf", "minnumf"}


def _detect(subject: Subject) -> list[Structure]:
    return expanded_structures("nan_max", subject, _belongs, least=3, weight=6 / 7)


def _propagating(_code: Code, node: ast.expr) -> ast.expr | None:
    if not isinstance(node, ast.Call) or not is_call(node, "maximum", "minimum", "clamp"):
        return None
    new = copy.deepcopy(node)
    rule = ast.parse("tl.PropagateNan.ALL", mode="eval").body
    new.keywords = [*(k for k in new.keywords if k.arg != "propagate_nan"), ast.keyword("propagate_nan", rule)]
    return new


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Let NaN propagate."""
    return edit_line("nan_max", subject, structure, _propagating, nested=True)


NAN_MAX = Symptom(
    id="nan_max",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(NORMALIZE,),
    ops=("hivm.hir.vmax", "hivm.hir.vmin", "hivm.hir.vsel", "hivm.hir.vcmp"),
    query="normalize maxnumf minnumf NaN mask select expand to max compare not select propagate nan "
    "NormalizeMinMaxNumFOp",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"vector"}),
)

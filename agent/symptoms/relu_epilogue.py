"""A clamp at zero after a matrix product is not folded into the cube's exit and runs on the vector core."""

from __future__ import annotations

import ast
import re

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.cube import FIXPIPE, FIXPIPE_PASSES, MMAD, vector_users
from agent.symptoms.edits import Code, edit_line, is_call
from agent.symptoms.origin import ran_without_effect, structure
from agent.symptoms.structure import Flow, flows, line_of
from indexer.ir.records import IrOp

_ZERO = re.compile(r"^-?0(?:\.0*)?(?:e[+-]?\d+)? : f\d+$|^0\.0+E\+00 : f\d+$", re.IGNORECASE)


def _detect(subject: Subject) -> list[Structure]:
    found = [s for s in subject.compilation.snapshots if s.pass_argument in FIXPIPE_PASSES]
    results: dict[int | None, Structure] = {}
    for flow in flows(found[-1]) if found else ():
        for exit_ in (op for op in flow.ops if op.name == FIXPIPE and "pre_relu" not in op.attributes):
            for clamp in vector_users(flow, exit_):
                if clamp.name == "hivm.hir.vmax" and _clamps_at_zero(flow, clamp) and _after_product(flow, exit_):
                    made_by = ran_without_effect(subject, found[-1].pass_argument)
                    results.setdefault(line_of(clamp), structure("relu_epilogue", [clamp, exit_], made_by, weight=0.8))
    return list(results.values())


def _clamps_at_zero(flow: Flow, clamp: IrOp) -> bool:
    return any(_is_zero(flow, p) for p in flow.producers(clamp)[:2] if isinstance(p, IrOp))


def _is_zero(flow: Flow, made: IrOp) -> bool:
    if made.name == "arith.constant":
        return bool(_ZERO.match(made.attributes.get("value", "")))
    return made.name == "hivm.hir.vbrc" and any(
        isinstance(p, IrOp) and _is_zero(flow, p) for p in flow.producers(made)[:1]
    )


def _after_product(flow: Flow, exit_: IrOp) -> bool:
    made = flow.producer(exit_, 0)
    return isinstance(made, IrOp) and (made.name == MMAD or any(op.name == MMAD for op in made.walk()))


def _unclamped(_code: Code, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Call) and is_call(node, "maximum", "relu") and node.args:
        return next((a for a in node.args if not isinstance(a, ast.Constant)), None)
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Leave the clamp out."""
    return edit_line("relu_epilogue", subject, structure, _unclamped)


RELU_EPILOGUE = Symptom(
    id="relu_epilogue",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=FIXPIPE_PASSES,
    ops=("hivm.hir.vmax", "hivm.hir.fixpipe"),
    query="inline fixpipe pre_relu vrelu folded into fixpipe quant relu mode activation epilogue",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"load", "store", "vector", "sync"}),
)

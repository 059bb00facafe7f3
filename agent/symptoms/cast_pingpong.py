"""A value is narrowed and widened again: two casts that no pass may remove."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line, is_call
from agent.symptoms.origin import Origin, structure
from agent.symptoms.structure import Flow, flows, line_of
from indexer.ir.records import IrOp
from indexer.ir.types import shaped

_NARROW = frozenset({"float16", "bfloat16"})


def _detect(subject: Subject) -> list[Structure]:
    adapted = [s for s in subject.compilation.snapshots if s.compiler == "adapter"]
    found: dict[int | None, Structure] = {}
    for flow in flows(adapted[-1]) if adapted else ():
        for widened in (op for op in flow.ops if op.name == "arith.extf"):
            narrowed = _narrowing(flow, widened)
            if narrowed is not None:
                # The source asks for it; no pass makes it.
                made = structure("cast_pingpong", [narrowed, widened], Origin(None, None), "adapter", weight=0.5)
                found.setdefault(line_of(narrowed), made)
    return list(found.values())


def _narrowing(flow: Flow, widened: IrOp) -> IrOp | None:
    made = flow.producer(widened, 0)
    if isinstance(made, IrOp) and made.name == "arith.truncf" and shaped(made.results[0].type) is not None:
        return made
    return None


def _kept_wide(_code: Code, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Call) and is_call(node, "to") and isinstance(node.func, ast.Attribute):
        named = [a.attr for a in node.args if isinstance(a, ast.Attribute)]
        return node.func.value if named and named[0] in _NARROW else None
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Leave the narrowing cast out."""
    return edit_line("cast_pingpong", subject, structure, _kept_wide, nested=True)


CAST_PINGPONG = Symptom(
    id="cast_pingpong",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(),
    ops=("hivm.hir.vcast", "arith.truncf", "arith.extf"),
    query="fold cast truncf extf pair f16 f32 round trip normalize cast only scalar folded NormalizetruncfExtf",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"vector"}),
)

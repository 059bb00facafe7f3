"""Arithmetic on 8-bit integers is done in float32, with casts on both sides."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, cast, edit_line, is_call
from agent.symptoms.expanded import NORMALIZE
from agent.symptoms.origin import Origin, structure
from agent.symptoms.replaced import replacements
from agent.symptoms.structure import line_of
from indexer.ir.records import IrOp
from indexer.ir.types import shaped

_ARITHMETIC = frozenset({"linalg.elemwise_binary", "linalg.elemwise_unary", "hfusion.elemwise_binary"})


def _element(op: IrOp) -> str:
    kind = shaped(op.operands[0].type) if op.operands else None
    return kind.element if kind is not None else ""


def _belongs(op: IrOp) -> bool:
    return op.name in _ARITHMETIC and _element(op) == "i8"


def _detect(subject: Subject) -> list[Structure]:
    found: dict[int | None, Structure] = {}
    for item in replacements(subject, NORMALIZE, _belongs):
        if not any(_element(op) == "f32" for op in item.made):
            continue
        casts = [op for f in item.snapshot.functions.values() for op in f.walk() if op.name == "hfusion.cast"]
        widened = [op for op in casts if _element(op) == "i8"]
        # The casts of the operands stand where the operands were made: that is where the cost begins.
        line = line_of(widened[0]) if widened else line_of(item.op)
        if line not in found:
            shown = [item.op, *widened[:2], *(op for op in casts if op.place == item.op.place)]
            found[line] = structure(
                "int8_math", shown, Origin(NORMALIZE, item.snapshot.position), "hfusion", line=line, weight=0.8
            )
    return list(found.values())


def _widened(_code: Code, node: ast.expr) -> str | None:
    return cast(node, "int16") if is_call(node, "load") else None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Compute in 16 bits: widen what the line loads."""
    return edit_line("int8_math", subject, structure, _widened)


INT8_MATH = Symptom(
    id="int8_math",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(NORMALIZE,),
    ops=("hivm.hir.vcast", "hfusion.cast"),
    query="normalize i8 int8 arithmetic add sub mul cast to f16 f32 compute and cast back",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"vector"}),
)

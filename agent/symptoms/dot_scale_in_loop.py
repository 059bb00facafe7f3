"""A vector operation on a matrix product inside the loop: each partial product leaves the accumulator."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.cube import FIXPIPE, FIXPIPE_PASSES, Product, adds_only, is_carried, products, vector_users
from agent.symptoms.edits import Code, is_call
from agent.symptoms.origin import origin_at, structure
from agent.symptoms.structure import line_of
from indexer.ir.records import IrOp


def _detect(subject: Subject) -> list[Structure]:
    found: dict[int | None, Structure] = {}
    for product in products(subject, FIXPIPE_PASSES):
        line = line_of(product.op)
        shown = _worked_on(product)
        if shown and line not in found:
            made_by = origin_at(subject, product.snapshot, line, lambda op: op.name == FIXPIPE, in_loop=True)
            found[line] = structure("dot_scale_in_loop", shown, made_by, line=line)
    return list(found.values())


def _worked_on(product: Product) -> list[IrOp]:
    """Return product, exit and vector work when the product is not merely added to a carried value."""
    flow, loop = product.flow, product.loop
    for exit_ in product.fixpipes() if loop is not None else ():
        users = vector_users(flow, exit_)
        added = [
            u for u in users if adds_only(product.snapshot, u) and any(is_carried(p, loop) for p in flow.producers(u))
        ]
        if users and users != added:
            return [product.op, exit_, *users[:3]]
    return []


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Leave the scaling of the product out; no edit where the product is worked on in other ways."""
    if structure.line is None:
        return None
    code = Code(subject.source, structure.line, subject.launch)
    named = {t.id for s in code.here() if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)}

    def bare(node: ast.expr) -> ast.expr | None:
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
            sides = (node.left, node.right)
            return next((s for s in sides if is_call(s, "dot") or (isinstance(s, ast.Name) and s.id in named)), None)
        return None

    edit = code.change([*code.here(), *code.statements()], bare)
    return edit.variant("dot_scale_in_loop", structure.line) if edit else None


DOT_SCALE_IN_LOOP = Symptom(
    id="dot_scale_in_loop",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(*FIXPIPE_PASSES, "insert-workspace-for-mix-cv"),
    ops=("hivm.hir.mmadL1", "hivm.hir.fixpipe"),
    query="inline fixpipe matmul result used by vector operation in loop workspace mix cube vector L0C accumulate "
    "InsertFixpipeOpPattern",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "store", "vector", "sync"}),
)

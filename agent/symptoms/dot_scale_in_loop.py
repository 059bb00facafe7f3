"""A vector operation on a matrix product inside the loop: each partial product leaves the accumulator."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.cube import FIXPIPE, FIXPIPE_PASSES, Product, is_carried, products, vector_users
from agent.symptoms.edits import Code, edit_line, is_call
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
        added = [u for u in users if u.name == "hivm.hir.vadd" and any(is_carried(p, loop) for p in flow.producers(u))]
        if users and users != added:
            return [product.op, exit_, *users[:3]]
    return []


def _bare(_code: Code, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        return next((side for side in (node.left, node.right) if is_call(side, "dot")), None)
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Take the scaling of the product out of the loop; no edit where the product is worked on in other ways."""
    return edit_line("dot_scale_in_loop", subject, structure, _bare)


DOT_SCALE_IN_LOOP = Symptom(
    id="dot_scale_in_loop",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(*FIXPIPE_PASSES, "insert-workspace-for-mix-cv"),
    ops=("hivm.hir.mmadL1", "hivm.hir.fixpipe"),
    query="inline fixpipe matmul result used by vector operation in loop workspace mix cube vector L0C accumulate",
    detect=_detect,
    counterfactual=_counterfactual,
)

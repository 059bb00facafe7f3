"""A permutation that moves three axes is done as two transposes with a whole buffer between them."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line, is_call
from agent.symptoms.origin import Origin, structure
from agent.symptoms.replaced import replacements
from agent.symptoms.structure import line_of

DECOMPOSE = "hfusion-decompose"
_TRANSPOSE = "linalg.transpose"


def _detect(subject: Subject) -> list[Structure]:
    found: dict[int | None, Structure] = {}
    for item in replacements(subject, DECOMPOSE, lambda op: op.name == _TRANSPOSE):
        made = [op for op in item.made if op.name == _TRANSPOSE]
        line = line_of(item.op)
        if len(made) > 1 and line not in found:
            made_by = Origin(DECOMPOSE, item.snapshot.position)
            found[line] = structure("permute3d", [item.op, *made], made_by, "hfusion", line=line, weight=0.5)
    return list(found.values())


def _two_axes(_code: Code, node: ast.expr) -> str | None:
    """Swap the first two axes only, where the order is written out."""
    if not isinstance(node, ast.Call) or not is_call(node, "permute", "trans") or len(node.args) < 2:
        return None
    axes = node.args[1].elts if isinstance(node.args[1], (ast.Tuple, ast.List)) else node.args[1:]
    order = [1, 0, *range(2, len(axes))]
    return (
        f"tl.reshape({ast.unparse(node.func)}({ast.unparse(node.args[0])}, {tuple(order)}), {ast.unparse(node)}.shape)"
    )


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Swap two axes and reinterpret the shape: one transpose."""
    return edit_line("permute3d", subject, structure, _two_axes)


PERMUTE3D = Symptom(
    id="permute3d",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(DECOMPOSE,),
    ops=("linalg.transpose", "hivm.hir.vtranspose"),
    query="decompose transpose permutation more than two displaced axes pairwise swaps two transposes "
    "TransposeDecomposeInterface decomposeTransposeOp",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"vector"}),
)

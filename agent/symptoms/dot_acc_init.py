"""A matrix product starts from something else than zero: every partial product is added on the vector core."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.cube import FIXPIPE_PASSES, VECTOR_FUNCTION, Product, adds_only, is_carried, products, vector_users
from agent.symptoms.edits import Code, is_call
from agent.symptoms.origin import origin_at, structure
from agent.symptoms.structure import line_of
from indexer.ir.records import IrOp


def _detect(subject: Subject) -> list[Structure]:
    found: dict[int | None, Structure] = {}
    for product in products(subject, FIXPIPE_PASSES):
        line = line_of(product.op)
        shown = _accumulation(product)
        if shown and line not in found:
            made_by = origin_at(subject, product.snapshot, line, _is_vector_work)
            found[line] = structure("dot_acc_init", shown, made_by, line=line)
    return list(found.values())


def _accumulation(product: Product) -> list[IrOp]:
    """Return product, exit and addition when all that happens to the product is being added to a carried value."""
    flow, loop = product.flow, product.loop
    for exit_ in product.fixpipes() if loop is not None else ():
        users = vector_users(flow, exit_)
        carried = len(users) == 1 and any(is_carried(p, loop) for p in flow.producers(users[0]))
        if carried and adds_only(product.snapshot, users[0]):
            return [product.op, exit_, users[0]]
    return []


def _is_vector_work(op: IrOp) -> bool:
    return op.name == "hivm.hir.vadd" or VECTOR_FUNCTION in op.attributes


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Start the accumulator from zeros of the same shape and type."""
    if structure.line is None:
        return None
    code = Code(subject.source, structure.line, subject.launch)
    names = {t.id for s in code.here() for t in _targets(s) if isinstance(t, ast.Name)}
    names |= {a.id for call in code.calls("dot") for a in _accumulators(call) if isinstance(a, ast.Name)}
    starts = [value for name in sorted(names) for value in code.assigned(name) if not _is_sum(value, names)]
    edit = code.replace([(v, f"tl.zeros_like({ast.unparse(v)})") for v in starts[:1]])
    return edit.variant("dot_acc_init", structure.line) if edit else None


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AugAssign) else []


def _accumulators(call: ast.Call) -> list[ast.expr]:
    return [*call.args[2:3], *(k.value for k in call.keywords if k.arg == "acc")]


def _is_sum(value: ast.expr, names: set[str]) -> bool:
    """Tell whether a value is the accumulation itself, and not what it starts from."""
    return any(is_call(n, "dot") or (isinstance(n, ast.Name) and n.id in names) for n in ast.walk(value))


DOT_ACC_INIT = Symptom(
    id="dot_acc_init",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=("hivm-normalize-matmul", "hivm-inline-fixpipe"),
    ops=("hivm.hir.mmadL1", "hivm.hir.fixpipe", "hivm.hir.vadd"),
    query="normalize matmul accumulator init condition not zero fill per channel bias decompose mmad vadd fixpipe "
    "decomposeMatmulWithElementwiseAdd",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "store", "vector", "sync"}),
    is_moved=True,
)

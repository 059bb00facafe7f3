"""Scan along the first axis, where it is a vector instruction, instead of the last."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.expressions import rephrase
from agent.rewrite.source import argument
from agent.rewrite.values import Number
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message


def scan_rows(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn a 2-D `tl.cumsum(x, 1)` into `tl.trans(tl.cumsum(tl.trans(x), 0))`."""
    return rephrase("scan_rows", subject, structure, _change, message("rewrite.by_construction"))


def _change(node: cst.BaseExpression, scope: Scope) -> str | None:
    if not isinstance(node, cst.Call) or scope.function(node.func) not in {"cumsum", "cumprod"}:
        return None
    given, axis = argument(node, "input", 0), argument(node, "axis", 1)
    if given is None or axis is None:
        return None
    shape, along = evaluate(given.value, scope).shape, evaluate(axis.value, scope)
    if shape is None or len(shape) != 2 or not isinstance(along, Number) or along.poly.literal not in {1, -1}:
        return None
    file, tl = scope.file, scope.file.language
    rest = [file.text(a) for a in node.args if a is not given and a is not axis]
    arguments = ", ".join([f"{tl}.trans({file.text(given.value)})", "0", *rest])
    return f"{tl}.trans({tl}.{scope.function(node.func)}({arguments}))"

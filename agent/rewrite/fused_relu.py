"""Let the unit that writes a product back apply relu on the way."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope
from agent.rewrite.expressions import rephrase
from agent.rewrite.source import KernelFile, argument, dotted, read_kernel
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

IMPORT = "from triton.language.extra.ascend import libdevice"


def fused_relu(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn `tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)` into `libdevice.relu(x)`.

    With the default NaN rule the two differ for a NaN product, so that form is left alone.
    """
    found = rephrase("fused_relu", subject, structure, _change, message("rewrite.by_construction"))
    file = read_kernel(found.source, subject.launch.kernel) if found is not None else None
    source = _with_import(file) if file is not None else None
    return replace(found, source=source) if found is not None and source is not None else None


def _change(node: cst.BaseExpression, scope: Scope) -> str | None:
    if not isinstance(node, cst.Call) or scope.function(node.func) != "maximum" or len(node.args) != 3:
        return None
    rule = argument(node, "propagate_nan", 2)
    left, right = argument(node, "x", 0), argument(node, "y", 1)
    if rule is None or not dotted(rule.value).endswith("PropagateNan.ALL") or left is None or right is None:
        return None
    for value, zero in ((left.value, right.value), (right.value, left.value)):
        if isinstance(zero, (cst.Float, cst.Integer)) and float(zero.value) == 0.0:
            return f"libdevice.relu({scope.file.text(value)})"
    return None


def _with_import(file: KernelFile) -> str | None:
    """Import the device library behind the file's other imports; None where `libdevice` means something else."""
    imports = [n for n in file.module.body if isinstance(n, cst.SimpleStatementLine) and _is_import(n)]
    for line in imports:
        if "libdevice" in file.text(line):
            return file.apply([]) if file.text(line).strip() == IMPORT else None
    return file.apply([file.insert_after(imports[-1], [IMPORT])]) if imports else None


def _is_import(line: cst.SimpleStatementLine) -> bool:
    return any(isinstance(statement, (cst.Import, cst.ImportFrom)) for statement in line.body)

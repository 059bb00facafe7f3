"""A matrix product of tiles smaller than the cube's blocks of 16."""

from __future__ import annotations

import ast
import re

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.cube import MMAD
from agent.symptoms.edits import Code, is_call, names_in
from agent.symptoms.origin import Origin, structure
from agent.symptoms.structure import Flow, flows, line_of
from indexer.ir.records import IrOp

LAYOUT = "hivm-infer-data-layout"
# A cube block is 16 by 16 (AscendNPU-IR@8796a8ac1508:bishengir/include/bishengir/Dialect/Utils/Util.h:45).
_BLOCK = 16
_SIZES = (3, 4, 5)  # the operands of a product that give its real m, k and n


def _detect(subject: Subject) -> list[Structure]:
    final = subject.compilation.hivm
    snapshots = subject.compilation.snapshots
    position = next((s.position for s in reversed(snapshots) if s.pass_argument == LAYOUT), None)
    found: dict[int | None, Structure] = {}
    for flow in flows(final) if final is not None else ():
        for op in (o for o in flow.ops if o.name == MMAD):
            sizes = [_constant(flow, op, i) for i in _SIZES]
            small = [s for s in sizes if s is not None and s < _BLOCK]
            if small:
                weight = 1 - min(small) / _BLOCK
                made = structure("dot_tiny_tile", [op], Origin(LAYOUT, position), weight=weight)
                found.setdefault(line_of(op), made)
    return list(found.values())


def _constant(flow: Flow, op: IrOp, operand: int) -> int | None:
    made = flow.producer(op, operand)
    if not isinstance(made, IrOp) or made.name != "arith.constant":
        return None
    number = re.match(r"\d+", made.attributes.get("value", ""))
    return int(number[0]) if number else None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Make every smaller range of the kernel one of a whole block."""
    if structure.line is None:
        return None
    code = Code(subject.source, structure.line, subject.launch)
    ranges = [n for n in ast.walk(code.function) if isinstance(n, ast.Call) and is_call(n, "arange")]
    sizes = {name: code.launch.constexprs.get(name) for n in ranges for a in n.args for name in names_in(a)}
    small = {name for name, value in sizes.items() if isinstance(value, int) and value < _BLOCK}
    edit = code.change(code.function.body, lambda n: str(_BLOCK) if isinstance(n, ast.Name) and n.id in small else None)
    return edit.variant("dot_tiny_tile", structure.line) if edit else None


DOT_TINY_TILE = Symptom(
    id="dot_tiny_tile",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(LAYOUT,),
    ops=("hivm.hir.mmadL1",),
    query="infer data layout ND shape rounded up to fractal block 16 nz layout mmadL1 small tile "
    "computeTargetLayoutShape",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "store", "cube", "launch"}),
)

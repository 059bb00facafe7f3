"""A short last dimension is padded to 32 bytes in the buffer, and moved row by row."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from agent.records import Structure
from agent.symptoms.access import LOAD
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, is_call, names_in
from agent.symptoms.origin import Origin, structure
from agent.symptoms.replaced import Replacement, replacements
from agent.symptoms.static_stride import ALIGN, runs_last
from agent.symptoms.structure import Flow, flows, line_of
from indexer.ir.records import IrOp
from indexer.ir.types import shaped

# Below this the padding costs less than the row-wise transfer that it comes with is worth telling.
_LEAST_RATIO = 1.5
_BLOCK_BYTES = 32


def _detect(subject: Subject) -> list[Structure]:
    found: dict[int | None, Structure] = {}
    for item in replacements(subject, ALIGN, lambda op: op.name == "memref.alloc"):
        line = line_of(item.op)
        for ratio, shown in _padded_loads(item):
            made_by = Origin(ALIGN, item.snapshot.position)
            found.setdefault(line, structure("tail_dim_pad", shown, made_by, line=line, weight=1 - 1 / ratio))
    return list(found.values())


def _padded_loads(item: Replacement) -> Iterator[tuple[float, list[IrOp]]]:
    """Yield how much the buffer grew, with the buffer and the loads of contiguous rows into it."""
    old = shaped(item.op.results[0].type)
    grown = {id(op) for op in item.made if op.name == "memref.alloc"}
    for flow in flows(item.snapshot) if old is not None and grown else ():
        for buffer in (op for op in flow.ops if id(op) in grown):
            new = shaped(buffer.results[0].type)
            loads = [op for op in flow.ops if op.name == LOAD and flow.storage(op, 1) is buffer]
            if old is not None and new is not None and any(_is_row_wise(op) for op in loads):
                ratio = new.elements / max(1, old.elements)
                if ratio >= _LEAST_RATIO:
                    yield ratio, [buffer, *_views(flow, buffer), *loads]


def _views(flow: Flow, buffer: IrOp) -> list[IrOp]:
    return [u for u in flow.users(buffer) if u.name == "memref.subview"][:1]


def _is_row_wise(load: IrOp) -> bool:
    gm = shaped(load.operands[0].type)
    return gm is not None and len(gm.strides) > 1 and gm.strides[-1] == 1


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Widen the range along the last axis to a whole 32-byte block."""
    if structure.line is None:
        return None
    code = Code(subject.source, structure.line, subject.launch)
    addresses = [c.args[0] for c in code.calls("load") if c.args]
    block = block_elements(code, addresses)

    def widen(node: ast.expr) -> str | None:
        if isinstance(node, ast.Call) and is_call(node, "arange") and len(node.args) > 1:
            return f"{ast.unparse(node.func)}({ast.unparse(node.args[0])}, {block})"
        return None

    last = [n for root in code.feeding(addresses) for n in ast.walk(root) if is_last_axis(code, n)]
    edit = code.change(code.feeding([n for n in last if isinstance(n, ast.expr)]), widen)
    return edit.variant("tail_dim_pad", structure.line) if edit else None


def block_elements(code: Code, addresses: Sequence[ast.expr]) -> int:
    """Return how many of the elements that the addresses point to make 32 bytes."""
    return _BLOCK_BYTES * 8 // min((_bits(code, a) for a in addresses), default=32)


def _bits(code: Code, address: ast.expr) -> int:
    """Return the width of what an address points to, by the launch's signature."""
    names = {name for root in code.feeding([address]) for name in names_in(root)} & code.pointers
    kinds = (re.search(r"\d+$", code.launch.signature[name]) for name in names)
    return min((int(k[0]) for k in kinds if k), default=32)


def is_last_axis(code: Code, node: ast.AST) -> bool:
    """Tell whether a node places a range along the last axis."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and runs_last(code, node)


TAIL_DIM_PAD = Symptom(
    id="tail_dim_pad",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(ALIGN, "hivm-mark-stride-align"),
    ops=("memref.alloc", "memref.subview", "hivm.hir.load"),
    query="mark stride align round up last broken dimension stride to 32-byte block alloc padding enable stride align",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "store"}),
)

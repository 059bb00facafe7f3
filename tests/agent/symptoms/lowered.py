"""Small modules in generic form, and subjects made of them."""

from __future__ import annotations

from pathlib import Path

from agent.records import Compilation, Launch, Resources
from agent.symptoms.base import Subject
from indexer.ir.generic import parse_module
from indexer.ir.records import Snapshot

FILE = "kernel.py"


def module(body: str, attributes: str = "") -> str:
    """Wrap operations of one device function with two arguments in global memory and one number."""
    return f"""
"builtin.module"() ({{
  "func.func"() <{{function_type = (), sym_name = "kern"}}> ({{
  ^bb0(%arg0: memref<?xf32, #hivm.address_space<gm>>, %arg1: memref<?xf32, #hivm.address_space<gm>>, %arg2: i32):
{body}
    "func.return"() : () -> () loc(unknown)
  }}) {{{attributes}}} : () -> () loc("{FILE}":3:0)
}}) : () -> () loc(unknown)
"""


def snapshot(
    position: int, pass_argument: str, body: str, compiler: str = "bishengir", attributes: str = ""
) -> Snapshot:
    """Parse a module as the state after a pass."""
    parsed = parse_module(module(body, attributes), FILE)
    return Snapshot(position, pass_argument, compiler, parsed.functions(), {}, parsed.aliases, f"{position}.mlir")


def subject(snapshots: list[Snapshot], source: str = "", **launch: object) -> Subject:
    """Make a subject of snapshots, the last one being the last HIVM module."""
    fields = {
        "signature": {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"},
        "constexprs": {"BLOCK": 64},
        "grid": (1, 1, 1),
    }
    made = Launch("kern", Path(FILE), 1, **{**fields, **launch})  # type: ignore[arg-type]
    resources = Resources(None, 196608, None, 524288, None, 131072)
    found = Compilation(
        made, "ascend910b3", "ok", (), tuple(snapshots), resources, (), {}, snapshots[-1] if snapshots else None
    )  # fmt: skip
    return Subject(made, found, (), None, source)


def at(line: int) -> str:
    """Return the location of a line."""
    return f'loc("{FILE}":{line}:4)'

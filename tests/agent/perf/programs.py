"""Small modules in MLIR generic form, written for the tests of the cost model."""

from __future__ import annotations

from pathlib import Path

from agent.records import Argument, Compilation, Launch, Resources, ScalarArgument, TensorArgument
from indexer.ir.generic import parse_module
from indexer.ir.records import Snapshot

FILE = "/k/kernel.py"
GM = "#hivm.address_space<gm>"
UB = "#hivm.address_space<ub>"
_HEAD = "{hacc.arg_type = #hacc.arg_type<ffts_base_address>}, {hacc.arg_type = #hacc.arg_type<workspace>}"


def module(body: str, users: str = f"memref<?xf32, {GM}>, i32", *, core: str = "AIV", more: str = "") -> str:
    """A module with one device entry; user parameters are %u0, %u1, …, the grid sizes %g0, %g1, %g2."""
    kinds = [kind.strip() for kind in _split(users)]
    names = [f"%u{i}" for i in range(len(kinds))]
    shown = ["%ffts: i64", f"%ws: memref<?xi8, {GM}>", *(f"{n}: {k}" for n, k in zip(names, kinds, strict=True))]
    shown += ["%g0: i32", "%g1: i32", "%g2: i32"]
    attrs = ", ".join([_HEAD, *("{}" for _ in range(len(kinds) + 3))])
    return f"""
"builtin.module"() ({{
  {more}
  {function("kernel", shown, attrs, body, f"{{hacc.entry, hivm.func_core_type = #hivm.func_core_type<{core}>}}")}
}}) : () -> ()
"""


def function(name: str, parameters: list[str], attrs: str, body: str, attributes: str) -> str:
    """One function in generic form."""
    return f""""func.func"() <{{arg_attrs = [{attrs}], function_type = () -> (), sym_name = "{name}"}}> ({{
  ^bb0({", ".join(parameters)}):
    {body}
    "func.return"() : () -> ()
  }}) {attributes} : () -> ()"""


def at(line: int) -> str:
    """A location in the user's file."""
    return f'loc("{FILE}":{line}:4)'


def constant(name: str, value: int, kind: str = "index") -> str:
    return f'{name} = "arith.constant"() <{{value = {value} : {kind}}}> : () -> {kind}'


def load(source: str, source_type: str, target: str, target_type: str, line: int = 5) -> str:
    return f'"hivm.hir.load"({source}, {target}) : ({source_type}, {target_type}) -> () {at(line)}'


def buffer(name: str, kind: str) -> str:
    return f'{name} = "memref.alloc"() : () -> {kind}'


def view(name: str, source: str, sizes: str, strides: str, kind: str, offset: str = "") -> str:
    """A reinterpret_cast of a GM parameter; `offset` names an index operand."""
    given = f", {offset}" if offset else ""
    types = ", index" if offset else ""
    first = "-9223372036854775808" if offset else "0"
    return (
        f'{name} = "memref.reinterpret_cast"({source}{given}) <{{static_offsets = array<i64: {first}>, '
        f"static_sizes = array<i64: {sizes}>, static_strides = array<i64: {strides}>}}> : "
        f"(memref<?xf32, {GM}>{types}) -> {kind}"
    )


def for_loop(index: str, low: str, high: str, step: str, body: str, line: int = 4) -> str:
    return f""""scf.for"({low}, {high}, {step}) ({{
    ^bb0({index}: index):
      {body}
      "scf.yield"() : () -> ()
    }}) : (index, index, index) -> () {at(line)}"""


def snapshot(text: str) -> Snapshot:
    parsed = parse_module(text, FILE)
    return Snapshot(0, "last", "bishengir", parsed.functions(), {}, parsed.aliases, "")


def launch(grid: int = 1, **arguments: object) -> Launch:
    """A launch; an int argument is an i32 scalar, a tuple the shape of an fp32 tensor."""
    made: list[Argument] = []
    signature: dict[str, str] = {}
    for name, value in arguments.items():
        if isinstance(value, tuple):
            strides = tuple(_stride(value, axis) for axis in range(len(value)))
            made.append(TensorArgument(name, "fp32", value, strides))
            signature[name] = "*fp32"
        elif value is None:
            signature[name] = "i32"
        else:
            made.append(ScalarArgument(name, "i32", int(str(value))))
            signature[name] = "i32"
    return Launch("kernel", Path(FILE), 1, signature, {}, (grid, 1, 1), arguments=tuple(made))


def compilation(text: str, of: Launch) -> Compilation:
    nothing = Resources(None, 1, None, 1, None, 1)
    return Compilation(of, "ascend910b4", "ok", (), (), nothing, (), {}, snapshot(text))


def _stride(shape: tuple[int, ...], axis: int) -> int:
    step = 1
    for size in shape[axis + 1 :]:
        step *= size
    return step


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "<[(") - (char in ">])")
        if char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]

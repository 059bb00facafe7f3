"""Bodies for the functions that the Linalg IR only declares: libdevice maths, scans, sort, flip, gather.

On the NPU they come from the closed device library; what they compute follows from the operation that the adapter
turned into them (triton-ascend@23ac2717:ascend/triton-adapter/lib/TritonToLinalg/TritonOpConverter.cpp:897-946,
:1465-1500, :1663-1760 and ascend/language/ascend/libdevice.py). They are written in MLIR and inlined before
bufferisation, so that no tensor crosses a function boundary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.verify.signature import ExternalFunction, read_externals

# One operand, one operation of the same type.
_MATHS = {
    "log1p": "math.log1p",
    "tan": "math.tan",
    "atan": "math.atan",
    "tanh": "math.tanh",
    "round": "math.round",
}
_SCANS = {"triton_cumsum": ("addf", "addi"), "triton_cumprod": ("mulf", "muli")}


class UnknownExternal(ValueError):
    """A declared function has no body here; `name` is its symbol."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


def define_externals(text: str) -> str:
    """Replace each declaration that is called by a definition; raises `UnknownExternal`."""
    for external in reversed(read_externals(text)):
        start, end = external.span
        text = text[:start] + define(external) + text[end:]
    return text


def define(external: ExternalFunction) -> str:
    """Write the body of one function; raises `UnknownExternal`."""
    scalar = re.fullmatch(r"__hmf_(\w+?)(f|Dh|h|i)?", external.name)
    if scalar is not None:
        return _define_scalar(external, _scalar_name(scalar[1], scalar[2] or ""))
    base = re.sub(r"_\d+$", "", external.name)
    if base in {"triton_print", "triton_assert"}:
        return _function(external, ["return"])
    if base not in _TENSOR_BODIES:
        raise UnknownExternal(external.name)
    return _TENSOR_BODIES[base](external, base)


def _scalar_name(stem: str, suffix: str) -> str:
    """Undo the type suffix, which `isinf` (`isin` + `f`) only seems to have."""
    return stem + suffix if stem + suffix == "isinf" else stem


def _function(external: ExternalFunction, lines: Sequence[str]) -> str:
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(external.arguments))
    arrow = f" -> {external.result}" if external.result else ""
    body = "\n".join(f"    {line}" for line in lines)
    return f"  func.func private @{external.name}({arguments}){arrow} {{\n{body}\n  }}"


def _define_scalar(external: ExternalFunction, name: str) -> str:
    element = external.arguments[0]
    lines = _scalar_body(name, element)
    if lines is None or (element.startswith("i") and name != "pow"):
        raise UnknownExternal(external.name)
    return _function(external, [*lines, f"return %r : {external.result}"])


def _scalar_body(name: str, t: str) -> list[str] | None:
    if name in _MATHS:
        return [f"%r = {_MATHS[name]} %a0 : {t}"]
    bodies = {
        "recip": [f"%one = arith.constant 1.0 : {t}", f"%r = arith.divf %one, %a0 : {t}"],
        "relu": [f"%zero = arith.constant 0.0 : {t}", f"%r = arith.maximumf %a0, %zero : {t}"],
        "isnan": [f"%r = arith.cmpf uno, %a0, %a0 : {t}"],
        "isinf": [
            f"%inf = arith.constant {_infinity(t)} : {t}",
            f"%abs = math.absf %a0 : {t}",
            f"%r = arith.cmpf oeq, %abs, %inf : {t}",
        ],
        "ldexp": [f"%two = math.exp2 %a1 : {t}", f"%r = arith.mulf %a0, %two : {t}"],
        "pow": [f"%r = math.{'ipowi' if t.startswith('i') else 'powf'} %a0, %a1 : {t}"],
    }
    return bodies.get(name)


def _infinity(element: str) -> str:
    return {"f16": "0x7C00", "bf16": "0x7F80", "f32": "0x7F800000", "f64": "0x7FF0000000000000"}[element]


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A statically shaped tensor type."""

    text: str
    shape: tuple[int, ...]
    element: str


def _tensor(text: str, symbol: str) -> _Tensor:
    match = re.fullmatch(r"tensor<((?:\d+x)+)(\w+)>", text)
    if match is None:
        raise UnknownExternal(symbol)
    return _Tensor(text, tuple(int(n) for n in match[1][:-1].split("x")), match[2])


class _Writer:
    """Writes nested loops that carry one tensor; names are numbered so that they never meet."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def value(self, operation: str) -> str:
        """Write an operation with one result and return the result's name."""
        self._count += 1
        self.lines.append(f"%v{self._count} = {operation}")
        return f"%v{self._count}"

    def index(self, number: int) -> str:
        """Write a constant of type index."""
        return self.value(f"arith.constant {number} : index")

    def nest(self, bounds: Sequence[tuple[int, int]], tensor: str, kind: str, body: _Body) -> str:
        """Write one loop for each pair of bounds around `body(indices, tensor)`, which returns the new tensor."""
        one, edges = self.index(1), [(self.index(low), self.index(high)) for low, high in bounds]

        def level(depth: int, indices: list[str], carried: str) -> str:
            if depth == len(edges):
                return body(indices, carried)
            self._count += 1
            number = self._count
            low, high = edges[depth]
            self.lines.append(
                f"%v{number} = scf.for %i{number} = {low} to {high} step {one} iter_args(%c{number} = {carried})"
                f" -> ({kind}) {{"
            )
            made = level(depth + 1, [*indices, f"%i{number}"], f"%c{number}")
            self.lines += [f"scf.yield {made} : {kind}", "}"]
            return f"%v{number}"

        return level(0, [], tensor)

    def per_axis(self, chooser: str, chooser_type: str, tensor: _Tensor, make: Callable[[int], str]) -> str:
        """Write `make(axis)` for every axis of `tensor`; the argument `chooser` selects, the others fold away."""
        chosen = self.value(f"tensor.empty() : {tensor.text}")
        for axis in range(len(tensor.shape)):
            number = self.value(f"arith.constant {axis} : {chooser_type}")
            is_axis = self.value(f"arith.cmpi eq, {chooser}, {number} : {chooser_type}")
            self._count += 1
            name = f"%v{self._count}"
            self.lines.append(f"{name} = scf.if {is_axis} -> ({tensor.text}) {{")
            made = make(axis)
            self.lines += [f"scf.yield {made} : {tensor.text}", "} else {"]
            self.lines += [f"scf.yield {chosen} : {tensor.text}", "}"]
            chosen = name
        return chosen


_Body = Callable[[list[str], str], str]


def _scan(external: ExternalFunction, base: str) -> str:
    tensor, w = _tensor(external.arguments[0], external.name), _Writer()
    operation = _SCANS[base][tensor.element.startswith("i")]

    def along(axis: int) -> str:
        one, last = w.index(1), w.index(tensor.shape[axis] - 1)

        def step(indices: list[str], carried: str) -> str:
            here, before = indices[axis], w.value(f"arith.subi {indices[axis]}, {one} : index")
            here, before = (
                w.value(f"arith.select %a2, {w.value(f'arith.subi {last}, {i} : index')}, {i} : index")
                for i in (here, before)
            )
            at, previous = (", ".join([*indices[:axis], i, *indices[axis + 1 :]]) for i in (here, before))
            left = w.value(f"tensor.extract {carried}[{previous}] : {tensor.text}")
            right = w.value(f"tensor.extract {carried}[{at}] : {tensor.text}")
            total = w.value(f"arith.{operation} {left}, {right} : {tensor.element}")
            return w.value(f"tensor.insert {total} into {carried}[{at}] : {tensor.text}")

        return w.nest([(int(d == axis), n) for d, n in enumerate(tensor.shape)], "%a0", tensor.text, step)

    made = w.per_axis("%a1", external.arguments[1], tensor, along)
    return _function(external, [*w.lines, f"return {made} : {external.result}"])


def _flip(external: ExternalFunction, base: str) -> str:
    del base
    tensor, w = _tensor(external.arguments[0], external.name), _Writer()

    def along(axis: int) -> str:
        last = w.index(tensor.shape[axis] - 1)

        def step(indices: list[str], carried: str) -> str:
            mirrored = w.value(f"arith.subi {last}, {indices[axis]} : index")
            source = ", ".join([*indices[:axis], mirrored, *indices[axis + 1 :]])
            value = w.value(f"tensor.extract %a0[{source}] : {tensor.text}")
            return w.value(f"tensor.insert {value} into {carried}[{', '.join(indices)}] : {tensor.text}")

        empty = w.value(f"tensor.empty() : {tensor.text}")
        return w.nest([(0, n) for n in tensor.shape], empty, tensor.text, step)

    made = w.per_axis("%a1", external.arguments[1], tensor, along)
    return _function(external, [*w.lines, f"return {made} : {external.result}"])


def _gather(external: ExternalFunction, base: str) -> str:
    del base
    source, positions = (_tensor(text, external.name) for text in external.arguments[:2])
    result, w = _tensor(external.result, external.name), _Writer()

    def along(axis: int) -> str:
        def step(indices: list[str], carried: str) -> str:
            at = ", ".join(indices)
            position = w.value(f"tensor.extract %a1[{at}] : {positions.text}")
            row = w.value(f"arith.index_cast {position} : {positions.element} to index")
            where = ", ".join([*indices[:axis], row, *indices[axis + 1 :]])
            value = w.value(f"tensor.extract %a0[{where}] : {source.text}")
            return w.value(f"tensor.insert {value} into {carried}[{at}] : {result.text}")

        empty = w.value(f"tensor.empty() : {result.text}")
        return w.nest([(0, n) for n in result.shape], empty, result.text, step)

    made = w.per_axis("%a2", external.arguments[2], result, along)
    return _function(external, [*w.lines, f"return {made} : {external.result}"])


def _sort(external: ExternalFunction, base: str) -> str:
    """Sort along an axis by exchanging neighbours, as often as the axis is long."""
    del base
    tensor, w = _tensor(external.arguments[0], external.name), _Writer()
    compare = "cmpi slt" if tensor.element.startswith("i") else "cmpf olt"

    def along(axis: int) -> str:
        one = w.index(1)

        def step(indices: list[str], carried: str) -> str:
            _, *place = indices
            before = w.value(f"arith.subi {place[axis]}, {one} : index")
            low_at, high_at = (", ".join([*place[:axis], i, *place[axis + 1 :]]) for i in (before, place[axis]))
            low = w.value(f"tensor.extract {carried}[{low_at}] : {tensor.text}")
            high = w.value(f"tensor.extract {carried}[{high_at}] : {tensor.text}")
            rising = w.value(f"arith.{compare}, {high}, {low} : {tensor.element}")
            falling = w.value(f"arith.{compare}, {low}, {high} : {tensor.element}")
            swap = w.value(f"arith.select %a2, {falling}, {rising} : i1")
            first = w.value(f"arith.select {swap}, {high}, {low} : {tensor.element}")
            second = w.value(f"arith.select {swap}, {low}, {high} : {tensor.element}")
            half = w.value(f"tensor.insert {first} into {carried}[{low_at}] : {tensor.text}")
            return w.value(f"tensor.insert {second} into {half}[{high_at}] : {tensor.text}")

        sweep = [(int(d == axis), n) for d, n in enumerate(tensor.shape)]
        return w.nest([(0, tensor.shape[axis]), *sweep], "%a0", tensor.text, step)

    made = w.per_axis("%a1", external.arguments[1], tensor, along)
    return _function(external, [*w.lines, f"return {made} : {external.result}"])


_TENSOR_BODIES: dict[str, Callable[[ExternalFunction, str], str]] = {
    "triton_cumsum": _scan,
    "triton_cumprod": _scan,
    "triton_flip": _flip,
    "triton_gather": _gather,
    "triton_sort": _sort,
}

"""Write offsets back as source text, at one statement of a kernel."""

from __future__ import annotations

from collections.abc import Iterator

from agent.rewrite.algebra import Factor, Lane, Poly, Product, Symbol
from agent.rewrite.evaluate import Scope
from agent.rewrite.values import Number


class NotWritable(Exception):
    """An offset holds a value that no variable has at that statement."""


def write_sum(poly: Poly, scope: Scope, *, wide: bool = False) -> str:
    """Write `poly` as a sum; in 64-bit arithmetic where `wide`. Raises `NotWritable`."""
    parts: list[str] = []
    positive_first = sorted(poly.terms, key=lambda term: (term[1] < 0, _is_fixed(term[0]), not term[0]))
    for product, count in positive_first:
        text = _write_product(product, abs(count), scope, wide=wide)
        sign = "-" if count < 0 else "+"
        parts.append((f"-{text}" if count < 0 else text) if not parts else f" {sign} {text}")
    return "".join(parts) or "0"


def write_factor(poly: Poly, scope: Scope, *, wide: bool = False) -> str:
    """Write `poly` so that it can stand in a product or be called on. Raises `NotWritable`."""
    text = write_sum(poly, scope, wide=wide)
    plain = len(poly.terms) <= 1 and not any(count < 0 for _, count in poly.terms)
    one_factor = plain and all(len(product) + (count != 1) <= 1 or not product for product, count in poly.terms)
    return text if one_factor else f"({text})"


def write_lane(lane: Lane, rank: int, scope: Scope) -> str:
    """Write the index along one axis, by a variable that holds it or as `tl.arange`. Raises `NotWritable`."""
    wanted = Poly((((lane,), 1),))
    flat = Poly((((Lane(lane.size),), 1),))
    view = axis_view(lane.axis, rank)
    found = {tile.poly: name for name, tile in _narrow_tiles(scope)}
    if wanted in found and _rank_of(found[wanted], scope) == rank:
        return found[wanted]
    if flat in found and _rank_of(found[flat], scope) == 1:
        return f"{found[flat]}{view}"
    return f"{scope.file.language}.arange(0, {write_sum(lane.size, scope)}){view}"


def axis_view(axis: int, rank: int) -> str:
    """Return the subscript that lays a 1-D index along `axis` of `rank`: `[:, None]`; "" for rank 1."""
    if rank == 1:
        return ""
    return "[" + ", ".join(":" if position - rank == axis else "None" for position in range(rank)) + "]"


def _narrow_tiles(scope: Scope) -> Iterator[tuple[str, Number]]:
    for name, variable in scope.variables.items():
        if isinstance(variable.value, Number) and variable.value.bits == 32 and variable.value.shape:
            yield name, variable.value


def _rank_of(name: str, scope: Scope) -> int:
    shape = scope.variables[name].value.shape
    return len(shape) if shape is not None else -1


def _write_product(product: Product, count: int, scope: Scope, *, wide: bool) -> str:
    texts = [_write_symbol(factor, scope) for factor in sorted(product, key=_program_first)]
    if wide and texts and not any(isinstance(f, Symbol) and f.bits == 64 for f in product):
        texts[0] = f"{scope.file.language}.cast({texts[0]}, {scope.file.language}.int64)"
    if count != 1 or not texts:
        texts.append(str(count))
    return " * ".join(texts)


def _is_fixed(product: Product) -> bool:
    return all(isinstance(factor, Symbol) and factor.value is not None for factor in product)


def _program_first(factor: Factor) -> tuple[bool, str]:
    return isinstance(factor, Symbol) and factor.value is not None, factor.order


def _write_symbol(factor: Factor, scope: Scope) -> str:
    if not isinstance(factor, Symbol) or not scope.holds(factor.names):
        raise NotWritable
    return factor.text

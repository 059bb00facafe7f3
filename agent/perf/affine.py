"""Affine maps evaluated on numbers: the index arithmetic of `affine.apply`, `affine.min` and `affine.max`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from indexer.ir.brackets import closing, split_commas

Number = int | None
_Node = Callable[[Mapping[str, int]], int]
_TOKEN = re.compile(r"\s*(floordiv|ceildiv|mod|[ds]\d+|-?\d+|[()+*-])")


def evaluate_map(text: str, operands: Sequence[Number]) -> list[Number]:
    """Evaluate `affine_map<(d0)[s0] -> (...)>`: dimensions first, then symbols; any unknown operand makes all unknown.

    Raises `ValueError` for text that is no affine map.
    """
    names, results = _parse_map(text)
    if any(value is None for value in operands):
        return [None] * len(results)
    values = {name: value for name, value in zip(names, operands, strict=True) if value is not None}
    return [result(values) for result in results]


@lru_cache(maxsize=1024)
def _parse_map(text: str) -> tuple[tuple[str, ...], tuple[_Node, ...]]:
    inside = text.removeprefix("affine_map<").removesuffix(">")
    head, arrow, tail = inside.partition("->")
    if not arrow or not head.startswith("("):
        raise ValueError(f"not an affine map: {text!r}")
    end = closing(head, 0)
    names = [*split_commas(head[1 : end - 1]), *split_commas(head[end:].strip().removeprefix("[").removesuffix("]"))]
    tail = tail.strip()
    return tuple(names), tuple(_Parser(part).parse() for part in split_commas(tail[1 : closing(tail, 0) - 1]))


class _Parser:
    """Recursive descent over one affine expression; `floordiv`, `ceildiv`, `mod` and `*` bind like products."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._at = 0

    def parse(self) -> _Node:
        node = self._sum()
        if self._at != len(self._tokens):
            raise ValueError(f"unexpected token in affine expression: {self._tokens[self._at :]}")
        return node

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _sum(self) -> _Node:
        node = self._product()
        while True:
            token = self._peek()
            if token in {"+", "-"}:
                self._next()
                node = _combine(token, node, self._product())
            elif token.startswith("-") and len(token) > 1:  # "s0 -1": the sign was read as part of the number
                node = _combine("+", node, self._product())
            else:
                return node

    def _product(self) -> _Node:
        node = self._atom()
        while self._peek() in {"*", "floordiv", "ceildiv", "mod"}:
            node = _combine(self._next(), node, self._atom())
        return node

    def _atom(self) -> _Node:
        token = self._next()
        if token == "(":  # noqa: S105 - a bracket, no password
            node = self._sum()
            self._next()
            return node
        if token == "-":  # noqa: S105
            return _combine("*", self._atom(), lambda _: -1)
        if token[:1] in {"d", "s"}:
            return lambda values: values[token]
        number = int(token)
        return lambda _: number


def _combine(token: str, left: _Node, right: _Node) -> _Node:
    apply = _OPERATIONS[token]
    return lambda values: apply(left(values), right(values))


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b if b else 0,
    "ceildiv": lambda a, b: -(-a // b) if b else 0,
    "mod": lambda a, b: a % b if b else 0,
}

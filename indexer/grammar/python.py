"""Python: functions and classes, by tree-sitter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from indexer.grammar.base import Grammar, Outline, ProseLines, Unit
from indexer.grammar.cfamily import clean_comment

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_WHOLE_LINES = 80
MIN_ALONE_LINES = 8

_PIECE = re.compile(
    r"""(?P<quote>\"{3}|'{3})(?P<block>.*?)(?P=quote) | \#(?P<line>[^\n]*)
    | (?P<q>["'])(?P<string>(?:\\.|(?!(?P=q))[^\\\n])*)(?P=q)""",
    re.DOTALL | re.VERBOSE,
)
_MESSAGE = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")


@cache
def _parser() -> Parser:
    from tree_sitter_language_pack import get_parser  # noqa: PLC0415 - the grammars cost 0.2 s, only chunking needs them

    return get_parser("python")


def outline(path: str, text: str) -> Outline:  # noqa: ARG001 - the signature of all grammars
    """Outline one Python file."""
    root = _parser().parse(text.encode()).root_node
    return Outline(tuple(_visit(root, "")), _prose(text).freeze(), parsed=not root.has_error)


def _visit(node: Node, scope: str) -> Iterator[Unit]:
    for child in node.named_children:
        inner = child.child_by_field_name("definition") if child.type == "decorated_definition" else child
        if inner is None:
            continue
        if inner.type in {"function_definition", "class_definition"}:
            yield from _definition(child, inner, scope)
        elif inner.type in {"if_statement", "try_statement", "block", "else_clause", "ERROR"}:
            yield from _visit(inner, scope)


def _definition(whole: Node, node: Node, scope: str) -> Iterator[Unit]:
    name_node = node.child_by_field_name("name")
    name = name_node.text.decode(errors="replace") if name_node is not None and name_node.text else ""
    symbol = f"{scope}.{name}" if scope else name
    body = node.child_by_field_name("body")
    start, end = whole.start_point.row + 1, whole.end_point.row + 1
    text = (node.text or b"").decode(errors="replace")
    context = " ".join(text[: body.start_byte - node.start_byte].split()) if body is not None else ""
    cuts = tuple(c.start_point.row + 1 for c in body.named_children) if body is not None else ()
    long = end - start + 1 > MAX_WHOLE_LINES
    if node.type == "class_definition" and long and body is not None:
        members = list(_visit(body, symbol))
        first = members[0].start if members else end + 1
        yield Unit(start, first - 1, "python", symbol, scope, context, cuts)
        yield from members
        return
    alone = end - start + 1 >= MIN_ALONE_LINES
    yield Unit(start, end, "python", symbol, scope, context, cuts if long else (), alone)


def _prose(text: str) -> ProseLines:
    prose = ProseLines(text)
    line, at = 1, 0
    for found in _PIECE.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        if found["block"] is not None:
            prose.add(line, found["block"])
        elif found["line"] is not None:
            prose.add(line, clean_comment(found["line"]))
        elif _MESSAGE.search(found["string"]):
            prose.add(line, found["string"])
    return prose


GRAMMAR = Grammar("python", "python", outline, re.compile(r"^\s*(#|@)"))

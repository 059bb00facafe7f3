"""Python: functions and classes, by tree-sitter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from indexer.grammar.base import Grammar, Outline, ProseLines, Unit
from indexer.grammar.cfamily import clean_comment, clean_line, is_message, rights_of
from indexer.grammar.trees import first_lines, is_noise, length_of, lines_of, parser_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_WHOLE_LINES = 80
MIN_ALONE_LINES = 8

_PIECE = re.compile(
    r"""(?P<head>^[ \t]*[rRuU]?)?(?P<quote>\"{3}|'{3})(?P<block>.*?)(?P=quote) | \#(?P<line>[^\n]*)
    | (?P<q>["'])(?P<string>(?:\\.|(?!(?P=q))[^\\\n])*)(?P=q)""",
    re.DOTALL | re.VERBOSE | re.MULTILINE,
)
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\. )")


def outline(path: str, text: str) -> Outline:  # noqa: ARG001 - the signature of all grammars
    """Outline one Python file."""
    source = text.encode()
    root = parser_of("python").parse(source).root_node
    prose = _prose(text).freeze()
    if is_noise(root, len(source)):
        return Outline((), prose, "windows")
    return Outline(tuple(_visit(root, "")), prose)


def _visit(node: Node, scope: str) -> Iterator[Unit]:
    for child in node.named_children:
        inner = child.child_by_field_name("definition") if child.type == "decorated_definition" else child
        if inner is None:
            continue
        if inner.type in {"function_definition", "class_definition"}:
            yield from _definition(child, inner, scope)
        elif inner.type in {"if_statement", "try_statement", "block", "else_clause", "except_clause", "ERROR"}:
            yield from _visit(inner, scope)


def _definition(whole: Node, node: Node, scope: str) -> Iterator[Unit]:
    name = text_of(node.child_by_field_name("name"))
    symbol = f"{scope}.{name}" if scope else name
    body = node.child_by_field_name("body")
    start, end = lines_of(whole)
    text = text_of(node)
    signature = " ".join(text[: body.start_byte - node.start_byte].split()) if body is not None else ""
    cuts = first_lines(body.named_children) if body is not None else ()
    long = length_of(whole) > MAX_WHOLE_LINES
    opened = node.type == "class_definition" and long and body is not None
    yield Unit(
        start, end, "python", symbol, scope, signature=signature, cuts=cuts if long else (),
        inner_cuts=tuple(_inner_rows(body)) if long and body is not None and not opened else (),
        alone=length_of(whole) >= MIN_ALONE_LINES, open=opened,
    )  # fmt: skip
    if opened and body is not None:
        yield from _visit(body, symbol)


def _inner_rows(body: Node) -> Iterator[int]:
    """Yield where statements of nested blocks begin."""
    for statement in body.named_children:
        if length_of(statement) > MAX_WHOLE_LINES // 2:
            for block in (c for c in statement.named_children if c.type == "block"):
                yield from first_lines(block.named_children)
                yield from _inner_rows(block)


def _prose(text: str) -> ProseLines:
    """Collect comments, docstrings and messages; other long strings are data or code."""
    prose = ProseLines(text)
    rights = rights_of(text)
    line, at = 1, 0
    for found in _PIECE.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        if (block := found["block"]) is not None:
            if found["head"] is not None and line not in rights:
                prose.add(line, "\n".join("" if _PROMPT.match(row) else clean_line(row) for row in block.split("\n")))
        elif found["line"] is not None:
            prose.add(line, clean_comment(found["line"], line, rights))
        elif is_message(found["string"]):
            prose.add(line, found["string"])
    return prose


GRAMMAR = Grammar("python", "python", outline, re.compile(r"^\s*(#|@)"))

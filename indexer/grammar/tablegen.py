"""TableGen: one passage a definition; passes, operations, options, dialects, types and enumerations told apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from indexer.grammar.base import Grammar, Outline, ProseLines, Unit, line_at
from indexer.grammar.cfamily import prose_of
from indexer.records import Kind

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_PASS = re.compile(r'\b(?:Interface)?Pass\s*<\s*"(?P<argument>[^"]+)"')
_TEXT_FIELD = re.compile(
    r"\b(?:let|string|code)\s+(?P<field>\w*[dD]escription|summary)\s*=\s*\[\{(?P<text>.*?)\}\]", re.DOTALL
)
# By the names of the base classes, template arguments left out.
_BASES: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (re.compile(r"\bDialect\b"), "dialect"),
    (re.compile(r"Option|Opt\b"), "option"),
    (re.compile(r"Enum|Case\b"), "enum"),
    (re.compile(r"Op\b|Op_"), "op_def"),
    (re.compile(r"Pat\b|Pattern"), "pattern"),
)
_ARGUMENTS = re.compile(r"<[^<>]*>")


@cache
def _parser() -> Parser:
    from tree_sitter_language_pack import get_parser  # noqa: PLC0415 - the grammars cost 0.2 s, only chunking needs them

    return get_parser("tablegen")


def outline(path: str, text: str) -> Outline:  # noqa: ARG001 - the signature of all grammars
    """Outline one TableGen file."""
    root = _parser().parse(text.encode()).root_node
    prose = prose_of(text)
    _add_descriptions(text, prose)
    return Outline(tuple(_visit(root)), prose.freeze(), parsed=not root.has_error)


def _visit(node: Node) -> Iterator[Unit]:
    for child in node.named_children:
        if child.type in {"def", "class", "defm", "multiclass"}:
            yield _definition(child)
        elif child.type in {"statement", "let", "foreach", "if", "preproc_ifdef", "ERROR"} or child.has_error:
            yield from _visit(child)


def _definition(node: Node) -> Unit:
    name = _text(next((c for c in node.named_children if c.type in {"identifier", "value"}), None))
    parents = _text(next((c for c in node.named_children if c.type == "parent_class_list"), None))
    kind, symbol = _classify(name, parents)
    body = next((c for c in node.named_children if c.type == "record_body"), None)
    cuts = tuple(c.start_point.row + 1 for c in body.named_children) if body is not None else ()
    end = node.end_point.row if node.end_point.column == 0 else node.end_point.row + 1
    context = " ".join(_text(node).split("{")[0].split())[:400]
    return Unit(node.start_point.row + 1, end, kind, symbol, context=context, cuts=cuts, alone=True)


def _text(node: Node | None) -> str:
    return node.text.decode(errors="replace") if node is not None and node.text else ""


def _classify(name: str, parents: str) -> tuple[Kind, str]:
    if found := _PASS.search(parents):
        return "pass_def", found["argument"]
    bases, before = parents, ""
    while bases != before:
        bases, before = _ARGUMENTS.sub(" ", bases), bases
    return next((kind for base, kind in _BASES if base.search(bases)), "type_def"), name


def _add_descriptions(text: str, prose: ProseLines) -> None:
    for found in _TEXT_FIELD.finditer(text):
        fenced = False
        for number, line in enumerate(found["text"].split("\n"), line_at(text, found.start("text"))):
            fenced ^= line.strip().startswith("```")
            if not fenced:
                prose.add(number, line.strip(" `"))


GRAMMAR = Grammar("tablegen", "type_def", outline, re.compile(r"^\s*//"))

"""C++: functions, rewrite patterns, passes, classes and enumerations, by tree-sitter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from indexer.grammar.base import Grammar, Outline, Unit
from indexer.grammar.cfamily import prose_of
from indexer.records import Kind

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# Above this share of bytes inside error nodes a tree is noise: macro-heavy headers parse to 25 % (85 % of .hpp files).
MAX_ERROR_SHARE = 0.2
# A definition longer than this is opened and its members stand for themselves.
MAX_WHOLE_LINES = 80
# A function of fewer lines may share a passage with its neighbours.
MIN_ALONE_LINES = 24

_CONTAINERS = {
    "namespace_definition", "declaration_list", "linkage_specification", "preproc_ifdef", "preproc_if", "preproc_else",
    "preproc_elif", "ERROR",
}  # fmt: skip
_CLASSES = {"class_specifier", "struct_specifier", "union_specifier"}
_PATTERN = re.compile(r"Pattern|Rewriter\b|Conversion\w*<")
_PASS = re.compile(r"impl::\w+Base\b|\bPassWrapper\b|\bOperationPass\b|\bPass\b")
_PASS_FUNCTIONS = re.compile(r"(^|::)(runOnOperation|runOnFunction|runOnModule)$")
_PATTERN_FUNCTIONS = re.compile(r"(^|::)(matchAndRewrite|matchAndRewriteImpl)$")


@cache
def _parser() -> Parser:
    from tree_sitter_language_pack import get_parser  # noqa: PLC0415 - the grammars cost 0.2 s, only chunking needs them

    return get_parser("cpp")


def outline(path: str, text: str) -> Outline:
    """Outline one C++ file; one that does not parse gives no units."""
    source = text.encode()
    root = _parser().parse(source).root_node
    prose = prose_of(text).freeze()
    if root.has_error and _error_bytes(root) > MAX_ERROR_SHARE * max(len(source), 1):
        return Outline((), prose, parsed=False)
    return Outline(tuple(_visit(root, "", _kind_of_file(path, text))), prose)


def _kind_of_file(path: str, text: str) -> Kind:
    """Return the kind of what has no better one: code of a pass, of an operation, or other code."""
    if "GEN_PASS_DEF_" in text or "PassWrapper<" in text or "/Transforms/" in path or "/Conversion/" in path:
        return "pass_impl"
    return "code"


def _visit(node: Node, scope: str, kind: Kind) -> Iterator[Unit]:
    for child in node.named_children:
        inner = _unwrap(child)
        if inner.type in _CONTAINERS:
            yield from _visit(inner, _joined(scope, _name(inner)) if inner.type == "ERROR" else scope, kind)
        elif inner.type == "function_definition":
            yield _function(child, inner, scope, kind)
        elif inner.type in _CLASSES and inner.child_by_field_name("body") is not None:
            yield from _class(child, inner, scope, kind)
        elif inner.type == "preproc_function_def":
            yield Unit(*_lines(child), kind, _name(inner), scope)
        elif inner.type == "enum_specifier":
            yield Unit(*_lines(child), "enum", _joined(scope, _name(inner)), scope)


def _unwrap(node: Node) -> Node:
    """Go through templates and declarations to what they hold."""
    while node.type in {"template_declaration", "declaration", "type_definition", "field_declaration"}:
        held = node.child_by_field_name("type") or next(
            (c for c in reversed(node.named_children) if c.type != "template_parameter_list"), None
        )
        if held is None or (node.type != "template_declaration" and held.type not in {*_CLASSES, "enum_specifier"}):
            return node
        node = held
    return node


def _class(whole: Node, node: Node, scope: str, kind: Kind) -> Iterator[Unit]:
    name = _joined(scope, _name(node))
    body = node.child_by_field_name("body")
    assert body is not None and node.text is not None  # noqa: PT018, S101 - the caller looked
    header = node.text[: body.start_byte - node.start_byte].decode(errors="replace")
    own: Kind = "pattern" if _PATTERN.search(header) else "pass_impl" if _PASS.search(header) else kind
    if _length(whole) <= MAX_WHOLE_LINES:
        yield Unit(*_lines(whole), own, name, scope, header, alone=_length(whole) >= MIN_ALONE_LINES)
        return
    members = list(_visit(body, name, own))
    first = members[0].start if members else whole.end_point.row + 2
    if first - 1 > whole.start_point.row + 1:
        yield Unit(whole.start_point.row + 1, first - 1, own, name, scope, cuts=_rows(body.named_children))
    yield from members


def _function(whole: Node, node: Node, scope: str, kind: Kind) -> Unit:
    name = _joined(scope, _function_name(node))
    if _PASS_FUNCTIONS.search(name):
        kind = "pass_impl"
    elif _PATTERN_FUNCTIONS.search(name):
        kind = "pattern"
    body = node.child_by_field_name("body")
    cuts = tuple(_statement_rows(body)) if body is not None and _length(whole) > MAX_WHOLE_LINES else ()
    assert node.text is not None  # noqa: S101 - a parsed node has text
    end = body.start_byte - node.start_byte if body is not None else None
    signature = node.text[:end].decode(errors="replace")
    alone = _length(whole) >= MIN_ALONE_LINES or kind == "pattern"
    return Unit(*_lines(whole), kind, name, scope, signature, cuts, alone)


def _statement_rows(body: Node) -> Iterator[int]:
    """Yield the lines where statements begin; those inside a long statement too."""
    for statement in body.named_children:
        yield statement.start_point.row + 1
        if _length(statement) > MAX_WHOLE_LINES // 2:
            for inner in statement.named_children:
                if inner.type in {"compound_statement", "else_clause", "case_statement"}:
                    yield from _statement_rows(inner)


def _rows(nodes: list[Node]) -> tuple[int, ...]:
    return tuple(n.start_point.row + 1 for n in nodes)


def _function_name(node: Node) -> str:
    """Find the declared name under pointers, references and conversions."""
    declarator = node.child_by_field_name("declarator")
    while declarator is not None:
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            inner = next((c for c in declarator.named_children if c.type.endswith("declarator")), None)
        if inner is None:
            break
        declarator = inner
    text = declarator.text if declarator is not None else None
    return re.sub(r"<.*>|\s+", "", text.decode(errors="replace")) if text else ""


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    return re.sub(r"<.*>|\s+", "", name.text.decode(errors="replace")) if name is not None and name.text else ""


def _joined(scope: str, name: str) -> str:
    return f"{scope}::{name}" if scope and name else scope or name


def _lines(node: Node) -> tuple[int, int]:
    end = node.end_point
    last = end.row if end.column == 0 and end.row > node.start_point.row else end.row + 1
    return node.start_point.row + 1, last


def _length(node: Node) -> int:
    return node.end_point.row - node.start_point.row + 1


def _error_bytes(node: Node) -> int:
    """Count the bytes that no rule took; inside an error node, whole definitions are still found."""
    inner = sum(_error_bytes(child) for child in node.children if child.has_error)
    if node.type != "ERROR":
        return inner
    understood = sum(child.end_byte - child.start_byte for child in node.named_children if child.type != "ERROR")
    return node.end_byte - node.start_byte - understood + inner


GRAMMAR = Grammar("cpp", "code", outline, re.compile(r"^\s*(//|/\*|\*|template\s*<|\[\[)"))

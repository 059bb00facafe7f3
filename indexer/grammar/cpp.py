"""C++: functions, rewrite patterns, passes, classes, enumerations, macros and command-line options, by tree-sitter."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from indexer.grammar import cpp_braces, cpp_options
from indexer.grammar.base import Grammar, Outline, Unit
from indexer.grammar.cfamily import prose_of
from indexer.grammar.skeleton import Macro, skeleton_of
from indexer.grammar.trees import first_lines, is_noise, length_of, lines_of, parser_of, text_of
from indexer.records import Kind

if TYPE_CHECKING:
    from tree_sitter import Node

# A definition longer than this is opened and its members stand for themselves.
MAX_WHOLE_LINES = 80
# A function of fewer lines may share a passage with its neighbours.
MIN_ALONE_LINES = 24
# A statement longer than this may be cut at the statements inside it.
MAX_STATEMENT_LINES = 40
# A macro of fewer lines is read with what stands around it.
MIN_MACRO_LINES = 3

_CONTAINERS = {"namespace_definition", "declaration_list", "linkage_specification", "ERROR"}
_CLASSES = {"class_specifier", "struct_specifier", "union_specifier"}
_WRAPPERS = {"template_declaration", "declaration", "type_definition", "field_declaration"}
_PATTERN = re.compile(r"Pattern|Rewriter\b|Conversion\w*<")
_PASS = re.compile(r"impl::\w+Base\b|\bPassWrapper\b|\bOperationPass\b|\bPass\b")
_PASS_FUNCTIONS = re.compile(r"(^|::)(runOnOperation|runOnFunction|runOnModule)$")
_PATTERN_FUNCTIONS = re.compile(r"(^|::)(matchAndRewrite|matchAndRewriteImpl)$")
_TEST = re.compile(r"(?:TYPED_)?TEST(?:_[FP])?\s*\(\s*(?P<suite>\w+)\s*,\s*(?P<name>\w+)")

_TEMPLATE_OR_SPACE = re.compile(r"<.*>|\s+", re.DOTALL)


def outline(path: str, text: str) -> Outline:
    """Outline one C++ file; what does not parse, macros set aside, is cut at the braces of its definitions."""
    source = text.encode()
    skeleton = skeleton_of(source)
    prose = prose_of(text).freeze()
    root = parser_of("cpp").parse(skeleton.text).root_node
    kind = _kind_of_file(path, text)
    macros = [_macro(macro, kind) for macro in skeleton.macros if macro.end - macro.start + 1 >= MIN_MACRO_LINES]
    apart = [*macros, *cpp_options.options_of(text, skeleton.text)]
    if is_noise(root, len(source)):
        return Outline((*cpp_braces.blocks_of(skeleton.text, kind), *apart), prose, "braces")
    return Outline((*_visit(root, "", kind), *apart), prose)


def _kind_of_file(path: str, text: str) -> Kind:
    """Return the kind of what has no better one: code of a pass, of an operation, or other code."""
    if "GEN_PASS_DEF_" in text or "PassWrapper<" in text or "/Transforms/" in path or "/Conversion/" in path:
        return "pass_impl"
    return "code"


def _macro(macro: Macro, kind: Kind) -> Unit:
    return Unit(macro.start, macro.end, kind, macro.name, alone=macro.end - macro.start + 1 >= MIN_ALONE_LINES)


def _visit(node: Node, scope: str, kind: Kind) -> Iterator[Unit]:
    for child in node.named_children:
        inner = _unwrap(child)
        if inner.type in _CONTAINERS:
            yield from _visit(inner, _joined(scope, _name(inner)) if inner.type == "ERROR" else scope, kind)
        elif inner.type == "function_definition":
            yield _function(child, inner, scope, kind)
        elif inner.type in _CLASSES and inner.child_by_field_name("body") is not None:
            yield from _class(child, inner, scope, kind)
        elif inner.type == "enum_specifier" and inner.child_by_field_name("body") is not None:
            yield Unit(*lines_of(child), "enum", _joined(scope, _name(inner)), scope)


def _unwrap(node: Node) -> Node:
    """Go through templates and declarations to what they hold."""
    while node.type in _WRAPPERS:
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
    assert body is not None  # noqa: S101 - the caller looked
    header = _before(node, body)
    own: Kind = "pattern" if _PATTERN.search(header) else "pass_impl" if _PASS.search(header) else kind
    start, end = lines_of(whole)
    long = length_of(whole) > MAX_WHOLE_LINES
    unit = Unit(start, end, own, name, scope, signature=header, alone=length_of(whole) >= MIN_ALONE_LINES)
    if not long:
        yield unit
        return
    yield dataclasses.replace(unit, cuts=first_lines(body.named_children), open=True)
    yield from _visit(body, name, own)


def _function(whole: Node, node: Node, scope: str, kind: Kind) -> Unit:
    name = _function_name(node)
    # A test is named by what its macro is called with.
    test = _TEST.match(text_of(node))
    name = f"{test['suite']}.{test['name']}" if test else _joined(scope, name)
    if _PASS_FUNCTIONS.search(name):
        kind = "pass_impl"
    elif _PATTERN_FUNCTIONS.search(name):
        kind = "pattern"
    body = node.child_by_field_name("body")
    alone = length_of(whole) >= MIN_ALONE_LINES or kind == "pattern"
    unit = Unit(*lines_of(whole), kind, name, scope, signature=_before(node, body), alone=alone)
    if body is None or length_of(whole) <= MAX_WHOLE_LINES:
        return unit
    return dataclasses.replace(unit, cuts=first_lines(body.named_children), inner_cuts=tuple(_inner_rows(body)))


def _before(node: Node, body: Node | None) -> str:
    """Return what a definition says before its body: the signature."""
    text = node.text or b""
    return text[: body.start_byte - node.start_byte if body is not None else None].decode(errors="replace")


def _inner_rows(body: Node) -> Iterator[int]:
    """Yield where statements inside long statements begin: in loops, branches and lambdas."""
    for statement in body.named_children:
        if length_of(statement) > MAX_STATEMENT_LINES:
            for block in _blocks(statement):
                yield from first_lines(block.named_children)
                yield from _inner_rows(block)


def _blocks(node: Node) -> Iterator[Node]:
    """Yield the outermost blocks below a node."""
    for child in node.named_children:
        if child.type == "compound_statement":
            yield child
        elif length_of(child) > MAX_STATEMENT_LINES // 2:
            yield from _blocks(child)


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
    return _TEMPLATE_OR_SPACE.sub("", text_of(declarator))


def _name(node: Node) -> str:
    return _TEMPLATE_OR_SPACE.sub("", text_of(node.child_by_field_name("name")))


def _joined(scope: str, name: str) -> str:
    return f"{scope}::{name}" if scope and name else scope or name


GRAMMAR = Grammar("cpp", "code", outline, re.compile(r"^\s*(//|/\*|\*|template\s*<|\[\[)"))

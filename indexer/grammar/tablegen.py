"""TableGen: one passage a definition; passes, operations, options, dialects, types and enumerations told apart."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from indexer.grammar.base import Grammar, Outline, ProseLines, Unit, line_at
from indexer.grammar.cfamily import clean_line, is_message, prose_of
from indexer.grammar.tablegen_bases import NO_BASES, Bases
from indexer.grammar.trees import first_lines, is_noise, lines_of, parser_of, text_of
from indexer.records import Kind

if TYPE_CHECKING:
    from tree_sitter import Node

# Upstream triton says before an argument what it is: `Pass</*cli-arg*/"triton-licm", ...>`.
_PASS = re.compile(r'\b(?:Interface)?Pass\s*<\s*(?:/\*.*?\*/\s*)?"(?P<argument>[^"]+)"')
_SUMMARY = re.compile(r'\b(?:summary|description)\s*=\s*"(?P<text>(?:\\.|[^"\\\n])*)"')
_BLOCK = re.compile(r"\[\{(?P<text>.*?)\}\]", re.DOTALL)
# What a block is the value of: the last assignment before it.
_FIELD = re.compile(r"\b(?P<field>\w+)\s*=[^;=]*\Z")
_DESCRIBING = re.compile(r"description|summary", re.IGNORECASE)
# By the names of the base classes, template arguments left out.
_BASES: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (re.compile(r"\bDialect\b"), "dialect"),
    (re.compile(r"Option|Opt\b"), "option"),
    (re.compile(r"Enum|Case\b"), "enum"),
    (re.compile(r"Op\b|Op_"), "op_def"),
    (re.compile(r"Pat\b|Pattern"), "pattern"),
)
_ARGUMENTS = re.compile(r"<[^<>]*>")
_STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"')
_STRING_OR_BLOCK = re.compile(r'"(?:\\.|[^"\\\n])*"|\[\{.*?\}\]|//[^\n]*|/\*.*?\*/', re.DOTALL)
_NAME = re.compile(r"\b(?!DeclareOpInterfaceMethods|string\b|list\b|bit\b|code\b|dag\b|ins\b|outs\b)[A-Za-z_]\w{2,}")
_OPERAND = re.compile(r":\s*\$(\w+)")
# Traits and arguments behind these are too many to tell one record from another.
MAX_NAMES = 12
_LOOK_BACK = 400
_CONTAINERS = {"statement", "statement_or_block", "let", "foreach", "if", "preproc_ifdef", "ERROR"}


def outline(path: str, text: str) -> Outline:
    """Outline one TableGen file on its own."""
    return outline_with(NO_BASES, path, text)


def grammar_with(bases: Bases) -> Grammar:
    """Return the grammar that knows the classes of other files."""
    return dataclasses.replace(GRAMMAR, outline=partial(outline_with, bases))


def outline_with(bases: Bases, path: str, text: str) -> Outline:  # noqa: ARG001 - the signature of all grammars
    """Outline one TableGen file; its definitions inherit from `bases`."""
    source = text.encode()
    root = parser_of("tablegen").parse(source).root_node
    prose = _prose(text).freeze()
    if is_noise(root, len(source)):
        return Outline((), prose, "windows")
    return Outline(tuple(_visit(root, bases)), prose)


def _visit(node: Node, bases: Bases) -> Iterator[Unit]:
    for child in node.named_children:
        if child.type in {"def", "class", "defm", "multiclass"}:
            yield _definition(child, bases)
        elif child.type in _CONTAINERS or child.has_error:
            yield from _visit(child, bases)


def _definition(node: Node, bases: Bases) -> Unit:
    name = text_of(next((c for c in node.named_children if c.type in {"identifier", "value"}), None))
    parents = text_of(next((c for c in node.named_children if c.type == "parent_class_list"), None))
    kind, symbol = _classify(name, parents)
    body = next((c for c in node.named_children if c.type == "record_body"), None)
    cuts = first_lines(body.named_children) if body is not None else ()
    context = _said(kind, parents, text_of(body))
    inherited = bases.inherited(text_of(node)) if bases.classes else ""
    return Unit(*lines_of(node), kind, symbol, context=context, cuts=cuts, inherited=inherited, alone=True)


def _said(kind: Kind, parents: str, body: str) -> str:
    """Return in names what a record is: its classes and their short arguments, an operation's operands."""
    strings = [s for s in _STRING.findall(parents) if not is_message(s)]
    names = list(dict.fromkeys(_NAME.findall(_STRING_OR_BLOCK.sub(" ", parents))))[:MAX_NAMES]
    if kind == "option" and len(strings) > 1:  # description, type, default
        return " ".join([*names[:1], "type", *strings[:-1], "default", strings[-1]])
    if kind == "op_def":
        operands = dict.fromkeys(_OPERAND.findall(body))
        return " ".join([*names[:1], *strings[:1], *names[1:], *(["operands", *operands] if operands else [])])
    return " ".join([*names, *strings[:MAX_NAMES]])


def _classify(name: str, parents: str) -> tuple[Kind, str]:
    if found := _PASS.search(parents):
        return "pass_def", found["argument"]
    bases, before = parents, ""
    while bases != before:
        bases, before = _ARGUMENTS.sub(" ", bases), bases
    return next((kind for base, kind in _BASES if base.search(bases)), "type_def"), name


def _prose(text: str) -> ProseLines:
    """Collect comments and messages, of code blocks too; of descriptions all lines that are no code."""
    blocks = [block for block in _BLOCK.finditer(text) if _is_description(text, block)]
    prose = prose_of(_without(text, blocks))
    for block in blocks:
        for number, line in enumerate(_told(block["text"]), line_at(text, block.start("text"))):
            prose.add(number, line)
    return prose


def described(text: str) -> str:
    """Return what the descriptions and summaries of a piece of TableGen say."""
    found = [m for m in _BLOCK.finditer(text) if _is_description(text, m)] + list(_SUMMARY.finditer(text))
    rows = (row for m in sorted(found, key=lambda m: m.start()) for row in _told(m["text"]))
    return " ".join(row for row in rows if row)


def _told(description: str) -> Iterator[str]:
    """Yield the lines of a description, "" for those of code."""
    fenced = False
    for line in description.split("\n"):
        fence = line.strip().startswith(("```", "~~~"))
        fenced ^= fence
        yield "" if fence or fenced else clean_line(line).strip(" `")


def _is_description(text: str, block: re.Match[str]) -> bool:
    found = _FIELD.search(text, max(0, block.start() - _LOOK_BACK), block.start())
    return found is not None and _DESCRIBING.search(found["field"]) is not None


def _without(text: str, blocks: list[re.Match[str]]) -> str:
    """Leave out what stands inside the blocks, but for its newlines."""
    parts, at = [], 0
    for block in blocks:
        parts += [text[at : block.start("text")], "\n" * block["text"].count("\n")]
        at = block.end("text")
    return "".join([*parts, text[at:]])


GRAMMAR = Grammar("tablegen", "type_def", outline, re.compile(r"^\s*//"))

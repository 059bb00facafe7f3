"""What the grammars that use tree-sitter share: parsers, lines of nodes, and how much a parse left over."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# Above this share of bytes that no rule took, a tree is noise.
MAX_ERROR_SHARE = 0.2


@cache
def parser_of(language: Literal["cpp", "python", "tablegen"]) -> Parser:
    """Return the parser of a language."""
    from tree_sitter_language_pack import get_parser  # noqa: PLC0415 - the grammars cost 0.2 s, only chunking needs them

    return get_parser(language)


def text_of(node: Node | None) -> str:
    """Return a node's text, "" for none."""
    return node.text.decode(errors="replace") if node is not None and node.text else ""


def lines_of(node: Node) -> tuple[int, int]:
    """Return the first and last line (1-based) of a node; a newline at its end is not its own."""
    end = node.end_point
    last = end.row if end.column == 0 and end.row > node.start_point.row else end.row + 1
    return node.start_point.row + 1, last


def length_of(node: Node) -> int:
    """Return how many lines a node spans."""
    return node.end_point.row - node.start_point.row + 1


def first_lines(nodes: list[Node]) -> tuple[int, ...]:
    """Return the lines at which the nodes begin."""
    return tuple(n.start_point.row + 1 for n in nodes)


def is_noise(root: Node, size: int) -> bool:
    """Tell whether too much of a file of `size` bytes was not understood."""
    return root.has_error and _left_over(root) > MAX_ERROR_SHARE * max(size, 1)


def _left_over(node: Node) -> int:
    """Count the bytes that no rule took; inside an error node, whole definitions are still found."""
    inner = sum(_left_over(child) for child in node.children if child.has_error)
    if node.type != "ERROR":
        return inner
    understood = sum(child.end_byte - child.start_byte for child in node.named_children if child.type != "ERROR")
    return node.end_byte - node.start_byte - understood + inner

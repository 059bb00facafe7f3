"""A kernel file as text with a syntax tree over it: what stands where, and edits that leave the rest as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, CodeSpan, MetadataWrapper

Statement = cst.BaseSmallStatement | cst.BaseCompoundStatement

# Functions of the language that tiles have as methods too; `to` is read where it stands.
_METHODS = frozenset(
    {
        "abs", "argmax", "argmin", "broadcast_to", "cos", "cumprod", "cumsum", "erf", "exp", "exp2", "expand_dims",
        "floor", "gather", "histogram", "log", "log2", "max", "min", "permute", "reshape", "rsqrt", "sigmoid", "sin",
        "sqrt", "sum", "trans", "view", "xor_sum",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the bytes `start` to `end` of the file by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class KernelFile:
    """The file, its tree, and one kernel of it. Offsets are bytes of the UTF-8 text."""

    data: bytes
    module: cst.Module
    kernel: cst.FunctionDef
    spans: Mapping[cst.CSTNode, CodeSpan]
    language: str
    functional: Mapping[cst.CSTNode, cst.Call]
    handed: set[str] | None = None

    def plain(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return a call of a tile's method (`x.sum(1)`) as the call of a function (`tl.sum(x, 1)`), else `node`."""
        return self.functional.get(node, node)

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return where `node` starts and ends, its own parentheses left out."""
        found = self.spans[node]
        return found.start, found.start + found.length

    def text(self, node: cst.CSTNode) -> str:
        """Return the text of `node` as it stands in the file."""
        start, end = self.span(node)
        return self.data[start:end].decode()

    def lines(self, node: cst.CSTNode) -> range:
        """Return the 1-based lines that `node` covers."""
        start, end = self.span(node)
        return range(self.data.count(b"\n", 0, start) + 1, self.data.count(b"\n", 0, end) + 2)

    def indent(self, node: cst.CSTNode) -> str:
        """Return the white space that begins the line where `node` starts."""
        start = self.data.rfind(b"\n", 0, self.span(node)[0]) + 1
        line = self.data[start:].decode()
        return line[: len(line) - len(line.lstrip(" \t"))]

    def trailing_comment(self, line: cst.CSTNode) -> tuple[int, int] | None:
        """Return where the comment behind a line of one statement stands, with the white space before it."""
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
            return None
        comment = line.trailing_whitespace.comment
        if comment is None:
            return None
        start = self.span(line.body[0])[1]
        end = self.data.find(b"\n", start)
        found = self.data[start : end if end >= 0 else len(self.data)].decode()
        return (start, start + len(found.encode())) if found.lstrip().startswith("#") else None

    def replace(self, node: cst.CSTNode, text: str) -> Edit:
        """Make the edit that puts `text` in the place of `node`."""
        return Edit(*self.span(node), text)

    def insert_before(self, line: cst.CSTNode, statement: cst.CSTNode, lines: Iterable[str]) -> Edit:
        """Make the edit that puts whole `lines` before `statement`, breaking its line where others precede it."""
        start, _ = self.span(statement)
        indent = self.indent(line)
        block = "".join(f"{text}\n{indent}" for text in lines)
        before = _statements_before(line, statement)
        if not before:
            return Edit(start, start, block)
        return Edit(self.span(before[-1])[1], start, f"\n{indent}{block}")

    def insert_after(self, line: cst.CSTNode, lines: Iterable[str]) -> Edit:
        """Make the edit that puts whole `lines` after the statement line or block `line`."""
        end = self.data.find(b"\n", self.span(line)[1])
        end = len(self.data) if end < 0 else end
        indent = self.indent(line)
        return Edit(end, end, "".join(f"\n{indent}{text}" for text in lines))

    def drop_line(self, line: cst.CSTNode) -> Edit:
        """Make the edit that takes a statement line away, with its comment."""
        start, end = self.span(line)
        end = self.data.find(b"\n", end)
        return Edit(self.data.rfind(b"\n", 0, start) + 1, len(self.data) if end < 0 else end + 1, "")

    def append_to_list(self, first: cst.CSTNode, last: cst.CSTNode, *texts: str) -> Edit:
        """Make the edit that adds entries behind `last` of a list, on lines of their own where the others have them."""
        end = self.span(last)[1]
        if self.lines(first)[0] == self.lines(last)[0]:
            return Edit(end, end, "".join(f", {text}" for text in texts))
        line_end = self.data.find(b"\n", end)
        between = f"\n{self.indent(last)}"
        if self.data[end:line_end].lstrip().startswith(b","):  # a comment may follow the comma
            return Edit(line_end, line_end, "".join(f"{between}{text}," for text in texts))
        return Edit(end, end, "".join(f",{between}{text}" for text in texts))

    def apply(self, edits: Iterable[Edit]) -> str | None:
        """Return the file with all `edits` made; None where two of them overlap or the result does not parse."""
        parts: list[bytes] = []
        position = 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            if edit.start < position:
                return None
            parts += [self.data[position : edit.start], edit.text.encode()]
            position = edit.end
        text = b"".join((*parts, self.data[position:])).decode()
        return text if _parse(text) is not None else None

    def fresh(self, wanted: str) -> str:
        """Return `wanted`, or it with a number, such that nothing in the file has that name.

        Where names `handed` out are kept, none of these is given again.
        """
        taken = {node.value for node in walk(self.module) if isinstance(node, cst.Name)} | (self.handed or set())
        names = (wanted if n == 1 else f"{wanted}_{n}" for n in range(1, len(taken) + 2))
        name = next(name for name in names if name not in taken)
        if self.handed is not None:
            self.handed.add(name)
        return name


@lru_cache(maxsize=4)  # each rule of a finding reads the same file
def read_kernel(source: str, kernel: str) -> KernelFile | None:
    """Parse `source` and find the one function `kernel` in it; None where it is absent, doubled or out of reach."""
    module = _parse(source)
    if module is None or "\r" in source or source.startswith("\ufeff"):
        return None
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    found = [n for n in walk(module) if isinstance(n, cst.FunctionDef) and n.name.value == kernel]
    if len(found) != 1 or not isinstance(found[0].body, cst.IndentedBlock):
        return None
    spans = dict(wrapper.resolve(ByteSpanPositionProvider))
    language = _language_alias(module)
    functional: dict[cst.CSTNode, cst.Call] = dict(_functional(found[0], language, _modules(module)))
    spans |= {made: spans[call] for call, made in functional.items()}
    return KernelFile(source.encode(), module, found[0], spans, language, functional)


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield `node` and all below it, in the order of the text."""
    yield node
    for child in node.children:
        yield from walk(child)


def dotted(node: cst.CSTNode) -> str:
    """Return `a.b.c` for a name or a chain of attributes, "" for anything else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr.value}" if owner else ""
    return ""


def names_in(node: cst.CSTNode) -> tuple[str, ...]:
    """Return the variables that `node` mentions: names, but neither attributes nor keywords of calls."""
    if isinstance(node, cst.Name):
        return (node.value,)
    if isinstance(node, cst.Attribute):
        return names_in(node.value)
    if isinstance(node, cst.Arg):
        return names_in(node.value)
    found = (name for child in node.children for name in names_in(child))
    return tuple(dict.fromkeys(found))


def argument(call: cst.Call, name: str, position: int | None = None) -> cst.Arg | None:
    """Return the argument of `call` that is passed by keyword `name`, or at `position`; None where absent."""
    for index, given in enumerate(call.args):
        if given.star:
            return None
        if given.keyword is not None and given.keyword.value == name:
            return given
        if given.keyword is None and index == position:
            return given
    return None


def foreign_modules(file: KernelFile) -> frozenset[str]:
    """Return the names that the file imports from anywhere but Triton."""
    found: set[str] = set()
    for node in walk(file.module):
        if not isinstance(node, (cst.Import, cst.ImportFrom)) or isinstance(node.names, cst.ImportStar):
            continue
        source = dotted(node.module) if isinstance(node, cst.ImportFrom) and node.module is not None else ""
        for alias in node.names:
            path = f"{source}.{dotted(alias.name)}".lstrip(".")
            if path.partition(".")[0] != "triton":
                found.add(
                    dotted(alias.asname.name) if alias.asname is not None else dotted(alias.name).partition(".")[0]
                )
    return frozenset(found)


def _functional(kernel: cst.FunctionDef, language: str, modules: frozenset[str]) -> Iterator[tuple[cst.Call, cst.Call]]:
    """Yield the kernel's calls of methods of tiles, each with the call of the function that it means."""
    module = cst.parse_expression(language)
    for node in walk(kernel):
        match node:
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=name))) if name in _METHODS:
                if dotted(owner).partition(".")[0] not in modules:
                    func = cst.Attribute(module, cst.Name(name))
                    yield node, cst.Call(func, [cst.Arg(owner), *node.args])


def _modules(module: cst.Module) -> frozenset[str]:
    """Return the names that the file's imports bind."""
    found: set[str] = set()
    for node in walk(module):
        if isinstance(node, (cst.Import, cst.ImportFrom)) and not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                name = alias.asname.name if alias.asname is not None else alias.name
                found.add(dotted(name).partition(".")[0])
    return frozenset(found)


def _parse(source: str) -> cst.Module | None:
    try:
        return cst.parse_module(source)
    except cst.ParserSyntaxError:
        return None


def _statements_before(line: cst.CSTNode, statement: cst.CSTNode) -> list[cst.CSTNode]:
    if not isinstance(line, cst.SimpleStatementLine):
        return []
    return list(line.body[: next(i for i, entry in enumerate(line.body) if entry is statement)])


def _language_alias(module: cst.Module) -> str:
    """Return the name that the file gives to `triton.language`."""
    for node in walk(module):
        if isinstance(node, cst.Import):
            for alias in node.names:
                if dotted(alias.name) == "triton.language" and alias.asname is not None:
                    return dotted(alias.asname.name)
        if isinstance(node, cst.ImportFrom) and node.module is not None and dotted(node.module) == "triton":
            for alias in node.names if not isinstance(node.names, cst.ImportStar) else ():
                if dotted(alias.name) == "language":
                    return dotted(alias.asname.name) if alias.asname is not None else "language"
    return "triton.language" if _imports_triton(module) else "tl"


def _imports_triton(module: cst.Module) -> bool:
    """Tell whether the file has `triton` by that name, and so the language as an attribute of it."""
    imports = [node for node in walk(module) if isinstance(node, cst.Import)]
    return any(dotted(alias.name).partition(".")[0] == "triton" for node in imports for alias in node.names)

"""What a TableGen definition has from classes in other files: its full name, and what they say of it.

`def VExpOp : HIVM_ElementwiseUnaryOp<"vexp">` says neither that it is `hivm.hir.vexp` nor what all element-wise
operations do: dialect, prefix and description stand with its base classes. All files of a corpus are read for these,
so that one definition can be understood alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from indexer.opnames import OpNames

_PIECE = re.compile(r"^(?=(?:class|def|defm|multiclass|let|foreach)\b)", re.MULTILINE)
_HEAD = re.compile(r"(?P<word>class|def|defm)\s+(?P<name>\w+)")
_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|\[\{.*?\}\]|[<>()\[\]{};:,]|!?\w+', re.DOTALL)
_COMMENT_OR_STRING = ('"', "//", "/*", "[{")
# Classes above this have nothing to do with the one definition any more.
MAX_DEPTH = 8
# What a definition inherits may not drown what it says itself.
MAX_INHERITED = 800


@dataclass(frozen=True, slots=True)
class _Class:
    parents: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class Bases:
    """The classes of a set of TableGen files."""

    classes: Mapping[str, _Class] = field(default_factory=dict)
    names: OpNames = field(default_factory=lambda: OpNames(()))
    digest: str = ""

    def inherited(self, definition: str) -> str:
        """Return the operation's full name, the classes above a definition, and their descriptions."""
        above = list(self._above(parents_of(definition)))
        said = " ".join(dict.fromkeys(c.description for _, c in above if c.description))
        # Parts of other names, as in `hivm.hir.vadd`, are found as words; the name itself is kept whole.
        name = self.names.name_of(definition) or ""
        return " ".join(part for part in (name, said[:MAX_INHERITED]) if part)

    def _above(self, parents: tuple[str, ...]) -> Iterator[tuple[str, _Class]]:
        seen: set[str] = set()
        level = parents
        for _ in range(MAX_DEPTH):
            found = [(name, self.classes[name]) for name in level if name in self.classes and name not in seen]
            seen.update(level)
            yield from found
            level = tuple(parent for _, above in found for parent in above.parents)


NO_BASES = Bases()


def gather_bases(texts: Iterable[str], describe: Callable[[str], str]) -> Bases:
    """Read the classes of some files; `describe` returns what a piece of TableGen says in its descriptions."""
    pieces = [piece for text in texts for piece in _PIECE.split(text)]
    classes: dict[str, _Class] = {}
    for piece in pieces:
        head = _HEAD.match(piece)
        if head and head["word"] == "class":
            classes.setdefault(head["name"], _Class(parents_of(piece), describe(piece)))
    named = [piece for piece in pieces if piece.startswith("class") or "Dialect" in piece]
    parts = (f"{name}\0{c.parents}\0{c.description}\n" for name, c in sorted(classes.items()))
    digest = hashlib.sha256("".join([*parts, *sorted(named)]).encode()).hexdigest()[:12]
    return Bases(classes, OpNames(pieces), digest)


def parents_of(definition: str) -> tuple[str, ...]:
    """Return the names of the classes that a class or definition derives from, in order."""
    head = _HEAD.search(definition)
    depth, derived, found = 0, False, []
    for token in _TOKEN.finditer(definition, head.end()) if head else ():
        text = token[0]
        if text in {"<", "(", "["}:
            depth += 1
        elif text in {">", ")", "]"}:
            depth -= 1
        elif depth == 0 and text in {"{", ";"}:
            break
        elif depth == 0 and text == ":":
            derived = True
        elif depth == 0 and derived and text != "," and not text.startswith(_COMMENT_OR_STRING):
            found.append(text)
    return tuple(found)

"""What a question names: pass arguments, operations, options, files and symbols found in its prose."""

from __future__ import annotations

import re
from dataclasses import dataclass

from indexer.records import Sort
from indexer.shelf import Shelf
from indexer.words import words_of
from retriever.glossary import load_glossary

_FLAG = re.compile(r"(?<![\w-])-{0,2}(?P<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)+)(?![\w-])")
_OP = re.compile(r"(?<![\w./-])[a-z_]+(?:\.[A-Za-z_]\w*){1,2}(?![\w/])")
_PATH = re.compile(r"(?<![\w.])(?:[\w-]+/)*[\w-]+\.(?:cpp|cc|c|h|hpp|inc|td|py|mlir|md|rst)\b")
_IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*(?:::\w+)*", re.ASCII)
# A name that no sentence has by accident: inner capitals, an underscore, or a scope.
_SYMBOL = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_|::")
MAX_SYMBOL = 200
MAX_QUESTION = 8_000  # characters; longer ones are pasted files
# No name is as long; patterns that look for one would take seconds over it.
_TOO_LONG = re.compile(r"[\w./:-]{300,}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Named:
    """A thing that the question names and the index knows."""

    name: str
    sort: Sort | str


@dataclass(frozen=True, slots=True)
class Understood:
    """A question as the ranking sees it: its words, what it names, and its text for the embedder.

    `meant` are the sources' words for what the user says, `translated` the English words of a Chinese question.
    """

    text: str
    words: tuple[str, ...]
    named: tuple[Named, ...]
    meant: tuple[str, ...] = ()
    translated: tuple[str, ...] = ()
    english: str = ""

    @property
    def for_embedder(self) -> str:
        """Return the text whose meaning is sought: the embedders read English."""
        return f"{self.text} {self.english}".strip()

    @property
    def only_names(self) -> bool:
        """Tell whether the question is nothing but names: then the exact answers are the answer."""
        rest = self.text
        for named in self.named:
            rest = rest.replace(named.name, " ")
        return bool(self.named) and not words_of(rest)


def understand(text: str, shelf: Shelf) -> Understood:
    """Find what `text` names among what the index knows."""
    text = _TOO_LONG.sub(" ", text[:MAX_QUESTION])
    found: dict[str, Named] = {}
    for name in dict.fromkeys(m["name"] for m in _FLAG.finditer(text)):
        for sort in ("pass", "option"):
            if shelf.named(name, sort):
                found.setdefault(name, Named(name, sort))
    for name in dict.fromkeys(_OP.findall(text)):
        if shelf.named(name, "op"):
            found.setdefault(name, Named(name, "op"))
    for name in dict.fromkeys(m[0] for m in _PATH.finditer(text)):
        if shelf.paths_ending(name):
            found.setdefault(name, Named(name, "file"))
    for name in dict.fromkeys(_IDENTIFIER.findall(text)):
        if len(name) <= MAX_SYMBOL and _SYMBOL.search(name) and shelf.named(name, "symbol"):
            found.setdefault(name, Named(name, "symbol"))
    told = load_glossary().expand(text)
    return Understood(
        text, tuple(words_of(text)), tuple(found.values()), told.meant, told.translated, told.english
    )  # fmt: skip

"""What a question names: passes, operations, options, files, symbols and messages, in prose and in what is pasted.

Pasted are diagnostics, IR, stack frames and command lines; users wrap them in prose, quote them, and cut them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from indexer.diagnostics import Templates
from indexer.graph.options import option_name
from indexer.records import Sort
from indexer.shelf import Shelf
from indexer.words import words_of
from retriever.glossary import load_glossary

# Chinese is written without spaces: a name may stand right beside its characters, so all these are ASCII.
_FLAG = re.compile(
    r"(?<![\w-])(?:-{0,2}(?P<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)+)|--(?P<word>[a-z][a-z0-9]+))(?![\w-])", re.ASCII
)
_OP = re.compile(r"(?<![\w./-])[A-Za-z_]+(?:\.[A-Za-z_]\w*){1,2}(?![\w/])", re.ASCII)
_SUFFIXES = "cpp|cc|c|h|hpp|inc|td|py|mlir|md|rst"
# `lib/A.cpp`, `A.cpp:12:3`, `File "/opt/a.py", line 12`.
_PATH = re.compile(
    r"(?<![\w.-])/?(?P<path>(?:[\w.+-]+/){0,64}"  # no deeper: each part of a path is tried as its begin
    rf"[\w-][\w.-]*\.(?:{_SUFFIXES}))\b(?:(?::|[\"']?,\s+line\s+)(?P<line>\d+))?",
    re.ASCII,
)
_IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*(?:::\w+)*", re.ASCII)
# A name that no sentence has by accident: inner capitals, an underscore, or a scope.
_SYMBOL = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_|::")
_QUOTED = re.compile(r"""(?<!\w)["'`“‘「『]([^"'`”’」』\n]{12,400})["'`”’」』]""", re.ASCII)
# Values, blocks and shapes of pasted IR are nobody's topic.
_VALUE = re.compile(r"%[\w$.#-]+(?::\d+)?|\^bb\d+|#(?:map|loc)\d*\b|<(?:[\d?]+x)+[^<>]*(?:<[^<>]*>[^<>]*)*>", re.ASCII)
MAX_SYMBOL = 200
MAX_QUESTION = 8_000  # characters; longer ones are pasted files
# So many paths of a pasted stack are looked up, each with so many folders.
MAX_PATHS = 16
MAX_FOLDERS = 12
# What is pasted word for word is what the question is about.
PASTED = frozenset({"diagnostic", "place"})


@dataclass(frozen=True, slots=True)
class Named:
    """A thing that the question names and the index knows; the sort `place` is a line of a file, `path:line`."""

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
            if named.sort in PASTED:
                return False
            rest = rest.replace(named.name, " ")
        return bool(self.named) and not words_of(rest)


class Vocabulary:
    """The names that an index knows, as users write them."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf

    @cached_property
    def diagnostics(self) -> Templates:
        """Read the messages that the indexed sources can emit."""
        return Templates(self.shelf.names("diagnostic"))

    @cached_property
    def _operations(self) -> dict[str, str]:
        return {name.lower(): name for name in self.shelf.names("op")}

    @cached_property
    def _short_operations(self) -> dict[str, str]:
        """Return the operations whose last part no sentence has by accident, such as `mmadL1`."""
        shorts = ((name.rpartition(".")[2], name) for name in self._operations.values())
        return {short: name for short, name in shorts if _SYMBOL.search(short) or re.search(r"[a-z]\d", short)}

    def names_in(self, text: str) -> Iterator[Named]:
        """Yield what `text` names among what the index knows."""
        yield from self._flags(text)
        yield from self._ops(text)
        yield from self._files(text)
        yield from self._symbols(text)
        quoted = (match[1] for match in _QUOTED.finditer(text))
        yield from (Named(found, "diagnostic") for found in self.diagnostics.find("\n".join([text, *quoted])))

    def _flags(self, text: str) -> Iterator[Named]:
        for name in dict.fromkeys(m["name"] or m["word"] for m in _FLAG.finditer(text)):
            yield from self._sorts(name, "pass", "option")

    def _ops(self, text: str) -> Iterator[Named]:
        for written in dict.fromkeys(_OP.findall(text)):
            if name := self._operations.get(written.lower()):
                yield Named(name, "op")

    def _files(self, text: str) -> Iterator[Named]:
        for path, line in list(dict.fromkeys((m["path"], m["line"]) for m in _PATH.finditer(text)))[:MAX_PATHS]:
            parts = path.split("/")[-MAX_FOLDERS:]
            tails = ("/".join(parts[first:]) for first in range(len(parts)))
            tail = next((tail for tail in tails if self.shelf.paths_ending(tail)), None)
            if tail is not None:
                yield Named(tail, "file")
                if line:
                    yield Named(f"{tail}:{line}", "place")

    def _symbols(self, text: str) -> Iterator[Named]:
        for written in dict.fromkeys(_IDENTIFIER.findall(text)):
            if len(written) <= MAX_SYMBOL and _SYMBOL.search(written):
                named = self._symbol(written)
                flag = option_name(written)
                yield from named or (self._sorts(flag, "option", "pass") if "-" in flag else ())
            operation = self._short_operations.get(written)
            if operation and _stands_for(text, written, operation):
                yield Named(operation, "op")

    def _symbol(self, written: str) -> list[Named]:
        """Return a symbol; of an unknown scoped one what its last parts name, the class rather than a method."""
        parts = written.split("::")
        tails = ["::".join(parts[first:]) for first in range(max(len(parts) - 1, 1))]
        return next((found for name in [*tails, *parts[-2:-1]] if (found := self._sorts(name, "symbol"))), [])

    def _sorts(self, name: str, *sorts: Sort) -> list[Named]:
        return [Named(name, sort) for sort in sorts if self.shelf.named(name, sort)]


def _stands_for(text: str, short: str, operation: str) -> bool:
    """Tell whether `short` stands alone or in its own dialect: the `atomic_cas` of `tt.atomic_cas` is no HIVM one."""
    dialects = re.findall(rf"(?:\b(\w+)\.)?(?<!\w){re.escape(short)}\b", text, re.ASCII)
    return any(dialect in {"", *operation.split(".")} for dialect in dialects)


def understand(text: str, vocabulary: Vocabulary) -> Understood:
    """Find what `text` names among what the index knows."""
    text = text[:MAX_QUESTION]
    named: dict[str, Named] = {}
    for thing in vocabulary.names_in(text):
        named.setdefault(thing.name, thing)
    told = load_glossary().expand(text)
    words = tuple(words_of(_VALUE.sub(" ", text)))
    return Understood(text, words, tuple(named.values()), told.meant, told.translated, told.english)

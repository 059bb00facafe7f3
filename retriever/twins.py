"""Which language of a document a passage is in, and the passages of the other one."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from indexer.records import Passage
from indexer.twins import document_key
from indexer.words import has_chinese
from retriever.search import Index

_DOCUMENTS = (".md", ".rst")
_TABLES: WeakKeyDictionary[Index, dict[tuple[str, str], list[str]]] = WeakKeyDictionary()


def language_mark(passage: Passage) -> tuple[tuple[str, str], bool] | None:
    """Return what both languages of a document share, and whether this is the Chinese one; None for no document."""
    if passage.kind == "note":
        return (passage.corpus, passage.path), has_chinese(passage.text)
    if not passage.path.endswith(_DOCUMENTS):
        return None
    key, chinese = document_key(passage.path)
    return (passage.corpus, key), chinese


def translations(index: Index, passage: Passage) -> Iterator[Passage]:
    """Yield the passages of the document in the other language, if it is indexed."""
    mark = language_mark(passage)
    if mark is None:
        return
    for path in _documents(index).get(mark[0], [passage.path]):
        for row in index.generation.shelf.by_place(passage.corpus, path, 1, 1 << 30):
            other = language_mark(row.passage)
            if other is not None and other[1] != mark[1]:
                yield row.passage


def _documents(index: Index) -> dict[tuple[str, str], list[str]]:
    """Return the indexed documents by what their languages have in common."""
    if index not in _TABLES:
        table = _TABLES.setdefault(index, {})
        for corpus in index.manifest.corpora:
            for path in index.generation.shelf.files(corpus.name):
                if path.endswith(_DOCUMENTS):
                    table.setdefault((corpus.name, document_key(path)[0]), []).append(path)
    return _TABLES[index]

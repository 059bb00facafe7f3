"""Other ways to search the same passages: counted words, plain BM25, the first prototype's ranking, and semble."""

from __future__ import annotations

import json
import math
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from retriever.measures import Judged
from retriever.rank import DEFAULT_WEIGHTS, Weights
from retriever.records import Query
from retriever.search import Index

# A question -> files, best first, each `corpus:path`.
Searcher = Callable[[str], Sequence[str]]
SHOWN = 40
_WORD = re.compile(r"\w+")
# The ranking that won the first measurements, before links, relatives and the glossary.
PROTOTYPE = replace(
    DEFAULT_WEIGHTS, natural=0.4, dense=0.6, meant=0.0, translated=0.0, linked=0.0, exact=0.0, kin=0.0,
    damped=1.0, history=0.0, covered=0.0, header=1.0, document=1.0,
)  # fmt: skip
_SEMBLE = """
import json, sys
from semble import ContentType, SembleIndex
folder, model, alpha = sys.argv[1:4]
kinds = [ContentType.CODE, ContentType.DOCS]
index = SembleIndex.from_path(folder, content=kinds, model_path=model or None)
for line in sys.stdin:
    found = index.search(json.loads(line), top_k=40, alpha=float(alpha) if alpha else None)
    print(json.dumps([r.chunk.file_path for r in found]), flush=True)
"""


def ours(index: Index, weights: Weights = DEFAULT_WEIGHTS) -> Searcher:
    """Search as the product does."""

    def search(text: str) -> list[str]:
        hits = index.search(Query(text), SHOWN, weights)
        return list(dict.fromkeys(f"{h.passage.corpus}:{h.passage.path}" for h in hits))

    return search


class _Files:
    """The words of every indexed file, whole and lower-case."""

    def __init__(self, index: Index) -> None:
        self.words: dict[str, Counter[str]] = {}
        for mark in index.manifest.corpora:
            for p in index.generation.shelf.all_passages(mark.name):
                name = f"{p.corpus}:{p.path}"
                self.words.setdefault(name, Counter()).update(_WORD.findall(p.text.lower()))


def keyword(index: Index) -> Searcher:
    """Count, file by file, how many different words of the question occur, then how often: what ripgrep would give."""
    files = _Files(index).words

    def search(text: str) -> list[str]:
        asked = {word for word in _WORD.findall(text.lower()) if len(word) > 2}
        scored = []
        for name, words in files.items():
            hits = [words[word] for word in asked if word in words]
            if hits:
                scored.append((len(hits), sum(hits), name))
        return [name for _, _, name in sorted(scored, reverse=True)[:SHOWN]]

    return search


def bm25(index: Index) -> Searcher:
    """Rank passages by BM25 over their whole lower-case words; a file stands at its best passage."""
    import bm25s  # noqa: PLC0415

    names, texts = [], []
    for mark in index.manifest.corpora:
        for p in index.generation.shelf.all_passages(mark.name):
            names.append(f"{p.corpus}:{p.path}")
            texts.append(_WORD.findall(p.text.lower()))
    model = bm25s.BM25()
    model.index(texts, show_progress=False)

    def search(text: str) -> list[str]:
        words = [word for word in dict.fromkeys(_WORD.findall(text.lower())) if word in model.vocab_dict]
        if not words:
            return []
        found, _ = model.retrieve([words], k=100, show_progress=False)
        return list(dict.fromkeys(names[int(row)] for row in found[0]))

    return search


def semble(index: Index, python: Path, questions: Sequence[str], model: str, alpha: str) -> dict[str, list[str]]:
    """Let semble, installed for another Python, index the same files and answer the questions."""
    with tempfile.TemporaryDirectory() as folder:
        _write_files(index, Path(folder))
        command = [str(python), "-c", _SEMBLE, folder, model, alpha]
        asked = "".join(json.dumps(text) + "\n" for text in questions)
        done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    named = [list(dict.fromkeys(_named(path, folder) for path in found)) for found in answers]
    return dict(zip(questions, named, strict=True))


def _write_files(index: Index, folder: Path) -> None:
    files: dict[str, list[str]] = {}
    for mark in index.manifest.corpora:
        for p in index.generation.shelf.all_passages(mark.name):
            files.setdefault(f"{p.corpus}/{p.path}", []).append(p.text)
    for name, texts in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(texts) + "\n", encoding="utf-8")


def _named(path: str, folder: str) -> str:
    corpus, _, rest = path.removeprefix(folder).lstrip("/").partition("/")
    return f"{corpus}:{rest}"


def judged(id_: str, relevant: Sequence[str], found: Sequence[str]) -> Judged:
    """Pair a truth with what a peer found."""
    return Judged(id_, tuple(relevant), tuple(found))


def mean_of(values: Sequence[float]) -> float:
    """Return the mean, not a number of nothing."""
    return sum(values) / len(values) if values else math.nan

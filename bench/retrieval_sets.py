"""Benchmarks made at run time: from a repository's history, from descriptions, and from the comments of tests.

No text of theirs is kept here; the same repository and commit give the same questions.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from indexer.records import Passage
from retriever.evaluate import Question, Range
from retriever.search import Index

SEED = 20260822
# A commit that touches more files says little about each.
MAX_RELEVANT = 5
MAX_TOUCHED = 20
MIN_WORDS = 5
_RECORD = "\x1e"
_FIELD = "\x1f"
_UNDONE = re.compile(r"\b(?:revert|re-?land|cherry.pick|merge)\b|^!", re.IGNORECASE)
_TRAILER = re.compile(r"^\s*(?:[\w-]+-by:|change-id|issue:|link:|see merge|https?://).*$", re.IGNORECASE | re.MULTILINE)
_TAGS = re.compile(r"^(?:\s*\[[^\]]*\])+\s*:?\s*|https?://\S+")
_COMMENT = re.compile(r"^\s*//\s?(?!\s*(?:RUN|CHECK|UNSUPPORTED|REQUIRES|XFAIL|DEFINE|COM|REDEFINE)\b|-+\s*$)(.*)$")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"|\[\{(.*?)\}\]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of a history: its subject, its whole message without trailers, and the files it touched."""

    hash: str
    subject: str
    message: str
    files: tuple[str, ...]


def history(repository: Path, commit: str) -> list[Commit]:
    """Read the commits up to `commit`, newest first, merges left out."""
    form = f"--format={_RECORD}%H{_FIELD}%B{_FIELD}"
    command = ["git", "-C", str(repository), "log", "--no-merges", "--name-only", form, commit]
    out = subprocess.run(command, capture_output=True, text=True, check=True, errors="replace").stdout
    return [_commit(record) for record in out.split(_RECORD)[1:]]


def _commit(record: str) -> Commit:
    hash_, message, files = record.split(_FIELD, 2)
    message = _TAGS.sub("", _TRAILER.sub("", message).strip())
    return Commit(hash_, message.partition("\n")[0], message, tuple(f for f in files.split("\n") if f))


def mined(index: Index, corpus: str, repository: Path, count: int) -> list[Question]:
    """Return commits as questions: the message asks, the files changed answer; tests and documents are no answers.

    Left out: reverts and merges, messages of under five words, a subject seen before, more than five files of code.
    """
    (mark,) = (m for m in index.manifest.corpora if m.name == corpus)
    code = {p.path for p in index.generation.shelf.all_passages(corpus) if p.kind not in {"test", "doc"}}
    seen: set[str] = set()
    questions = []
    for commit in history(repository, mark.commit):
        relevant = [path for path in commit.files if path in code]
        fits = 1 <= len(relevant) <= MAX_RELEVANT and len(commit.files) <= MAX_TOUCHED
        told = len(commit.subject.split()) >= MIN_WORDS and not _UNDONE.search(commit.message)
        if fits and told and commit.subject.lower() not in seen:
            seen.add(commit.subject.lower())
            answers = tuple(Range(corpus, corpus, path, 1, 1 << 30) for path in relevant)
            questions.append(Question(commit.hash[:12], commit.message, "commit", answers))
    random.Random(SEED).shuffle(questions)  # noqa: S311 - a sample, not a secret
    return questions[:count]


def described(index: Index, count: int) -> list[Question]:
    """Return descriptions of passes and operations as questions, answered by what implements or lowers them.

    The definition itself is no answer: a system must find the code from the prose. `hidden` names the files to ignore.
    """
    shelf = index.generation.shelf
    found = []
    for mark in index.manifest.corpora:
        for passage in shelf.all_passages(mark.name):
            if passage.kind in {"pass_def", "op_def"} and passage.language == "tablegen":
                found += list(_described(index, passage))
            elif passage.kind == "test" and passage.language == "mlir":
                found += list(_commented(index, passage))
    random.Random(SEED).shuffle(found)  # noqa: S311
    return found[:count]


def _described(index: Index, passage: Passage) -> Iterator[Question]:
    prose = " ".join(a or b for a, b in _QUOTED.findall(passage.text) if len((a or b).split()) >= MIN_WORDS)
    if len(prose.split()) < 2 * MIN_WORDS:
        return
    sort, relations = ("pass", {"implements"}) if passage.kind == "pass_def" else ("op", {"implements", "lowers"})
    names = {n.name for n in index.generation.shelf.namings(_row(index, passage)) if n.sort == sort}
    hidden = re.compile("|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)) or r"\Z\A")
    answers = _answers(index, names, sort, relations)
    if 1 <= len(answers) <= MAX_RELEVANT:
        yield Question(passage.id, hidden.sub("", prose), passage.kind, answers)


def _commented(index: Index, passage: Passage) -> Iterator[Question]:
    prose = " ".join(m[1] for line in passage.text.split("\n") if (m := _COMMENT.match(line)))
    names = {n.name for n in index.generation.shelf.namings(_row(index, passage)) if n.sort == "pass"}
    answers = _answers(index, names, "pass", {"implements"})
    if len(prose.split()) >= 2 * MIN_WORDS and 1 <= len(answers) <= MAX_RELEVANT:
        yield Question(passage.id, prose, "test", answers)


def _row(index: Index, passage: Passage) -> int:
    row = index.generation.shelf.by_key(passage.key)
    return row.row if row is not None else -1


def _answers(index: Index, names: set[str], sort: str, relations: set[str]) -> tuple[Range, ...]:
    shelf = index.generation.shelf
    rows = [row for name in sorted(names) for row, relation in shelf.named(name, sort) if relation in relations]  # type: ignore[arg-type]
    places = dict.fromkeys((r.passage.corpus, r.passage.path) for r in shelf.rows(rows) if r.passage.kind != "test")
    return tuple(Range(corpus, corpus, path, 1, 1 << 30) for corpus, path in places)

"""How well the search answers questions with known answers: `{"id", "question", "style", "answers": [range]}` a line.

A range is `{"repo", "path", "start", "end"}`; its repository is a corpus's name or alias by the last path part. Scored
twice: by file (a file counts once, at its best passage) and by span (a passage that overlaps a range answers it).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from indexer.corpus import read_manifest
from indexer.errors import BadInput
from indexer.records import Passage
from retriever import measures
from retriever.measures import Difference, Judged, Scores
from retriever.records import Hit, Query
from retriever.search import Index

# So many passages are asked for, that ten files are among them.
DEPTH = 40


@dataclass(frozen=True, slots=True)
class Range:
    """Lines `start..end` of a file; `corpus` is None where no corpus of ours is that repository."""

    repo: str
    corpus: str | None
    path: str
    start: int
    end: int

    @property
    def file(self) -> str:
        """Return the file's name among all corpora."""
        return f"{self.corpus}:{self.path}"

    def overlaps(self, passage: Passage) -> bool:
        """Tell whether the passage holds a line of this range."""
        same = (passage.corpus, passage.path) == (self.corpus, self.path)
        return same and passage.start_line <= self.end and self.start <= passage.end_line


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the ranges that answer it."""

    id: str
    text: str
    style: str
    answers: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question's scores by file and by span, the files found, and what the search took."""

    question: Question
    file: Scores
    span: Scores
    found: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All outcomes; `not_indexed` are repositories left out, `left_out` the questions that only they answer.

    `missing` are files that answers name and the index does not have at its commit: they count as not found.
    """

    outcomes: tuple[Outcome, ...]
    left_out: tuple[str, ...]
    not_indexed: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def latency_ms(self) -> dict[str, float]:
        """Return the median and the 95th percentile of the searches' wall times."""
        spent = [o.seconds * 1000 for o in self.outcomes] or [0.0]
        return {f"p{p}": round(float(np.percentile(spent, p)), 2) for p in (50, 95)}

    def of_style(self, style: str) -> tuple[Outcome, ...]:
        """Return the outcomes of the questions of one style."""
        return tuple(o for o in self.outcomes if o.question.style == style)


def read_questions(path: Path) -> list[Question]:
    """Read a file of questions; raises `BadInput` naming the line that is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput("evaluate.no_questions", path=path, reason=error) from error
    questions = [_question(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not questions:
        raise BadInput("evaluate.no_questions", path=path, reason="empty")
    return questions


def corpus_of(repository: str) -> str | None:
    """Return the corpus that a repository is, by the last part of its name, ignoring case."""
    try:
        return read_manifest(repository.rstrip("/").rpartition("/")[2].removesuffix(".git")).name
    except BadInput:
        return None


def evaluate(
    index: Index, questions: Sequence[Question], ask: Callable[[str], Sequence[Hit]] | None = None
) -> Evaluation:
    """Ask every question that the indexed corpora can answer; the first one is asked once before, to warm up."""
    ask = ask or (lambda text: index.search(Query(text), DEPTH))
    marks = {mark.name for mark in index.manifest.corpora}
    able = [q for q in questions if any(a.corpus in marks for a in q.answers)]
    if able:
        ask(able[0].text)
    asked = [_ask(question, ask) for question in able]
    answers = [a for q in questions for a in q.answers]
    known = {mark: index.generation.shelf.files(mark) for mark in marks}
    return Evaluation(
        tuple(_outcomes(asked)),
        tuple(q.id for q in questions if q not in able),
        tuple(sorted({a.repo for a in answers if a.corpus not in marks})),
        tuple(sorted({a.file for a in answers if a.corpus in marks and a.path not in known[a.corpus]})),
    )


def save(evaluation: Evaluation, path: Path) -> None:
    """Keep each question's scores and files, so that a later run can be compared with this one."""
    table = {o.question.id: {"file": o.file, "span": o.span, "found": o.found} for o in evaluation.outcomes}
    path.write_text(json.dumps(table, ensure_ascii=False, indent=1), encoding="utf-8")


def compare(evaluation: Evaluation, saved: Path) -> dict[str, dict[str, Difference]]:
    """Compare with a kept run, question by question: level -> measure -> difference (new minus old)."""
    try:
        table = json.loads(saved.read_text(encoding="utf-8"))
        old = {level: {i: _scores(entry[level]) for i, entry in table.items()} for level in ("file", "span")}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadInput("evaluate.not_saved", path=saved, reason=error) from error
    new = {
        "file": {o.question.id: o.file for o in evaluation.outcomes},
        "span": {o.question.id: o.span for o in evaluation.outcomes},
    }
    if not set(new["file"]) & set(old["file"]):
        raise BadInput("evaluate.nothing_shared", path=saved)
    return {level: measures.differences(new[level], old[level]) for level in new}


@dataclass(frozen=True, slots=True)
class _Asked:
    question: Question
    passages: tuple[Passage, ...]
    seconds: float


def _ask(question: Question, ask: Callable[[str], Sequence[Hit]]) -> _Asked:
    begin = time.perf_counter()
    hits = ask(question.text)
    return _Asked(question, tuple(h.passage for h in hits), time.perf_counter() - begin)


def _outcomes(asked: Sequence[_Asked]) -> list[Outcome]:
    files = [
        Judged(a.question.id, tuple(dict.fromkeys(r.file for r in a.question.answers)), files_of(a.passages))
        for a in asked
    ]
    spans = [Judged(a.question.id, _span_names(a.question), _spans_found(a)) for a in asked]
    by_file, by_span = measures.score(files), measures.score(spans)
    return [
        Outcome(a.question, by_file[a.question.id], by_span[a.question.id], j.found[:10], a.seconds)
        for a, j in zip(asked, files, strict=True)
    ]


def files_of(passages: Sequence[Passage]) -> tuple[str, ...]:
    """Return the files of passages, each once, at its best place."""
    return tuple(dict.fromkeys(f"{p.corpus}:{p.path}" for p in passages))


def _span_names(question: Question) -> tuple[str, ...]:
    return tuple(map(str, range(len(question.answers))))


def _spans_found(asked: _Asked) -> tuple[str, ...]:
    """Name each passage by the first range it answers that no better one did, else by itself."""
    found: list[str] = []
    for passage in asked.passages:
        hit = [str(n) for n, answer in enumerate(asked.question.answers) if answer.overlaps(passage)]
        found.append(next((n for n in hit if n not in found), passage.id))
    return tuple(found)


def _question(path: Path, number: int, line: str) -> Question:
    try:
        table: dict[str, Any] = json.loads(line)
        answers = tuple(_range(answer) for answer in table["answers"])
        return Question(str(table["id"]), str(table["question"]), str(table.get("style", "")), answers)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadInput("evaluate.bad_question", path=path, line=number, reason=repr(error)) from error


def _range(table: Mapping[str, Any]) -> Range:
    repo = str(table["repo"])
    return Range(repo, corpus_of(repo), str(table["path"]), int(table["start"]), int(table["end"]))


def _scores(table: Mapping[str, Any]) -> Scores:
    return {name: float(table[name]) for name in measures.MEASURES}

"""What rounds taught, kept beside the index: symptom, change, passages, effect, conditions; shown for like findings.

A lesson rests on passages. One whose passages no longer say what they said has expired: it stays in the file and is not
shown. Kernel text is no part of a lesson.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from agent.contract import Doc, FindingDoc, OptimizeDoc, RoundDoc, Verdict
from agent.contract_run import ClaimVerdict
from indexer.errors import FULL, StoreError
from indexer.records import Passage
from retriever.search import Index

LESSONS = "lessons.jsonl"
LESSONS_A_FINDING = 3
# The newest are read: more would cost each run a second.
MOST_LESSONS = 5_000
_LOCK_SECONDS = 10.0


class CitedDoc(Doc):
    """A passage that a lesson rests on, with the hash that it had."""

    id: str
    sha256: str


class LessonDoc(Doc):
    """What one candidate taught.

    `effect` is the new cost over the old, None where there was none. `run` and `round` say where it is from.
    """

    arch: str
    symptom: str
    change: str
    author: Literal["rule", "model"]
    verdict: Verdict
    claim: ClaimVerdict
    basis: str
    effect: float | None
    conditions: dict[str, str]
    passages: list[CitedDoc]
    run: str
    round: int


@dataclass(frozen=True, slots=True)
class Memory:
    """The lessons of a store, as they stood when a run began: `count` lines of the file."""

    path: Path
    arch: str
    lessons: tuple[LessonDoc, ...]
    count: int

    def like(self, symptom: str, conditions: Mapping[str, str], index: Index) -> list[LessonDoc]:
        """Return unexpired lessons about a symptom, those under like conditions first, newest first."""
        found = [each for each in reversed(self.lessons) if each.symptom == symptom and each.arch == self.arch]
        held = [each for each in found if not is_expired(each, index)]
        held.sort(key=lambda each: -sum(conditions.get(k) == v for k, v in each.conditions.items()))
        first: dict[tuple[str, str], LessonDoc] = {}
        for each in held:
            first.setdefault((each.change, each.verdict), each)
        return list(first.values())[:LESSONS_A_FINDING]


def open_memory(store: Path, arch: str, count: int | None = None) -> Memory:
    """Read the lessons of a store; a run that goes on reads only the `count` lines that it began with."""
    path = store / LESSONS
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.is_file() else []
    lines = lines[:count]
    read = (_read(line) for line in lines[-MOST_LESSONS:])
    return Memory(path, arch, tuple(each for each in read if each is not None), len(lines))


def is_expired(lesson: LessonDoc, index: Index) -> bool:
    """Tell whether a passage that the lesson rests on no longer is what it was."""
    return any(not isinstance(index.check_citation(p.id, p.sha256), Passage) for p in lesson.passages)


def conditions_of(finding: FindingDoc, signature: Mapping[str, str]) -> dict[str, str]:
    """Return under which conditions a finding was made, as far as they matter to another kernel."""
    return {
        "pass": finding.pass_.argument if finding.pass_ is not None else "",
        "ops": ", ".join(sorted(set(finding.ir.ops))),
        "dtypes": ", ".join(sorted({kind.removeprefix("*") for kind in signature.values() if kind.startswith("*")})),
        "stage": finding.ir.stage,
    }


def lessons_of(doc: OptimizeDoc, arch: str, index: Index) -> list[LessonDoc]:
    """Return what the rounds of a run taught: of each the candidate that it was about."""
    best = doc.baseline.cost.value if doc.baseline.cost is not None else None
    found = []
    for entry in doc.rounds:
        if entry.rewrite is not None and entry.rewrite.symptom:
            found.append(_lesson(doc, entry, arch, best, index))
        if entry.verdict == "kept" and entry.cost is not None:
            best = entry.cost.value
    return found


def _lesson(doc: OptimizeDoc, entry: RoundDoc, arch: str, best: float | None, index: Index) -> LessonDoc:
    rewrite = entry.rewrite
    assert rewrite is not None  # noqa: S101 - the caller looked
    cost = entry.cost
    about = next((f for f in entry.findings if f.symptom == rewrite.symptom), None)
    signature = doc.launch.signature if doc.launch is not None else {}
    opened = [index.passage(id_) for id_ in rewrite.citations]
    return LessonDoc(
        arch=arch,
        symptom=rewrite.symptom,
        change=rewrite.name,
        author=rewrite.author,
        verdict=entry.verdict,
        claim=entry.claim_verdict,
        basis=cost.basis if cost is not None else "",
        effect=round(cost.value / best, 4) if cost is not None and best else None,
        conditions={} if about is None else conditions_of(about, signature),
        passages=[CitedDoc(id=p.id, sha256=p.sha256) for p in opened if p is not None],
        run=doc.out,
        round=entry.n,
    )


def remember(path: Path, lessons: Sequence[LessonDoc]) -> None:
    """Append lessons that the file does not hold yet; raises `StoreError` where it cannot be written."""
    if not lessons:
        return
    from filelock import FileLock  # noqa: PLC0415 - it loads asyncio; reading needs none

    try:
        with FileLock(path.with_suffix(".lock"), timeout=_LOCK_SECONDS):
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            known = set(text.split("\n"))
            lines = [json.dumps(each.to_json(), ensure_ascii=False, sort_keys=True) for each in lessons]
            fresh = [line for line in lines if line not in known]
            with path.open("a", encoding="utf-8") as file:
                # A line that a crash cut is closed first, so that the next one is whole.
                file.write(("\n" if text and not text.endswith("\n") else "") + "".join(f"{x}\n" for x in fresh))
    except OSError as error:
        key = "journal.disk_full" if error.errno in FULL else "journal.not_written"
        raise StoreError(key, path=path, reason=error.strerror or error) from error


def _read(line: str) -> LessonDoc | None:
    """Read a line; one that a crash cut, or another version wrote, teaches nothing."""
    try:
        return LessonDoc.model_validate_json(line)
    except ValidationError:
        return None

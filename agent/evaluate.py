"""How well attribution does on pairs of kernels with a known truth (scoring: design, section 7).

A folder holds `NAME_slow.py`, `NAME_fast.py` and `truth.json`: NAME -> symptom, target, line (null: not scored),
passes (empty: none may be named), evidence ranges.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.records import Evidence, Finding
from indexer.corpus import read_manifest
from indexer.errors import BadInput, SandboxError
from indexer.messages import Message, message
from indexer.store import CorpusMark

FIRST_FINDINGS = 3
FIRST_PASSAGES = 3
# A passage's id (design, section 3).
_ID = re.compile(r"^(?P<corpus>[^@]+)@(?P<commit>\w+):(?P<path>.+)#L(?P<first>\d+)-L(?P<last>\d+)$")


@dataclass(frozen=True, slots=True)
class Range:
    """Lines `start..end` of a file of a repository at a commit (abbreviated as the truth has it)."""

    repo: str
    path: str
    start: int
    end: int
    commit: str


@dataclass(frozen=True, slots=True)
class Truth:
    """What is known about a pair."""

    name: str
    symptom: str
    target: str
    line: int | None
    passes: tuple[str, ...]
    evidence: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One pair's outcome; None where something is not scored. `error` is what stopped the slow or the fast kernel."""

    truth: Truth
    symptom: bool
    line: bool | None
    pass_: bool
    evidence: bool | None
    false_alarm: bool
    found: tuple[Finding, ...]
    error: Message | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """All pairs together; `evidence_note` says why evidence is not scored, or for how many pairs it is not."""

    cases: tuple[Case, ...]
    evidence_note: Message | None

    @property
    def symptom_accuracy(self) -> float | None:
        """Return the share of pairs whose symptom is among the first findings."""
        return _share([c.symptom for c in self.cases])

    @property
    def line_accuracy(self) -> float | None:
        """Return the share of pairs with a known line whose finding is on it."""
        return _share([c.line for c in self.cases])

    @property
    def pass_accuracy(self) -> float | None:
        """Return the share of pairs whose finding names an accepted pass."""
        return _share([c.pass_ for c in self.cases])

    @property
    def evidence_recall(self) -> float | None:
        """Return the share of scored pairs with a true passage among the first ones."""
        return _share([c.evidence for c in self.cases])

    @property
    def false_alarms(self) -> int:
        """Count the pairs whose own symptom is found on the fast kernel."""
        return sum(c.false_alarm for c in self.cases)


def _share(values: Sequence[bool | None]) -> float | None:
    scored = [v for v in values if v is not None]
    return round(sum(scored) / len(scored), 4) if scored else None


def read_truth(folder: Path) -> list[Truth]:
    """Read `truth.json`; raises `BadInput` when it, or a kernel it names, is missing or malformed."""
    path = folder / "truth.json"
    try:
        table: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        found = [_truth(name, entry) for name, entry in table.items()]
    except OSError as error:
        raise BadInput("eval.no_truth", path=path) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadInput("eval.bad_truth", path=path, reason=error) from error
    for truth in found:
        for side in ("slow", "fast"):
            if not (folder / f"{truth.name}_{side}.py").is_file():
                raise BadInput("eval.no_kernel", path=folder / f"{truth.name}_{side}.py")
    return found


def _truth(name: str, entry: dict[str, Any]) -> Truth:
    ranges = tuple(
        Range(str(e["repo"]), str(e["path"]), int(e["start"]), int(e["end"]), str(e["commit"]))
        for e in entry.get("evidence", ())
    )
    line = entry.get("line")
    return Truth(
        name, str(entry["symptom"]), str(entry["target"]), None if line is None else int(line),
        tuple(str(p) for p in entry["passes"]), ranges,
    )  # fmt: skip


def score_pairs(
    folder: Path,
    diagnose: Callable[[Path, str], Sequence[Finding]],
    marks: Sequence[CorpusMark],
    on_case: Callable[[Case], None],
) -> Score:
    """Diagnose both kernels of each pair; `diagnose` takes a file and a target, `marks` are the indexed corpora."""
    cases: list[Case] = []
    for truth in read_truth(folder):
        cases.append(_score_pair(folder, truth, diagnose, marks))
        on_case(cases[-1])
    return Score(tuple(cases), _evidence_note(cases, marks))


def _score_pair(
    folder: Path, truth: Truth, diagnose: Callable[[Path, str], Sequence[Finding]], marks: Sequence[CorpusMark]
) -> Case:
    try:
        slow = tuple(diagnose(folder / f"{truth.name}_slow.py", truth.target))
        fast = tuple(diagnose(folder / f"{truth.name}_fast.py", truth.target))
    except (BadInput, SandboxError) as error:
        missed = None if truth.line is None else False
        return Case(truth, False, missed, False, None, False, (), error.note)  # noqa: FBT003 - what Case says of each
    own = [f for f in slow[:FIRST_FINDINGS] if f.symptom == truth.symptom]
    return Case(
        truth,
        symptom=bool(own),
        line=None if truth.line is None else any(f.line == truth.line for f in own),
        pass_=any(_names_pass(f, truth) for f in own),
        evidence=_cites_truth(own, truth) if _is_indexed(truth, marks) else None,
        false_alarm=any(f.symptom == truth.symptom for f in fast),
        found=slow,
    )


def _names_pass(finding: Finding, truth: Truth) -> bool:
    made_by = finding.structure.pass_argument
    return made_by in truth.passes if truth.passes else made_by is None


def _cites_truth(own: Sequence[Finding], truth: Truth) -> bool:
    cited = [e for f in own[:1] for e in f.evidence[:FIRST_PASSAGES]]
    return any(_overlaps(evidence, known) for evidence in cited for known in truth.evidence)


def _overlaps(evidence: Evidence, known: Range) -> bool:
    place = _ID.match(evidence.passage)
    return (
        place is not None
        and place["corpus"] == corpus_of(known.repo)
        and _same_commit(place["commit"], known.commit)
        and place["path"] == known.path
        and int(place["first"]) <= known.end
        and known.start <= int(place["last"])
    )


def corpus_of(repo: str) -> str:
    """Return the corpus that a repository of a truth is: its last path part, a name or an alias; "" for none."""
    try:
        return read_manifest(repo.rstrip("/").rsplit("/", 1)[-1]).name
    except BadInput:
        return ""


def _same_commit(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _is_indexed(truth: Truth, marks: Sequence[CorpusMark]) -> bool:
    """Tell whether every range of the truth could be found: its corpora are indexed at its commits."""
    return bool(truth.evidence) and all(_has(known, marks) for known in truth.evidence)


def _has(known: Range, marks: Sequence[CorpusMark]) -> bool:
    return any(m.name == corpus_of(known.repo) and _same_commit(m.commit, known.commit) for m in marks)


def _evidence_note(cases: Sequence[Case], marks: Sequence[CorpusMark]) -> Message | None:
    missing = sorted({
        f"{known.repo}@{known.commit}" for c in cases for known in c.truth.evidence if not _has(known, marks)
    })  # fmt: skip
    if missing:
        left_out = sum(c.evidence is None for c in cases)
        return message("eval.not_indexed", missing=", ".join(missing), left_out=left_out, n=len(cases))
    if not any(c.truth.evidence for c in cases):
        return message("eval.no_evidence_in_truth")
    return None

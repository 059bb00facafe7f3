"""Whether a kernel still shows what a finding is about, and the IR around the pass that makes it so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.diagnose import line_text, subjects_of
from agent.explain.explain import explain
from agent.records import Finding, Lowering, Structure
from agent.symptoms.table import SYMPTOMS
from indexer.ir.records import Snapshot

# A path of this machine: what is before its last part is nobody else's business.
_PATH = re.compile(r"(?<![\w:/.])/(?:[^\s/\"'<>:]+/)+")


@dataclass(frozen=True, slots=True)
class Sight:
    """What is seen again in a lowering: where, by which pass, and what it looks like.

    Of a compiler that ended without naming a pass, `after` is the last one that changed something.
    """

    line: int | None
    text: str
    pass_argument: str | None
    position: int | None
    excerpt: str
    after: str = ""


def see(lowering: Lowering, finding: Finding) -> Sight | None:
    """Look in a lowering for what a finding is about; None where it is not there."""
    return next(_seen(lowering, finding), None)


def _seen(lowering: Lowering, finding: Finding) -> Iterator[Sight]:
    source = lowering.source.text
    symptom = next((s for s in SYMPTOMS if s.id == finding.symptom), None)
    if symptom is None:
        for told in explain(lowering, None):
            if told.cause == finding.symptom and told.pass_argument == finding.structure.pass_argument:
                done = lowering.launches[told.launch_index].compilation.snapshots[-1:]
                after = done[0].pass_argument if done else ""
                yield Sight(told.line, line_text(source, told.line), told.pass_argument, None, told.said, after)
        return
    for subject in subjects_of(lowering):
        for found in symptom.detect(subject):
            if found.pass_argument == finding.structure.pass_argument:
                yield _sight(found, source)


def _sight(found: Structure, source: str) -> Sight:
    return Sight(found.line, line_text(source, found.line), found.pass_argument, found.position, found.excerpt)


def ir_around(lowering: Lowering, sight: Sight) -> dict[str, str]:
    """Return the IR before and after the pass, by file name; of a refusal only what it was given."""
    snapshots = [s for item in lowering.launches for s in item.compilation.snapshots]
    if not snapshots:
        return {}
    if sight.position is None:
        return {"before.mlir": _text(snapshots[-1])}
    later = [i for i, s in enumerate(snapshots) if s.position >= sight.position]
    at = later[0] if later else len(snapshots) - 1
    found = {"after.mlir": _text(snapshots[at])}
    return {"before.mlir": _text(snapshots[at - 1]), **found} if at else found


def _text(snapshot: Snapshot) -> str:
    return nameless(Path(snapshot.file).read_text(encoding="utf-8", errors="replace"))


def nameless(text: str) -> str:
    """Take the folders of this machine out of a text; file names stay."""
    return _PATH.sub("", text)

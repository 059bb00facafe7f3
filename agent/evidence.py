"""The evidence that a ladder leaves of a diagnosis, and the rung that each finding is from."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from agent.diagnose import Diagnosis
from agent.ladder import LADDERS, Ladder, limited
from agent.propose.records import Proposal
from agent.records import Finding, Rung
from agent.symptoms.table import SYMPTOMS

_RUNG_OF: dict[str, Rung] = {symptom.id: symptom.rung for symptom in SYMPTOMS}


def rung_of(symptom: str) -> Rung:
    """Return the shallowest rung that sees a symptom; what the compiler alone says is seen with the IR."""
    return _RUNG_OF.get(symptom, "ir")


def restrict(found: Diagnosis, ladder: Ladder) -> Diagnosis:
    """Return a diagnosis with what the ladder's rungs say, and nothing else."""
    allowed = LADDERS[ladder]
    findings = tuple(_without_sources(f, ladder) for f in found.findings if rung_of(f.symptom) in allowed)
    explanations = found.explanations if "ir" in allowed else ()
    return dataclasses.replace(
        found, ladder=limited(found.ladder, ladder), findings=findings, explanations=explanations
    )


def _without_sources(finding: Finding, ladder: Ladder) -> Finding:
    return finding if "source" in LADDERS[ladder] else dataclasses.replace(finding, evidence=())


def offer_rungs(proposals: Iterable[Proposal]) -> frozenset[Rung]:
    """Return the rungs that proposals are from."""
    return frozenset(rung_of(proposal.symptom) for proposal in proposals)

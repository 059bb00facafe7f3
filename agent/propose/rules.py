"""What the rules propose for the findings of a diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from agent.propose.records import Claim, Proposal
from agent.records import Finding
from agent.rewrite.table import Rule
from agent.symptoms.base import Rewrite, Subject

# Of one round; each is lowered, which costs a compilation. The others come up in later rounds.
MOST_OFFERS = 6
Rules = Callable[[str], tuple[Rule, ...]]


def rule_proposals(findings: Iterable[Finding], subjects: Sequence[Subject], rules: Rules) -> Iterator[Proposal]:
    """Yield what the rules offer, for the most severe finding first, best rule first."""
    for finding in findings:
        for make in rules(finding.symptom):
            offer = make(subjects[finding.launch_index], finding.structure)
            if offer is not None:
                yield by_rule(finding, offer)


def by_rule(finding: Finding, offer: Rewrite) -> Proposal:
    """Return a rule's rewrite as a proposal; it rests on the evidence of its finding."""
    claim = Claim(offer.claim, offer.precondition, finding.evidence)
    return Proposal("rule", offer.name, offer.source, claim, finding)

"""Whether a model's claim stands on what it cites: a passage that it was given, unchanged, whose words it quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.propose.actions import ModelClaim
from agent.propose.passages import Shelf, evidence_of
from agent.records import Evidence, Finding
from indexer.messages import Message, message
from indexer.records import Passage
from indexer.words import words_of
from retriever.support import support

# Fewer words state no condition.
LEAST_QUOTE_WORDS = 3
# Of the claim's words, by weight, a passage must hold this share unless it is evidence of the claimed finding: names of
# the kernel, which no passage knows, are among them, so it is less than of an answer to a question.
LEAST_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a claim cannot stand."""

    reason: Message


def check_claim(claim: ModelClaim, shelf: Shelf | None, finding: Finding | None) -> tuple[Evidence, ...] | Objection:
    """Return what a claim cites, or why that does not support it; without a shelf there is nothing to cite."""
    if not claim.change.strip():
        return Objection(message("propose.no_claim"))
    if shelf is None:
        return ()
    if not claim.passage.strip():
        return Objection(message("propose.uncited"))
    passage = shelf.given(claim.passage)
    if passage is None:
        return Objection(message("propose.not_given", name=claim.passage[:80], names=", ".join(shelf.known) or "-"))
    if not isinstance(shelf.index.check_citation(passage.id, passage.sha256), Passage):
        return Objection(message("propose.stale", id=passage.id))
    if len(words_of(claim.quote)) < LEAST_QUOTE_WORDS or _plain(claim.quote) not in _plain(passage.text):
        return Objection(message("propose.not_quoted", name=claim.passage[:80]))
    cited = finding is not None and passage.id in {e.passage for e in finding.evidence}
    said = f"{claim.change} {claim.condition}"
    if not cited and support(shelf.index, said, [passage]).share < LEAST_SHARE:
        return Objection(message("propose.other_subject", name=claim.passage[:80]))
    return (evidence_of(passage),)


def _plain(text: str) -> str:
    """Drop what a copy may have differently: line breaks, indentation, comment marks."""
    return re.sub(r"[\s/#*]+", " ", text).strip().strip("\"'`.… ").lower()

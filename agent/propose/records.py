"""The nouns of proposing: what is offered, on what ground, and what is claimed before anything is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent.records import Evidence, Finding
from indexer.messages import Message

Author = Literal["rule", "model"]
CostDirection = Literal["lower", "same", "higher"]
# The name, the symptom and the text of the line: what stays the same when lines move.
Direction = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Claim:
    """What an author says will happen, before the candidate is lowered.

    `text` says what changes and `ground` why that keeps results; `quote` is what the cited passage says of it. `gone`:
    the finding's structure will be gone; `fewer` names operations of the final IR that there will be fewer of.
    """

    text: str | Message
    ground: str | Message
    citations: tuple[Evidence, ...] = ()
    quote: str = ""
    gone: bool = True
    fewer: tuple[str, ...] = ()
    cost: CostDirection = "lower"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate: the whole new file, its author and name, the finding that it answers (None: none), the claim."""

    author: Author
    name: str
    source: str
    claim: Claim
    finding: Finding | None

    @property
    def symptom(self) -> str:
        """Return the symptom that it is to remove, "" for none."""
        return self.finding.symptom if self.finding is not None else ""

    @property
    def line_text(self) -> str:
        """Return the text of the line that it is about."""
        return self.finding.text if self.finding is not None else ""

    @property
    def direction(self) -> Direction:
        """Return what stays the same when lines move: a direction that was refuted is not tried again."""
        return (self.name, self.symptom, self.line_text)

"""Parts of an optimisation's document that rest on nothing else: checks, claims, a model's turn, a summary."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent.contract_parts import Doc

ClaimVerdict = Literal["realised", "refuted", "open"]


class EscalationDoc(Doc):
    """One step down the ladder."""

    from_: str = Field(alias="from")
    to: str
    reason: str


class ChecksDoc(Doc):
    """How a candidate was checked."""

    level: Literal["linalg_cpu", "interpreter", "device", "none"]
    verdict: str
    cases: int
    seeds: list[int]
    shapes: list[str]
    max_error: float | None
    tolerance: str
    reasons: list[str]
    not_covered: list[str]
    sandbox: list[str]


class ExpectedDoc(Doc):
    """One thing that an author said would happen, and whether it did."""

    text: str
    verdict: ClaimVerdict


class RewriteDoc(Doc):
    """A candidate: who made it, on what ground, and how it differs from the best so far.

    `quote` is what a cited passage says, word for word; `supported` is false where nothing is cited.
    """

    name: str
    author: Literal["rule", "model"]
    symptom: str
    line_text: str
    claim: str
    precondition: str
    citations: list[str]
    diff: str
    quote: str = ""
    supported: bool = True
    expected: list[ExpectedDoc] = Field(default_factory=list)


class PassageTextDoc(Doc):
    """A cited passage with its text, so that a report needs no index."""

    id: str
    title: str
    kind: str
    text: str


class ActionDoc(Doc):
    """One thing that the model did in a round, and what it was told then."""

    action: str
    detail: str
    answer: str


class TokensDoc(Doc):
    """What a model took; `cost` is None where no prices are configured."""

    prompt: int = 0
    completion: int = 0
    requests: int = 0
    cost: float | None = None
    currency: str = ""


class ModelTurnDoc(Doc):
    """What the model did in a round: `ended` says how, `reason` why nothing came of it, "" where something did."""

    ended: str
    reason: str
    thought: str
    actions: list[ActionDoc]
    tokens: TokensDoc


class ModelDoc(Doc):
    """Which model took part in a run, where, and why it left early ("": it did not)."""

    name: str
    endpoint: str
    left: str = ""
    exchanges: str = ""


class ReferenceDoc(Doc):
    """A published result on another basis, to stand beside ours and not to be compared with it."""

    geometric_mean: float
    median: float
    basis: str
    source: str


class SummaryDoc(Doc):
    """What several runs gave together; speedups are of the kernels that compile and of one basis."""

    kernels: int
    failed: int
    kept: int
    repaired: int
    basis: str
    geometric_mean: float | None
    median: float | None
    above_2x: float | None
    above_5x: float | None
    best_rounds: dict[str, int]
    tokens: TokensDoc
    reference: ReferenceDoc

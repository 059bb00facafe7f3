"""The documents that `ask` answers with (design, section 7)."""

from __future__ import annotations

from typing import Literal

from agent.contract import Doc
from agent.knowledge_documents import HitDoc


class ClaimDoc(Doc):
    """A sentence or quoted lines with the passages that hold it; `lines` is `path:first-last`, for an editor.

    `reason` says why a claim was rejected.
    """

    text: str
    citations: list[str]
    lines: str = ""
    reason: str = ""


class ConflictDoc(Doc):
    """A document that contradicts the source."""

    option: str
    source_default: str
    source: str
    document_default: str
    document: str
    document_line: int
    text: str


class AskDoc(Doc):
    """`tritonkb ask`; without an answer in the index `answered` is False and `suggestions` say what to do."""

    question: str
    answer: str
    mode: Literal["extractive", "model"]
    answered: bool
    confidence: float
    claims: list[ClaimDoc]
    rejected_claims: list[ClaimDoc]
    conflicts: list[ConflictDoc]
    suggestions: list[str]
    remarks: list[str]
    hits: list[HitDoc]

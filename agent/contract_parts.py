"""Parts of the JSON contract that several documents hold: the form of all, cited passages, explained refusals."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Doc(BaseModel):
    """A strict, frozen document; an alias is a word that Python keeps for itself (`from`, `pass`)."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, with the contract's own names."""
        return self.model_dump(mode="json", by_alias=True)


class EvidenceDoc(Doc):
    """A cited passage, checked against its hash."""

    passage: str
    why: list[str]
    title: str = ""


class BufferUseDoc(Doc):
    """A buffer that the planner has to place: whose it is, how long it lives, what made it larger."""

    space: str
    bytes: int
    copies: int
    type: str
    tensor: str
    line: int | None
    first_line: int | None
    last_line: int | None
    at_peak: bool
    added: list[str]


class FitDoc(Doc):
    """The largest value of a constexpr that compiles, found by compiling."""

    name: str
    value: int
    fits: int
    too_large: int
    used_bytes: int | None


class ExplanationDoc(Doc):
    """Why a launch is refused, or what the compiler gave up to take it."""

    cause: str
    kind: Literal["rejected", "conceded"]
    launch_index: int
    line: int | None
    text: str
    stage: str
    pass_argument: str | None = Field(alias="pass")
    op: str
    said: str
    title: str
    way_out: str
    details: list[str]
    buffers: list[BufferUseDoc]
    fit: FitDoc | None
    place: list[EvidenceDoc]

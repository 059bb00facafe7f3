"""What a model may do in a turn: one of a few actions, as one JSON object.

All fields stand in one flat form, and those that an action does not need stay empty: servers that hold a model to a
schema know flat objects, not all know alternatives.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from agent.propose.records import CostDirection

ActionName = Literal["search", "passage", "blame", "lower", "predict", "edit", "give_up"]


class Block(BaseModel):
    """A part of the file as it is, and what is to stand there."""

    search: str
    replace: str


class ModelClaim(BaseModel):
    """What the model says of its edit before it is tried."""

    finding: str = ""
    passage: str = ""
    quote: str = ""
    change: str = ""
    condition: str = ""
    gone: bool = True
    fewer: list[str] = Field(default_factory=list)
    cost: CostDirection = "lower"


class Action(BaseModel):
    """One turn of the model."""

    thought: str = ""
    action: ActionName
    query: str = ""
    line: int = 0
    blocks: list[Block] = Field(default_factory=list)
    source: str = ""
    claim: ModelClaim = Field(default_factory=ModelClaim)

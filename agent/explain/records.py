"""The nouns of an explanation: what was refused, the buffers that do not fit, the tile that does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent.records import Evidence
from indexer.messages import Message


@dataclass(frozen=True, slots=True)
class BufferUse:
    """One on-chip buffer that the planner has to place.

    `bytes` are those of all copies. `tensor` is the user's name of what lies in it, "" where the line names nothing.
    `first_line` and `last_line` are the user's lines of the first and the last operation that touch it. `at_peak`: it
    is live where most bytes are. `added` says what the compiler made of the tensor: padding, copies, a wider type,
    scratch memory.
    """

    space: str
    bytes: int
    copies: int
    type: str
    tensor: str
    line: int | None
    first_line: int | None
    last_line: int | None
    at_peak: bool
    added: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Fit:
    """The largest value of a constexpr that compiles, the others as they are; found by compiling.

    `too_large` is the smallest value tried that does not; `used_bytes` is the peak of the memory that overflowed.
    """

    name: str
    value: int
    fits: int
    too_large: int
    used_bytes: int | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a launch is refused (`rejected`), or what the compiler gave up to take it (`conceded`).

    `cause` is a key of the catalogue area `explain`; `said` are the compiler's own words. `place` is where the
    compiler says so.
    """

    cause: str
    kind: Literal["rejected", "conceded"]
    launch_index: int
    line: int | None
    stage: str
    pass_argument: str | None
    op: str
    said: str
    title: Message
    way_out: Message
    details: tuple[Message, ...] = ()
    buffers: tuple[BufferUse, ...] = ()
    fit: Fit | None = None
    place: tuple[Evidence, ...] = ()

"""What a symptom is: how it is seen in the IR, what proves it, what supports it and what removes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent.records import Blame, Compilation, Cost, Launch, Rung, Structure
from indexer.messages import Message


@dataclass(frozen=True, slots=True)
class Subject:
    """What a detector looks at: one launch, its lowering, blame and predicted cost, and the source text.

    `cost` is None for a rejected kernel. `source` is the whole file as text; lines of structures are lines of it.
    """

    launch: Launch
    compilation: Compilation
    blames: tuple[Blame, ...]
    cost: Cost | None
    source: str


@dataclass(frozen=True, slots=True)
class Variant:
    """A change to try: new file text, or other launch or compiler options (each None or empty: unchanged).

    A counterfactual variant need not preserve results and is never offered as a rewrite.
    """

    change: Message
    source: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    compiler_flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A source edit offered by a rule: the new file text, its name, and the messages that state what it relies on."""

    name: str
    source: str
    claim: Message
    precondition: Message


@dataclass(frozen=True, slots=True)
class Symptom:
    """A named reason for slowness, with everything the ladder needs to act on it.

    `id` is the catalogue id. `archs` are the compilers where it holds (`a3`, `a5`, `cuda`). `passes` are those that can
    be the cause, in order of looking up evidence. `detect` finds structures; it reads IR records, never a dump's text.
    `counterfactual` gives the smallest change that should remove the structure, None where no edit can exist.
    `query` are the field's words for the ranked search. `rung` is the shallowest rung that sees it. `share` says which
    part of the cost is its own where no counterfactual tells: that of the line, or that of launching programs.
    `is_limit`: the source asks for nothing slow, a compiler that knew more would do better; so it is not the kernel.
    `limiters` are the terms of a predicted cost by which the slow form may exceed the fast one; none where the compiler
    refuses it, or where nothing is known. `is_moved`: where sizes are small, the fast form moves the cost rather than
    removes it, as `eval.pair_<id>` says.
    Messages: `<area>.<id>_title`, `_why`, `_advice` in `agent/messages/<area>.toml`.
    """

    id: str
    archs: frozenset[str]
    rung: Rung
    passes: tuple[str, ...]
    ops: tuple[str, ...]
    query: str
    detect: Callable[[Subject], list[Structure]]
    counterfactual: Callable[[Subject, Structure], Variant | None]
    share: Literal["line", "launch"] = "line"
    is_limit: bool = False
    area: Literal["symptoms", "cuda"] = "symptoms"
    limiters: frozenset[str] = frozenset()
    is_moved: bool = False

    @property
    def card(self) -> str:
        """Return the name of its knowledge card."""
        return self.id if self.area == "symptoms" else f"{self.area}_{self.id}"

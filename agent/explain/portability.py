"""The same kernel for several targets: who takes it, who does not and why, and what differs where both do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.explain.records import Explanation
from agent.records import Lowering, Resources
from agent.toolchain.targets import find_device
from indexer.messages import Message, message

_MEMORIES = (
    ("UB", "ub_bytes", "ub_limit_bytes"),
    ("L1", "l1_bytes", "l1_limit_bytes"),
    ("L0C", "l0c_bytes", "l0c_limit_bytes"),
)
# Smaller differences of a memory's share do not decide whether a kernel runs there.
LEAST_DIFFERENCE = 0.05


@dataclass(frozen=True, slots=True)
class Side:
    """What one target made of the kernel; `symptoms` are None where the kernel was not diagnosed."""

    target: str
    lowering: Lowering
    explanations: tuple[Explanation, ...]
    symptoms: tuple[str, ...] | None = None

    @property
    def refusal(self) -> Explanation | None:
        """Return why the kernel is refused, None where it is taken."""
        return next((e for e in self.explanations if e.kind == "rejected"), None)

    @property
    def resources(self) -> Resources:
        """Return the memories of the costliest launch."""
        return self.lowering.launches[self.lowering.costliest].compilation.resources


def compare(sides: Sequence[Side]) -> tuple[Message, ...]:
    """Say how targets differ on a kernel."""
    takes = [s for s in sides if s.refusal is None]
    return (*_verdict(sides, takes), *_concessions(takes), *_memories(takes), *_costs(takes), *_symptoms(takes))


def _verdict(sides: Sequence[Side], takes: Sequence[Side]) -> Iterator[Message]:
    names = ", ".join(s.target for s in sides)
    if len(takes) == len(sides):
        yield message("explain.both_take", targets=names)
        return
    if not takes:
        yield message("explain.none_takes", targets=names)
        first = sides[0].refusal
        for side in sides[1:]:
            told = side.refusal
            if first is not None and told is not None and told.cause != first.cause:
                yield message("explain.causes_differ", target=side.target, title=told.title, line=told.line or "-")
        return
    for side in sides:
        if side.refusal is not None:
            told = side.refusal
            yield message(
                "explain.only_some", takes=", ".join(s.target for s in takes), refuses=side.target, title=told.title,
                line=told.line or "-",
            )  # fmt: skip


def _concessions(takes: Sequence[Side]) -> Iterator[Message]:
    for side in takes:
        for told in side.explanations:
            yield message("explain.conceded_on", target=side.target, title=told.title)


def _memories(takes: Sequence[Side]) -> Iterator[Message]:
    for space, used, limit in _MEMORIES:
        shares = {s.target: (getattr(s.resources, used) or 0) / getattr(s.resources, limit) for s in takes}
        if shares and max(shares.values()) - min(shares.values()) >= LEAST_DIFFERENCE:
            told = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
            yield message("explain.memory_differs", space=space, shares=told)


def _costs(takes: Sequence[Side]) -> Iterator[Message]:
    costs = {s.target: s.lowering.cost for s in takes}
    told = [f"{name} {cost.value:.3g} us" for name, cost in costs.items() if cost is not None]
    if len(told) > 1:
        yield message("explain.cost_differs", costs=", ".join(told))


def _symptoms(takes: Sequence[Side]) -> Iterator[Message]:
    """Name what is found on one target only, between targets of different compilers."""
    for side in takes:
        others = [s for s in takes if find_device(s.target).arch != find_device(side.target).arch]
        if side.symptoms is None or not others:
            continue
        elsewhere = {name for other in others for name in other.symptoms or ()}
        own = [name for name in dict.fromkeys(side.symptoms) if name not in elsewhere]
        if own:
            yield message("explain.symptoms_only", target=side.target, names=", ".join(own))

"""From a structure to the pass that made it, and to the few lines of IR that show it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agent.records import Structure
from agent.symptoms.base import Subject
from agent.symptoms.structure import LOOPS, device_functions, line_of
from indexer.ir.records import IrOp, Snapshot

# Pass managers nested in an adapter pass print their dumps before it, so what they change is its doing.
_NESTED = frozenset({"cse", "canonicalize"})
_NOISE = re.compile(
    r"(?:operandSegmentSizes = array<[^>]*>|resultSegmentSizes = array<[^>]*>|nontemporal = false"
    r"|broadcast = array<i64>|transpose = array<i64>|overflowFlags = #arith\.overflow<none>"
    r"|fastmath = #arith\.fastmath<none>|init_out_buffer = false|may_implicit_transpose_with_last_axis = false"
    r"|tcoretype = #hivm\.tcore_type<\w+>)(?:, )?"
)
_EXCERPT_OPS = 6
_EXCERPT_WIDTH = 240


@dataclass(frozen=True, slots=True)
class Origin:
    """The pass after which a structure is first there, None where the dumps do not show one."""

    pass_argument: str | None
    position: int | None


def origin(subject: Subject, seen_in: Snapshot, present: Callable[[Snapshot], bool]) -> Origin:
    """Walk back from `seen_in` to the first snapshot since which `present` holds without a break."""
    snapshots = subject.compilation.snapshots
    first = next(i for i, s in enumerate(snapshots) if s is seen_in or s.position == seen_in.position)
    while first > 0 and present(snapshots[first - 1]):
        first -= 1
    return Origin(_owner(snapshots, first), snapshots[first].position)


def origin_at(
    subject: Subject, seen_in: Snapshot, line: int | None, holds: Callable[[IrOp], bool], *, in_loop: bool = False
) -> Origin:
    """Find the pass since which an operation on the user's line satisfies `holds`, inside a loop if asked."""

    def present(snapshot: Snapshot) -> bool:
        return any(
            line_of(op) == line and holds(op) and (not in_loop or any(p.name in LOOPS for p in parents))
            for function in device_functions(snapshot)
            for op, parents in function.walk_with_parents()
        )

    return origin(subject, seen_in, present)


def _owner(snapshots: Sequence[Snapshot], index: int) -> str:
    """Return the pass that a change is credited to: of nested adapter passes the one that ran them."""
    found = snapshots[index]
    if found.compiler == "adapter" and found.pass_argument in _NESTED:
        later = (s for s in snapshots[index + 1 :] if s.compiler == "adapter" and s.pass_argument not in _NESTED)
        return next(later, found).pass_argument
    return found.pass_argument


def ran_without_effect(subject: Subject, pass_argument: str) -> Origin:
    """Name a pass whose doing nothing is the cause; its position where the stages list it."""
    stages = [s for s in subject.compilation.stages if s.name == pass_argument]
    return Origin(pass_argument, stages[-1].position if stages else None)


def structure(
    symptom: str,
    ops: Iterable[IrOp],
    made_by: Origin,
    stage: str = "hivm",
    *,
    line: int | None = None,
    weight: float = 1.0,
) -> Structure:
    """Build a structure from the operations that show it, at the place of the first one unless `line` is given."""
    shown = list(ops)
    at = line if line is not None else next((o.place.line for o in shown if o.place is not None), None)
    return Structure(
        symptom, at, tuple(dict.fromkeys(o.name for o in shown)), excerpt(shown), stage, made_by.pass_argument,
        made_by.position, weight,
    )  # fmt: skip


def excerpt(ops: Iterable[IrOp]) -> str:
    """Print a few operations, one a line, without the attributes that say nothing here."""
    return "\n".join(_printed(op) for op in list(ops)[:_EXCERPT_OPS])


def _printed(op: IrOp) -> str:
    text = _NOISE.sub("", op.text).replace(" <{}>", "").replace(", }>", "}>")
    flags = [name for name, value in op.attributes.items() if not value and name not in op.text]
    if flags:
        text += f" {{{', '.join(flags)}}}"
    return text if len(text) <= _EXCERPT_WIDTH else text[: _EXCERPT_WIDTH - 1] + "…"

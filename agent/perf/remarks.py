"""What weakens a prediction, said beside it: where the model is known to be off, and what had to be assumed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from agent.perf.constants import Constants
from agent.perf.events import Access, Event, Transfer, Vector
from agent.perf.launch import Followed
from agent.records import Cost
from agent.toolchain.targets import Target
from indexer.messages import Message, message

_NOTABLE = 0.05  # of the predicted time: what is less is not worth a remark
_LARGE_PITCH_BYTES = 128 << 10  # predictions were poor from row pitches of hundreds of KiB on
_BURST_BYTES = 32
_CUBE_ALIGN_BYTES = 512
# Vector operations for which no figure is published at all; a repeat of them is priced like an addition's.
_UNWEIGHTED = frozenset({
    "vgather", "vgathermask", "vtranspose", "vcumsum", "vcumprod", "vsort", "vinterleave", "vdeinterleave", "vflip",
    "vconcat", "vpow", "vsin", "vcos", "vtanh", "verf", "vmod", "vmulextended",
})  # fmt: skip


# The remarks that begin with "low confidence".
DOUBTS = frozenset({
    "low_confidence_950", "loop_on_data", "unknown_op", "unweighted_op", "scalar_gm", "atomic", "short_rows",
    "large_pitch", "unaligned_rows", "experience_doubt",
})  # fmt: skip


def tells_doubt(remarks: Sequence[Message]) -> bool:
    """Tell whether one of the remarks about a launch itself says that confidence is low."""
    return any(note.key.removeprefix("perf.") in DOUBTS for note in remarks)


def is_doubtful(cost: Cost) -> bool:
    """Tell whether a prediction says of itself that its confidence is low."""
    return tells_doubt(cost.remarks)


@dataclass(slots=True)
class _Found:
    """The lines and operations a remark is about, and the time they take."""

    lines: set[int] = field(default_factory=set)
    ops: set[str] = field(default_factory=set)
    time: float = 0.0

    def add_line(self, line: int | None) -> None:
        if line is not None:
            self.lines.add(line)


def collect_remarks(
    followed: Followed, target: Target, priced: Mapping[Event, float], constants: Constants, *, cold: bool
) -> tuple[Message, ...]:
    """Return the remarks; `priced` is the time of each event in the whole launch, in microseconds."""
    remarks = [message("perf.cold_l2" if cold else "perf.warm_l2")]
    if target.arch == "a5":
        remarks.append(message("perf.low_confidence_950", target=target.name))
    elif target.name != constants.fitted_on:
        remarks.append(message("perf.other_model", target=target.name, fitted_on=constants.fitted_on))
    if followed.unbound:
        remarks.append(message("perf.unbound", names=", ".join(followed.unbound)))
    return (*remarks, *_notes(followed), *_weak_spots(priced))


def _notes(followed: Followed) -> list[Message]:
    """Return what had to be assumed while programs were followed, one remark a kind."""
    found: dict[str, _Found] = defaultdict(_Found)
    for note in followed.notes:
        found[note.kind].add_line(note.line)
        found[note.kind].ops |= {note.op} - {""}
    return [_say(kind, found[kind]) for kind in sorted(found)]


def _weak_spots(priced: Mapping[Event, float]) -> list[Message]:
    found: dict[str, _Found] = defaultdict(_Found)
    for event, time in priced.items():
        for kind in _weaknesses(event):
            entry = found[kind]
            entry.time += time
            entry.add_line(event.line)
            entry.ops |= {event.op} if isinstance(event, Transfer | Vector) else set()
    least = _NOTABLE * sum(priced.values())
    return [_say(kind, found[kind]) for kind in sorted(found) if found[kind].time >= least]


def _weaknesses(event: Event) -> Iterable[str]:
    match event:
        case Access(space="gm"):
            yield "scalar_gm"
        case Vector() if event.op in _UNWEIGHTED:
            yield "unweighted_op"
        case Transfer():
            yield from _transfer_weaknesses(event)


def _transfer_weaknesses(event: Transfer) -> Iterable[str]:
    if event.atomic:
        yield "atomic"
    if event.pieces <= 1:
        return
    if event.run_bytes < _BURST_BYTES:
        yield "short_rows"
    if event.pitch_bytes is None:
        return
    if abs(event.pitch_bytes) >= _LARGE_PITCH_BYTES:
        yield "large_pitch"
    align = _CUBE_ALIGN_BYTES if event.op == "nd2nz" else _BURST_BYTES
    if event.run_bytes >= _BURST_BYTES and event.pitch_bytes % align:
        yield "unaligned_rows"


def _say(kind: str, found: _Found) -> Message:
    lines = ", ".join(str(line) for line in sorted(found.lines)) or "?"
    return message(f"perf.{kind}", lines=lines, ops=", ".join(sorted(found.ops)))

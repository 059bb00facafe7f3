"""How far predictions were off on published timings of kernels like one: by what it does, not by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from agent.perf.constants import load_experience
from agent.perf.events import Cube, Vector
from agent.perf.launch import Followed
from agent.records import Interval
from indexer.messages import Message, message

Kind = Literal["cube", "waves", "reduction", "streaming"]
KINDS: tuple[Kind, ...] = ("cube", "waves", "reduction", "streaming")
_UNEVEN = 0.1  # share of the time from which waiting for the busiest core makes a launch one of uneven waves
FAR = 0.25  # a prediction that is off by more is far off
_OFTEN = 0.2  # where more than this share of a kind was far off, its predictions are in doubt
_STRETCH = 2.0  # an interval in doubt is that much wider, on the scale of factors


def kind_of(followed: Followed, terms: Mapping[str, float], us: float) -> Kind:
    """Return what a launch is like: it multiplies, its cores work unequally long, it reduces, or it only passes by."""
    if followed.cube:
        return "cube" if any(isinstance(e, Cube) for block in followed.blocks for e, _ in block.cube) else "streaming"
    if terms.get("imbalance", 0.0) > _UNEVEN * us:
        return "waves"
    ops = {event.op for block in followed.blocks for event, _ in block.vector if isinstance(event, Vector)}
    return "reduction" if "vreduce" in ops else "streaming"


def say_experience(kind: Kind) -> Message:
    """Say how far off the model was on published timings of such kernels, each predicted without having seen it."""
    seen = load_experience(kind)
    key = "experience_doubt" if seen.far > _OFTEN * seen.n else "experience"
    return message(
        f"perf.{key}", n=seen.n, error=round(100 * seen.median_error), far=seen.far, percent=round(100 * FAR),
        worst=round(100 * seen.worst), kind=message(f"perf.kind_{kind}"),
    )  # fmt: skip


def interval_of(us: float, kind: Kind, *, in_doubt: bool) -> Interval:
    """Return where four fifths of the times lay that were predicted like this; twice as wide where there is doubt."""
    seen = load_experience(kind)
    stretch = _STRETCH if in_doubt else 1.0
    return Interval(us * min(seen.low, 1.0) ** stretch, us * max(seen.high, 1.0) ** stretch)

"""Measured profiles, and predicted time line by line, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.contract import CostDoc
from agent.contract_bench import TriedDoc
from agent.profile.documents import OccupancyDoc, PredictedProfileDoc, ProfilesDoc
from indexer.messages import message, render

if TYPE_CHECKING:
    from agent.report.terminal import Terminal

_WIDTH = 30  # of the longest bar
_PARTS = 24  # of a sketch
_LEVELS = " ▁▂▃▄▅▆▇█"
_LEAST = 0.005  # share of the cost; lines below it are left out


def show_profiles(terminal: Terminal, doc: ProfilesDoc | None) -> None:
    """Show each measured kernel with its limiter, and what could not be read."""
    for kernel in doc.kernels if doc is not None else []:
        limiter = message(f"ladder.limiter_{kernel.limiter}") if kernel.limiter else "-"
        us = "-" if kernel.cost is None else f"{kernel.cost.value:.2f}"
        name = kernel.kernel or "-"
        _say(terminal, "measured", kernel=name, tool=kernel.tool, us=us, limiter=limiter)
        busy = ", ".join(f"{term} {100 * share:.0f} %" for term, share in sorted(kernel.busy.items()))
        if busy:
            _say(terminal, "busy", busy=busy)
    for note in doc.notes if doc is not None else []:
        terminal.line(note, style="yellow", indent=2)


def show_lines(terminal: Terminal, cost: CostDoc | None, source: dict[int, str]) -> None:
    """Show the predicted time of each line as a bar beside its text, in the order of the file."""
    if cost is None or not cost.value:
        return
    most = max(cost.by_line.values(), default=0.0)
    for line, time in sorted(cost.by_line.items(), key=lambda item: int(item[0] or 0)):
        if time >= _LEAST * cost.value:
            bar = "█" * max(1, round(_WIDTH * time / most))
            text = source.get(int(line), "") if line else render(message("profile.no_line"), terminal.lang)
            terminal.line(f"{line or '-':>4} {time:9.2f} us {bar:<{_WIDTH}} {text}", indent=2)
    pipes = ", ".join(f"{pipe} {100 * share:.0f} %" for pipe, share in sorted(cost.pipes.items()) if share >= _LEAST)
    if pipes:
        _say(terminal, "pipes", pipes=pipes)
    if cost.profile is not None:
        show_predicted(terminal, cost.profile)


def show_predicted(terminal: Terminal, doc: PredictedProfileDoc) -> None:
    """Show what a predicted profile holds beside the time: bytes, roofline, memories over time, waiting of cores."""
    _say(
        terminal, "moved", moved=_size(doc.moved_bytes), useful=_size(doc.useful_bytes),
        share=round(100 * doc.useful_bytes / doc.moved_bytes) if doc.moved_bytes else 100,
    )  # fmt: skip
    if doc.roofline is not None:
        roof = doc.roofline
        _say(
            terminal, f"roofline_{roof.bound}", per_byte=f"{roof.operations_per_byte:.2f}", unit=roof.unit,
            achieved=_rate(roof.achieved_per_us), attainable=_rate(roof.attainable_per_us),
            peak=_rate(roof.peak_per_us), bandwidth=f"{roof.bytes_per_us / 1e6:.2f}",
        )  # fmt: skip
    for memory in doc.occupancy:
        _say(
            terminal, "occupancy", memory=memory.memory.upper(), peak=_size(memory.peak_bytes),
            limit=_size(memory.limit_bytes), line=memory.peak_line or "-", curve=_sketch(memory),
        )  # fmt: skip
    if doc.waits_us:
        _say(
            terminal, "waits", cube=f"{doc.waits_us.get('cube', 0.0):.2f}",
            vector=f"{doc.waits_us.get('vector', 0.0):.2f}",
        )  # fmt: skip


def _sketch(memory: OccupancyDoc) -> str:
    """Draw how full a memory is over the program, a sign for each part of its time, the fullest in it."""
    signs = []
    for part in range(_PARTS):
        low, high = part / _PARTS, (part + 1) / _PARTS
        before = [fill.bytes for fill in memory.curve if fill.at <= low]
        inside = [fill.bytes for fill in memory.curve if low < fill.at < high]
        most = max([*before[-1:], *inside], default=0)
        signs.append(_LEVELS[min(-(-most * (len(_LEVELS) - 1) // memory.limit_bytes), len(_LEVELS) - 1)])
    return "".join(signs)


def _size(count: int) -> str:
    return f"{count / 1024:.1f} KiB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MiB"


def _rate(per_us: float) -> str:
    """Give operations in a microsecond as billions in a second."""
    return f"{per_us / 1e3:.1f}"


def show_sweep(terminal: Terminal, docs: Sequence[TriedDoc]) -> None:
    """Show each configuration's cost, the cheapest first, and which would have to be measured."""
    for doc in sorted(docs, key=lambda d: (d.cost is None, 0.0 if d.cost is None else d.cost.value)):
        config = ", ".join(f"{name}={value}" for name, value in doc.config.items())
        if doc.cost is None:
            terminal.line(render(message(f"sweep.{doc.status}", config=config, note=doc.note), terminal.lang), "red")
            continue
        limiter = message(f"ladder.limiter_{doc.cost.limiter}")
        us, low, high = (f"{v:.2f}" for v in (doc.cost.value, doc.cost.interval.low, doc.cost.interval.high))
        key = "sweep.measure" if doc.measure else "sweep.row"
        shown = message(key, config=config, us=us, low=low, high=high, limiter=limiter)
        terminal.line(render(shown, terminal.lang), "bold" if doc.measure else "")


def _say(terminal: Terminal, key: str, **values: object) -> None:
    terminal.line(render(message(f"profile.{key}", **values), terminal.lang), indent=2)

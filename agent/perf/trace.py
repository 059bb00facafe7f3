"""A predicted timeline as Chrome trace events, which Perfetto and chrome://tracing show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from agent.perf.chip import missed_by_cores
from agent.perf.constants import load_constants
from agent.perf.playing import record_block
from agent.perf.predict import follow, time_launch
from agent.perf.timeline import PIPES, Span
from agent.records import Compilation
from agent.toolchain.targets import Target


def trace_launch(compilation: Compilation, target: Target, *, cold: bool = True) -> dict[str, Any]:
    """Return the trace of the slowest program that was followed; loops show their first iterations, then a gap.

    Raises `ValueError` for a rejected kernel.
    """
    constants = load_constants()
    followed = follow(compilation)
    timed = time_launch(followed, target, constants, cold=cold)
    slowest = max(timed.played, key=lambda program: program.us)
    block = next(b for b in followed.blocks if b.index == slowest.index)
    missed = missed_by_cores(timed.traffic, min(followed.programs, timed.cores), constants)
    events: list[dict[str, Any]] = []
    for pid, (core, spans) in enumerate(record_block(block, constants, missed).items()):
        if not spans:
            continue
        events.append(_name("process_name", pid, 0, f"{core} core, program {block.index} (predicted)"))
        used = {span.pipe for span in spans}
        events += [_name("thread_name", pid, tid, pipe) for tid, pipe in enumerate(PIPES) if pipe in used]
        for span in _cut(spans):
            events.append({
                "ph": "X", "pid": pid, "tid": PIPES.index(span.pipe), "ts": span.start, "dur": span.end - span.start,
                "name": getattr(span.event, "op", "") or type(span.event).__name__.lower(),
                "args": {"line": span.event.line},
            })  # fmt: skip
    other = {"basis": "predicted", "kernel": compilation.launch.kernel, "target": target.name}
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": other}


def _cut(spans: Sequence[Span]) -> Iterator[Span]:
    """End each span where the next on its pipe begins: of an iteration that counts in part, only that part is left."""
    following: dict[str, float] = {}
    for span in reversed(spans):
        end = min(span.end, following.get(span.pipe, span.end))
        following[span.pipe] = min(span.start, end)
        if end > span.start:
            yield replace(span, end=end)


def _name(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}

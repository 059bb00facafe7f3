"""Files of msopprof and msprof. Written from their documents; untested on a device.

Columns of PipeUtilization.csv and OpBasicInfo.csv:
https://www.hiascend.com/document/detail/en/canncommercial/850/devaids/optool/atlasopdev_16_0099.html
and of op_summary_*.csv:
https://www.hiascend.com/document/detail/en/canncommercial/850/devaids/profiling/atlasprofiling_16_0067.html
kernel_details.csv of the profiler in torch_npu has the same columns under shorter names.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.profile.limiter import name_limiter
from agent.profile.records import KernelProfile
from agent.profile.tables import Row, missing, number, read_rows
from indexer.messages import Message, message

# A unit's share of the total cycles, and what it counts as; `aic` is a cube core, `aiv` a vector core.
_RATIOS = {
    "aiv_vec_ratio": "vector", "aic_cube_ratio": "cube", "aic_mac_ratio": "cube", "aic_scalar_ratio": "scalar",
    "aiv_scalar_ratio": "scalar", "aic_mte2_ratio": "load", "aiv_mte2_ratio": "load", "aiv_mte3_ratio": "store",
    "aic_mte3_ratio": "store", "aic_fixpipe_ratio": "store", "aic_mte1_ratio": "load",
}  # fmt: skip
_CORE_TIMES = ("aic_time(us)", "aiv_time(us)", "aicore_time(us)")
_DURATION = ("task duration(us)", "task_duration(us)", "duration(us)")
_NAMES = ("op name", "name")  # of op_summary, of kernel_details
_PROGRAMS = ("block dim", "block num", "block_dim")
# Threads of trace.json, one a pipe.
_PIPES = {"mte1": "load", "mte2": "load", "mte3": "store", "fixp": "store", "fixpipe": "store", "vector": "vector",
          "vec": "vector", "cube": "cube", "scalar": "scalar"}  # fmt: skip
_PERCENT = 1.5  # a "ratio" above this is one in percent


@dataclass(slots=True)
class Reading:
    """What one file gave: profiles, and what was missing."""

    kernels: list[KernelProfile] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)


def read_pipe_utilization(path: Path) -> Reading:
    """Read one kernel from PipeUtilization.csv, a row a core, with its name and time from OpBasicInfo.csv beside it."""
    rows = read_rows(path)
    found = Reading()
    busy, cores = _average(rows), [t for row in rows for name in _CORE_TIMES[:2] if (t := number(row, name))]
    if not busy:
        found.notes.append(_no_columns(path, rows))
    if not cores:
        found.notes.append(message("profile.missing", path=path, columns=", ".join(missing(rows, _CORE_TIMES[:2]))))
    name, us, programs, files = _basics(path)
    if busy or cores:
        limiter = name_limiter(busy, cores, us)
        found.kernels.append(
            KernelProfile(name, "msopprof", (path, *files), us or max(cores, default=None), limiter, busy,
                          tuple(cores), programs)
        )  # fmt: skip
    return found


def _basics(path: Path) -> tuple[str, float | None, int | None, tuple[Path, ...]]:
    """Return name, duration and programs as OpBasicInfo.csv beside `path` gives them."""
    beside = path.with_name(path.name.replace("PipeUtilization", "OpBasicInfo"))
    rows = read_rows(beside) if beside.is_file() else []
    if not rows:
        return "", None, None, ()
    programs = number(rows[0], *_PROGRAMS)
    name = rows[0].get("op name", "") or rows[0].get("op_name", "")
    return name, number(rows[0], *_DURATION), None if programs is None else int(programs), (beside,)


def read_op_summary(path: Path) -> Reading:
    """Read one kernel a name from op_summary_*.csv or kernel_details.csv: of several runs the median one."""
    rows = read_rows(path)
    found = Reading()
    column = next((name for name in _NAMES if not missing(rows, [name])), "")
    if not column or all(number(row, *_DURATION) is None for row in rows):
        columns = ", ".join(missing(rows, [_NAMES[0], _DURATION[0]])) or _DURATION[0]
        found.notes.append(message("profile.unusable", path=path, columns=columns))
        return found
    by_name: dict[str, list[tuple[float, Row]]] = defaultdict(list)
    for row in rows:
        us = number(row, *_DURATION)
        if us is not None:
            by_name[row[column]].append((us, row))
    for name, runs in by_name.items():
        us, row = sorted(runs, key=lambda run: run[0])[(len(runs) - 1) // 2]
        busy = _average([row])
        cores = [time for column in _CORE_TIMES if (time := number(row, column))]
        programs = number(row, *_PROGRAMS)
        found.kernels.append(
            KernelProfile(name, "msprof", (path,), us, name_limiter(busy, [max(cores)] if cores else [], us), busy,
                          programs=None if programs is None else int(programs))
        )  # fmt: skip
    if not any(kernel.busy for kernel in found.kernels):
        found.notes.append(_no_columns(path, rows))
    return found


def read_trace(path: Path) -> Reading:
    """Read how long each pipe works from trace.json, in the Chrome format: events of a thread that bears its name."""
    events = _events(json.loads(path.read_text(encoding="utf-8")))
    names = {(e.get("pid"), e.get("tid")): str(e["args"]["name"]) for e in events if _names_thread(e)}
    times: dict[tuple[object, str], float] = defaultdict(float)
    spans: dict[object, list[tuple[float, float]]] = defaultdict(list)
    for event in events:
        thread = names.get((event.get("pid"), event.get("tid")), str(event.get("tid", "")))
        term = _PIPES.get(thread.strip().lower().removeprefix("pipe_"))
        if event.get("ph") == "X" and term is not None:
            start, length = float(event["ts"]), float(event["dur"])
            times[event.get("pid"), term] += length
            spans[event.get("pid")].append((start, start + length))
    if not times:
        return Reading(notes=[message("profile.no_pipes", path=path)])
    cores = {core: max(end for _, end in own) - min(start for start, _ in own) for core, own in spans.items()}
    total = sum(cores.values())
    busy: dict[str, float] = defaultdict(float)
    for (_, term), time in times.items():
        busy[term] += time / total if total else 0.0
    lengths = tuple(cores.values())
    return Reading([KernelProfile("", "msopprof", (path,), max(lengths), name_limiter(busy, lengths, None), dict(busy),
                                  lengths)])  # fmt: skip


def _events(document: Any) -> Sequence[Mapping[str, Any]]:
    """Return the events of a trace, which is a list of them or an object that holds one."""
    listed = document.get("traceEvents", []) if isinstance(document, dict) else document
    return [event for event in listed if isinstance(event, dict)] if isinstance(listed, list) else []


def _names_thread(event: Mapping[str, Any]) -> bool:
    return event.get("ph") == "M" and event.get("name") == "thread_name" and "name" in event.get("args", {})


def _average(rows: Sequence[Row]) -> dict[str, float]:
    """Return the share of each unit over all cores that have it; of two units of one term the busier counts."""
    busy: dict[str, float] = {}
    for column, term in _RATIOS.items():
        values = [value for row in rows if (value := number(row, column)) is not None]
        if values and any(values):
            share = statistics.mean(value for value in values if value)
            share = share / 100 if max(values) > _PERCENT else share
            busy[term] = max(busy.get(term, 0.0), share)
    return busy


def _no_columns(path: Path, rows: Sequence[Row]) -> Message:
    return message("profile.missing", path=path, columns=", ".join(missing(rows, _RATIOS)) or "-")

"""Takes a bundle's results back: nothing counts whose hash does not fit, and what counts is measured."""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agent.handoff.documents import DeviceChecksDoc, MeasuredDoc, MeasuredKernelDoc, TimeDoc
from agent.handoff.made import Made, read_made
from agent.measure.plan import PLAN, RESULTS, Kernel, Plan, file_digest, is_sealed, read_plan, read_results
from indexer.errors import BadInput

Record = dict[str, Any]


def take_bundle(folder: Path) -> tuple[MeasuredDoc, Made]:
    """Read the results of a bundle that was made here; raises `BadInput` for one that was not, or was changed."""
    plan = _read_plan(folder)
    made = read_made(plan.sha256)
    if made is None:
        raise BadInput("handoff.unknown", folder=folder)
    for file, sha256 in plan.files.items():
        path = folder / file
        if not path.is_file() or file_digest(path) != sha256:
            raise BadInput("handoff.changed", path=path)
    records = _records(folder, plan)
    return _document(folder, plan, records), made


def _read_plan(folder: Path) -> Plan:
    try:
        return read_plan(folder)
    except FileNotFoundError as error:
        raise BadInput("handoff.no_bundle", folder=folder) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput("handoff.changed", path=folder / PLAN) from error


def _records(folder: Path, plan: Plan) -> dict[str, Record]:
    """Return the last record of each job; every one of them must be as the device wrote it, and of this plan."""
    path = folder / RESULTS
    try:
        records = read_results(folder)
    except (ValueError, UnicodeDecodeError) as error:
        raise BadInput("handoff.changed", path=path) from error
    for record in records:
        if not isinstance(record, dict) or not is_sealed(record):
            raise BadInput("handoff.changed", path=path)
        if record["plan"] != plan.sha256:
            raise BadInput("handoff.other_plan", path=path)
        if any(plan.files.get(file) != sha256 for file, sha256 in record.get("files", {}).items()):
            raise BadInput("handoff.other_files", path=path, job=record["job"])
    if not records:
        raise BadInput("handoff.no_results", folder=folder)
    return {record["job"]: record for record in records}


def _document(folder: Path, plan: Plan, records: dict[str, Record]) -> MeasuredDoc:
    kernels = [_kernel(plan, kernel, records) for kernel in plan.kernels]
    with_machine = [r for r in records.values() if (r.get("result") or {}).get("machine")]
    latest = max(with_machine, key=lambda r: float(r["started"]), default={})
    gains = [k.speedup for k in kernels if k.speedup is not None]
    return MeasuredDoc(
        bundle=str(folder),
        plan=plan.sha256,
        target=plan.target,
        taken_at=_moment(time.time()),
        measured_at=_moment(float(latest.get("started", 0.0))),
        machine=(latest.get("result") or {}).get("machine", {}),
        state=(latest.get("result") or {}).get("state", {}),
        kernels=kernels,
        missing=[k.kernel for k in kernels if k.initial is None],
        geometric_mean=_mean(gains),
        median=statistics.median(gains) if gains else None,
        above_2x=_share(gains, 2.0),
        above_5x=_share(gains, 5.0),
        against_compiled=_mean(_ratios(kernels, "compiled")),
        against_library=_mean(_ratios(kernels, "library")),
        against_expert=_mean(_ratios(kernels, "expert")),
        same_twice=_median([abs(k.again.us / k.initial.us - 1) for k in kernels if k.again and k.initial]),
    )


def _kernel(plan: Plan, kernel: Kernel, records: dict[str, Record]) -> MeasuredKernelDoc:
    first, search = records.get(f"initial:{kernel.id}", {}), records.get(f"explore:{kernel.id}", {})
    found = search.get("result") or {}
    best = str(found.get("best") or "")
    last = records.get(f"best:{kernel.id}:{best}", {})
    offer = next((c for c in kernel.candidates if c.id == best), None)
    start, end = _time(first), _time(last) if offer is not None else None
    better = start is not None and end is not None and end.us < start.us
    others = records.get(f"yardsticks:{kernel.id}", {}).get("result") or {}
    checked = (last if better else first).get("result") or {}
    return MeasuredKernelDoc(
        kernel=kernel.id,
        sha256=plan.files[kernel.initial],
        initial=start,
        again=_time(records.get(f"again:{kernel.id}", {})),
        best=best if better else "",
        best_sha256=plan.files[offer.file] if better and offer is not None else "",
        best_note=offer.note if better and offer is not None else "",
        best_time=end if better else None,
        speedup=None if start is None else start.us / end.us if better and end is not None else 1.0,
        checks=DeviceChecksDoc(**checked["checks"]) if checked.get("checks") else None,
        **{name: _time({"result": others.get(name)}) for name in ("compiled", "library", "expert")},
        tried=int(found.get("tried", 0)),
        failed={str(k): str(v) for k, v in found.get("failed", {}).items()},
        reason=_reason(first, search, last, better=better),
    )


def _reason(first: Record, search: Record, last: Record, *, better: bool) -> str:
    """Say why a kernel has no better form: "" where it has."""
    if better:
        return ""
    for record in (first, search, last):
        if record and record["status"] != "ok":
            return f"{record['job']}: {record['status']}: {str(record.get('reason', ''))[-300:]}"
    if not first or not search:
        return "not measured within the time given"
    return "none of the candidates was faster"


def _time(record: Record) -> TimeDoc | None:
    timing = (record.get("result") or {}).get("timing")
    if not isinstance(timing, dict):
        return None
    return TimeDoc(**{name: timing[name] for name in TimeDoc.model_fields if name in timing})


def _ratios(kernels: Iterable[MeasuredKernelDoc], yardstick: str) -> list[float]:
    """Return how many times faster than the yardstick each kernel's best form is."""
    ratios = []
    for kernel in kernels:
        own, other = kernel.best_time or kernel.initial, getattr(kernel, yardstick)
        if own is not None and other is not None:
            ratios.append(other.us / own.us)
    return ratios


def _mean(values: list[float]) -> float | None:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def _share(values: list[float], above: float) -> float | None:
    return sum(value > above for value in values) / len(values) if values else None


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def write_measured(doc: MeasuredDoc, folder: Path) -> Path:
    """Write the results beside a run's journal; they stand for themselves and change no round."""
    from agent.journal import write_whole  # noqa: PLC0415 - it reads rounds, which the other uses do not need

    path = folder / "measured.json"
    write_whole(path, json.dumps(doc.to_json(), ensure_ascii=False, indent=1))
    return path

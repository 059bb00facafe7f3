"""The short table at the end of a run on the device."""

from __future__ import annotations

import math
from typing import Any

from .plan import Plan


def time_of(record: dict[str, Any] | None, *path: str) -> float | None:
    """Return the median of a timing inside a result, None where there is none."""
    value: Any = (record or {}).get("result") or {}
    for name in (*path, "timing", "us"):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, float) else None


def summary(plan: Plan, results: list[dict[str, Any]]) -> str:
    """Write one line a kernel: initial, best, torch.compile, library, expert, in microseconds; then the mean gain."""
    done = {r["job"]: r for r in results if r["plan"] == plan.sha256}
    lines = [
        f"{'kernel':26}{'initial':>10}{'best':>10}{'gain':>7}{'compiled':>10}{'library':>10}{'expert':>10}  best is"
    ]
    gains: list[float] = []
    for kernel in plan.kernels:
        first = done.get(f"initial:{kernel.id}")
        start = time_of(first)
        chosen = (done.get(f"explore:{kernel.id}", {}).get("result") or {}).get("best") or ""
        best = time_of(done.get(f"best:{kernel.id}:{chosen}"))
        note = next((c.note for c in kernel.candidates if c.id == chosen), "")
        others = done.get(f"yardsticks:{kernel.id}")
        if first is not None and first["status"] != "ok":
            note = f"{first['status']}: {first.get('reason', '')[-200:]}"
        gain = start / (best or start) if start else None
        gains += [] if gain is None else [gain]
        yardsticks = [time_of(others, name) for name in ("compiled", "library", "expert")]
        cells = [_shown(start), _shown(best), "-" if gain is None else f"{gain:.2f}", *map(_shown, yardsticks)]
        widths = (10, 10, 7, 10, 10, 10)
        shown = "".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True))
        lines.append(f"{kernel.id:26}{shown}  {note}")
    if gains:
        lines.append(f"geometric mean of the gains: {math.exp(sum(map(math.log, gains)) / len(gains)):.3f}")
    return "\n".join(lines)


def _shown(us: float | None) -> str:
    return "-" if us is None else f"{us:.1f}"

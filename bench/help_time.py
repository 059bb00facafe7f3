"""Time `tritonkb --help` from a new process, several times: `python bench/help_time.py [RUNS]`.

Prints one JSON document. The requirement is under 0.4 s; the least time is the one that a busy machine disturbs least.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

LIMIT_SECONDS = 0.4


def time_help(runs: int) -> list[float]:
    """Run `tritonkb --help` of this environment `runs` times; returns the seconds of each."""
    script = Path(sysconfig.get_path("scripts")) / "tritonkb"
    seconds = []
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run([script, "--help"], check=True, capture_output=True, timeout=60)
        seconds.append(time.perf_counter() - began)
    return seconds


if __name__ == "__main__":
    times = time_help(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
    figures = {"runs": len(times), "min_s": round(min(times), 3), "median_s": round(statistics.median(times), 3)}
    print(json.dumps({**figures, "limit_s": LIMIT_SECONDS, "ok": min(times) < LIMIT_SECONDS}))

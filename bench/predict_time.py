"""How long a prediction takes once a kernel is compiled, in seconds of CPU: each launch, and the slowest.

    python bench/predict_time.py FILE... [--target ascend910b3]

What is timed is all that `tritonkb bench` does after the compilers: following the programs, playing them on the
pipes, memories, roofline and remarks. A first prediction, which reads the constants, is made before.
"""

from __future__ import annotations

import argparse
import gc
import time
from pathlib import Path

from agent.perf.predict import predict
from agent.records import Entry
from agent.request import read_source
from agent.sandbox import SandboxPolicy
from agent.toolchain.targets import find_target
from agent.workbench import open_workbench
from indexer.errors import TritonkbError

ALLOWED_SECONDS = 1.0


def main() -> int:
    """Print a line a launch; exit 1 when one takes longer than a second."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--target", default="ascend910b3")
    given = parser.parse_args()
    target = find_target(given.target)
    times: list[tuple[float, str]] = []
    with open_workbench(target, SandboxPolicy()) as bench:
        for path in given.files:
            try:
                lowering = bench.lower(read_source(path, Entry()))
            except TritonkbError as error:
                print(f"{path.stem}: {error}")
                continue
            for item in lowering.launches:
                if item.cost is not None:
                    gc.collect()
                    start = time.process_time()
                    predict(item.compilation, target)
                    times.append((time.process_time() - start, f"{path.stem} {item.launch.kernel}"))
                    print(f"{times[-1][0]:6.3f} s  {times[-1][1]}")
    slowest = max(times, default=(0.0, "-"))
    print(f"{len(times)} launches, the slowest {slowest[0]:.3f} s ({slowest[1]})")
    return int(slowest[0] > ALLOWED_SECONDS)


if __name__ == "__main__":
    raise SystemExit(main())

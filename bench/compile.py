"""How long one kernel takes from TTIR to blame, warm: `python bench/compile.py [FILE.ttir ...]`.

Goal for a vector kernel: under 1.5 s on ascend910b3, under 3 s on ascend950, parsing and blame included.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from agent.records import Launch
from agent.toolchain.ascend import compile_ttir
from agent.toolchain.install import find_ascend
from agent.toolchain.targets import find_target
from indexer.ir.blame import trace

KERNELS = Path(__file__).parents[1] / "tests" / "kernels" / "lowering"
DEFAULT = ("take", "strided_softmax", "matmul_epilogue")
ROUNDS = 5
GOALS = {"ascend910b3": 1.5, "ascend950": 3.0}


def measure(path: Path, target: str) -> tuple[float, float]:
    """Return the median seconds of compiling and of blame, after one unmeasured run."""
    source = path.with_suffix(".py")
    launch = Launch(path.stem, source, 1, {}, {}, (1, 1, 1))
    spent: list[tuple[float, float]] = []
    for _ in range(ROUNDS + 1):
        started = time.perf_counter()
        made = compile_ttir(find_ascend(), path.read_text(), launch, find_target(target), source.name, None)
        compiled = time.perf_counter()
        if made.hivm is not None:
            trace(made.snapshots, made.hivm)
        spent.append((compiled - started, time.perf_counter() - compiled))
    return statistics.median(c for c, _ in spent[1:]), statistics.median(b for _, b in spent[1:])


def main() -> int:
    """Print one line a kernel and target."""
    paths = [Path(a) for a in sys.argv[1:]] or [KERNELS / f"{name}.ttir" for name in DEFAULT]
    for path in paths:
        for target, goal in GOALS.items():
            compiled, blamed = measure(path, target)
            verdict = "met" if compiled + blamed < goal else "MISSED"
            print(f"{path.stem:20} {target:12} compile {compiled:.2f} s  blame {blamed:.3f} s  goal {goal} s {verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

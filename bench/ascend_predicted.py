"""Optimise the suite for Ascend targets by prediction, and write docs/results-ascend-predicted.md.

`python bench/ascend_predicted.py run ascend910b3 ascend950` adds a line a kernel and target to
bench/results/ascend-predicted.jsonl (what is there is not done again); `… write` makes the document of it.

The sizes are smaller than on a GPU, where the suite is sized for its bandwidth: every rewrite is checked by running the
compiled kernel on a CPU. The largest extent is halved until the extents' product is at most 2**22, or 2**26 where they
are those of a matrix product.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SUITE, RESULTS = HERE / "suite", HERE / "results" / "ascend-predicted.jsonl"
DOCUMENT = HERE.parent / "docs" / "results-ascend-predicted.md"
MOST, MOST_OF_PRODUCT = 1 << 22, 1 << 26
# Where the product of the extents says little of the work.
SHAPES = {
    "attention_forward": (8, 512, 64),
    "embedding": (4096, 8192, 512),
    "embedding_bag": (4096, 32, 8192, 64),
    "scatter_add_rows": (4096, 1024, 512),
}
ROUNDS = 6
KERNEL_SECONDS = 300
HEAD = f"""\
Written by `python bench/ascend_predicted.py write`; basis of every number: **predicted** (no device was used; how far
predictions are off: [cost.md](cost.md)). Rewrites are by rules alone, at most {ROUNDS} rounds, each checked by running
the compiled kernel on a CPU. Sizes are smaller than in [results-cuda.md](results-cuda.md) and stand in the table."""


def main() -> None:
    """Run or write, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("targets", nargs="+")
    running.add_argument("--seconds", type=float, default=math.inf, help="start no kernel after this time")
    running.add_argument("--only", default="", help="kernels, separated by commas")
    commands.add_parser("write")
    options = parser.parse_args()
    if options.command == "write":
        DOCUMENT.write_text(write_document(read_rows()), encoding="utf-8")
        return
    deadline = time.monotonic() + options.seconds
    only = set(filter(None, options.only.split(",")))
    done = {(row["kernel"], row["target"]) for row in read_rows()}
    wanted = [path for path in sorted(SUITE.glob("*.py")) if not only or path.stem in only]
    for path in wanted:
        for target in options.targets:
            if (path.stem, target) not in done and time.monotonic() < deadline:
                row = optimise(path, target)
                with RESULTS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                print(row["kernel"], target, row["status"], row["speedup"])


def optimise(path: Path, target: str) -> dict[str, Any]:
    """Optimise one kernel at its smaller size in a process of its own."""
    row: dict[str, Any] = {"kernel": path.stem, "target": target, "speedup": None, "rewrites": []}
    with tempfile.TemporaryDirectory() as folder:
        smaller = Path(folder) / path.name
        text, shape = with_smaller_shape(path.read_text(encoding="utf-8"), SHAPES.get(path.stem))
        smaller.write_text(text, encoding="utf-8")
        command = [
            sys.executable, "-c", "from agent.cli.main import main; main()", "optimize", str(smaller),
            "--target", target, "--rounds", str(ROUNDS), "--out", str(Path(folder) / "run"), "--json",
        ]  # fmt: skip
        try:
            ended = subprocess.run(
                command, capture_output=True, text=True, timeout=KERNEL_SECONDS, check=False, cwd=HERE.parent
            )
        except subprocess.TimeoutExpired:
            return {**row, "shape": shape, "status": "timed out"}
    return {**row, "shape": shape, **read_answer(ended.stdout, ended.stderr)}


def read_answer(stdout: str, stderr: str) -> dict[str, Any]:
    """Return what the document of `tritonkb optimize` says."""
    try:
        doc = json.loads(stdout)
    except json.JSONDecodeError:
        return {"status": "failed", "reason": stderr.strip()[-300:]}
    if "error" in doc:
        return {"status": "failed", "reason": doc["error"]["message"]}
    first, best = doc["baseline"]["cost"], doc["best"]["cost"]
    said = [d["message"] for d in doc["baseline"].get("diagnostics", []) if d["severity"] == "error"]
    kept = [r["rewrite"]["name"] for r in doc["rounds"] if r["verdict"] == "kept" and r["rewrite"]]
    return {
        "status": "ok" if first else "repaired" if best else "rejected",
        "baseline_us": first and first["value"],
        "best_us": best and best["value"],
        "limiter": first and first["limiter"],
        "speedup": doc["best"]["speedup"],
        "rewrites": kept,
        "verdicts": [r["verdict"] for r in doc["rounds"]],
        "stopped": doc["stopped"],
        "reason": said[0][:200] if said else "",
    }


def with_smaller_shape(text: str, known: tuple[int, ...] | None) -> tuple[str, list[int]]:
    """Return the file with a smaller first shape, the known one or one of halved extents, and that shape."""
    node = next(s for s in ast.parse(text).body if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == "SHAPES")
    shapes = eval(compile(ast.Expression(node.value), "SHAPES", "eval"), {})  # noqa: S307 - arithmetic of our own files
    shape = list(known or shapes[0])
    most = MOST_OF_PRODUCT if "tl.dot" in text and "K: tl.constexpr" in text else MOST
    while known is None and math.prod(shape) > most:
        shape[shape.index(max(shape))] //= 2
    lines = text.splitlines()
    lines[node.lineno - 1 : node.end_lineno] = [f"SHAPES = {[tuple(shape), *shapes[1:]]!r}"]
    return "\n".join(lines) + "\n", shape


def read_rows() -> list[dict[str, Any]]:
    """Return the rows so far."""
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]


def write_document(rows: list[dict[str, Any]]) -> str:
    """Return the document: a summary and a table a target."""
    lines = ["# Predicted on Ascend", "", HEAD, ""]
    for target in dict.fromkeys(row["target"] for row in rows):
        lines += [f"## {target}", "", *_totals([r for r in rows if r["target"] == target]), ""]
        lines += [
            "| kernel | shape | initial us | best us | gain | kept | why not more |",
            "|---|---|---:|---:|---:|---|---|",
        ]
        lines += [_line(row) for row in rows if row["target"] == target]
        lines.append("")
    return "\n".join(lines)


def _totals(rows: list[dict[str, Any]]) -> Iterator[str]:
    gains = [float(r["speedup"]) for r in rows if r["speedup"]]
    refused = [r["kernel"] for r in rows if r["status"] == "rejected"]
    yield f"- {len(rows)} kernels, {len(gains)} with a predicted cost before and after."
    if gains:
        mean = math.exp(sum(map(math.log, gains)) / len(gains))
        above = [sum(g > limit for g in gains) / len(gains) for limit in (2, 5)]
        middle = statistics.median(gains)
        yield f"- Geometric mean {mean:.2f}x, median {middle:.2f}x, above 2x {above[0]:.0%}, above 5x {above[1]:.0%}."
    yield f"- Refused by the compiler: {', '.join(f'`{name}`' for name in refused) or 'none'}."


def _line(row: dict[str, Any]) -> str:
    gain = "-" if not row["speedup"] else f"{row['speedup']:.2f}"
    times = [f"{row[name]:.1f}" if row.get(name) else "-" for name in ("baseline_us", "best_us")]
    why = row.get("reason") or row.get("stopped") or row["status"]
    kept = ", ".join(row["rewrites"]) or "-"
    shape = "x".join(map(str, row["shape"]))
    return f"| {row['kernel']} | {shape} | {' | '.join(times)} | {gain} | {kept} | {why.replace('|', '/')[:120]} |"


if __name__ == "__main__":
    main()

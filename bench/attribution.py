"""What attribution costs and how well it does: `python bench/attribution.py [--store DIR] [--only PART] [NAME ...]`.

Parts: `times` (diagnose of a vector kernel and of a long one, warm, with and without counterfactuals; peak memory; the
share that reading IR takes), `table` (every pair's slow kernel on both compilers: does the symptom hold, which pass,
what its counterfactual shows, how much of the final IR is traced; writes docs/symptoms.md), `score` (the pairs, as
`tritonkb eval attribution` does). Goals are those of two cores with nothing else running; CPU seconds are beside.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.counterfactual import judge
from agent.diagnose import diagnose, subjects_of
from agent.evaluate import Truth, read_truth, score_pairs
from agent.evaluate_run import open_diagnoser
from agent.knowledge import open_library
from agent.records import Counterfactual, KernelSource, Structure
from agent.sandbox import SandboxPolicy
from agent.symptoms.base import Subject, Variant
from agent.symptoms.table import SYMPTOMS
from agent.toolchain import collect
from agent.toolchain.targets import find_target
from agent.workbench import Change, Workbench, open_workbench
from indexer.errors import BadInput, StoreError
from indexer.ir.resolution import Resolution, resolve
from indexer.messages import Lang, message, render
from retriever.search import Index

ROOT = Path(__file__).parents[1]
TARGETS = {"ascend910b3": "A2/A3", "ascend950": "950"}
BY_ID = {s.id: s for s in SYMPTOMS}
ROUNDS = 5
LOADS, LINES_A_LOAD = 40, 21

GOALS = {
    "vector kernel, no counterfactuals": 2.5,
    "vector kernel": 6.0,
    f"{LOADS} loads, 900 lines": 20.0,
}
MOST_MIB, MOST_READING = 1024, 0.20


def main() -> None:
    """Print the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--pairs", type=Path, default=ROOT / "tests" / "pairs")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "symptoms.md")
    parser.add_argument("--only", choices=["times", "table", "score"])
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    index = open_index(given.store)
    if given.only in {None, "times"}:
        show_times(index)
    if given.only in {None, "table"}:
        found = {target: list(walk(given.pairs, target, given.names)) for target in TARGETS}
        if not given.names:
            given.out.write_text(table(found), encoding="utf-8")
        show_shares(found)
    if given.only in {None, "score"}:
        show_score(given.pairs, index)


def open_index(store: Path | None) -> Index | None:
    """Open the index, None where there is none."""
    try:
        return open_library(store).index
    except StoreError as error:
        print(render(error.note, "en"))
        return None


# --- times --------------------------------------------------------------------------------------------------------


def long_kernel() -> str:
    """Write a kernel of 40 loads and 900 lines, each load followed by arithmetic of its own."""
    body = ["import triton", "import triton.language as tl", "", "", "@triton.jit"]
    body.append(f"def long({', '.join(f'x{i}_ptr' for i in range(LOADS))}, o_ptr, BLOCK: tl.constexpr):")
    body += ["    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", "    total = tl.zeros((BLOCK,), tl.float32)"]
    for i in range(LOADS):
        body.append(f"    v = tl.load(x{i}_ptr + at)")
        body += [f"    v = v * {1 + j / 64} + {i / 32}" for j in range(LINES_A_LOAD - 1)]
        body.append("    total += tl.abs(v)")
    body += ["    tl.store(o_ptr + at, total)", "", "", "KERNEL = long"]
    types = {**{f"x{i}_ptr": "*fp32" for i in range(LOADS)}, "o_ptr": "*fp32"}
    return "\n".join([*body, f"SIG = {types}", 'CONSTS = {"BLOCK": 512}', "GRID = (8,)", ""])


def show_times(index: Index | None) -> None:
    """Print the medians of warm diagnoses against their goals."""
    vector = ROOT / "tests" / "pairs" / "mask_fill_slow.py"
    short = KernelSource(vector, vector.read_text(encoding="utf-8"))
    long = KernelSource(Path("long.py"), long_kernel())
    with open_workbench(find_target("ascend910b3"), SandboxPolicy()) as bench:
        bench.lower(short)
        runs = [(short, 0, ROUNDS), (short, None, ROUNDS), (long, None, 1)]
        for (name, goal), (source, most, rounds) in zip(GOALS.items(), runs, strict=True):
            spent = sorted(timed(bench, source, index, most) for _ in range(rounds))[rounds // 2]
            verdict = "met" if spent.wall < goal else "MISSED"
            reading = "met" if spent.reading <= MOST_READING else "MISSED"
            print(
                f"{name:36} {spent.wall:5.2f} s wall, {spent.cpu:5.2f} s CPU, goal {goal} s {verdict}; "
                f"reading IR {spent.reading:.0%}, goal {MOST_READING:.0%} {reading}"
            )
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) // 1024
    print(f"peak memory of one process {peak} MiB, goal {MOST_MIB} MiB {'met' if peak < MOST_MIB else 'MISSED'}")


@dataclass(frozen=True, slots=True, order=True)
class Spent:
    """One diagnosis: wall and CPU seconds (compilers included), and the share of CPU time that reading IR took."""

    wall: float
    cpu: float
    reading: float


def timed(bench: Workbench, source: KernelSource, index: Index | None, most: int | None) -> Spent:
    """Diagnose once, as a source that the workbench has not lowered; reading is measured in the thread that does it."""
    source = KernelSource(source.path, f"{source.text}\n# {time.monotonic_ns()}\n", source.entry)
    reading = Stopwatch(collect.compose)
    collect.compose = reading  # type: ignore[assignment]  # the one place that reads dumps
    try:
        began, cpu = time.perf_counter(), cpu_seconds()
        diagnose(bench, source, index, "en", most=most)
        wall = time.perf_counter() - began
        return Spent(wall, cpu_seconds() - cpu, reading.seconds / (cpu_seconds() - cpu))
    finally:
        collect.compose = reading.inner


class Stopwatch:
    """Adds up the CPU seconds that a generator function takes."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.seconds = 0.0

    def __call__(self, *arguments: Any) -> Iterator[Any]:
        """Run the function to its end."""
        began = time.thread_time()
        made = list(self.inner(*arguments))
        self.seconds += time.thread_time() - began
        return iter(made)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its ended children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


# --- the table ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """A pair's slow kernel on one compiler: the structure and the verdict (None: it does not hold), what is traced."""

    truth: Truth
    found: Structure | None
    verdict: Counterfactual | None
    status: str
    resolution: Resolution | None


def walk(folder: Path, target: str, names: list[str]) -> Iterator[Row]:
    """Look for each pair's own symptom in its slow kernel and judge it."""
    with open_workbench(find_target(target), SandboxPolicy()) as bench:
        for truth in read_truth(folder):
            if not names or truth.name in names:
                row = look(bench, folder / f"{truth.name}_slow.py", truth)
                said = "not there" if row.verdict is None else row.verdict.verdict
                print(f"{target:12} {truth.name:20} {said}", flush=True)
                yield row


def look(bench: Workbench, path: Path, truth: Truth) -> Row:
    """Detect and judge one symptom."""
    source = KernelSource(path, path.read_text(encoding="utf-8"))
    symptom = BY_ID[truth.symptom]
    subject = next(iter(subjects_of(bench.lower(source))))
    made = subject.compilation
    traced = resolve(made.snapshots, made.hivm) if made.hivm is not None else None
    found = symptom.detect(subject) if bench.target.arch in symptom.archs else []
    if not found:
        return Row(truth, None, None, made.status, traced)
    verdict = judge(subject, found[0], symptom, lowering_of(bench, source))
    return Row(truth, found[0], verdict, made.status, traced)


def lowering_of(bench: Workbench, source: KernelSource) -> Callable[[Variant], Subject | None]:
    """Give the function that lowers a variant of a source of one launch."""

    def lower(variant: Variant) -> Subject | None:
        text = source.text if variant.source is None else variant.source
        changed = KernelSource(source.path, text, source.entry)
        try:
            lowered = bench.lower(changed, Change(variant.options, variant.compiler_flags))
        except BadInput:
            return None
        return next(iter(subjects_of(lowered)))

    return lower


HEAD = """# Symptoms

Made by `python bench/attribution.py --only table`; the kernels are in `tests/pairs/`. For each symptom, what becomes of
its slow kernel on the two compilers: the pass that makes the structure, and what lowering the kernel again with one
change shows. *Confirmed*: the structure goes. *Open*: no such change can be tried, and why. `-`: the structure is not
there on that compiler.

{sums}

| symptom | what it is | 现象 | A2/A3: pass | A2/A3: change | 950: pass | 950: change |
|---|---|---|---|---|---|---|
"""


def table(found: dict[str, list[Row]]) -> str:
    """Write the table, one row a pair."""
    sums = " ".join(f"{TARGETS[target]}: {sum_up(rows)}." for target, rows in found.items())
    lines = [line(rows) for rows in zip(*found.values(), strict=True)]
    return HEAD.format(sums=sums) + "".join(lines)


def sum_up(rows: list[Row]) -> str:
    """Count the verdicts."""
    verdicts = [row.verdict.verdict for row in rows if row.verdict is not None]
    return (
        f"{len(verdicts)} of {len(rows)} hold, {verdicts.count('confirmed')} confirmed, {verdicts.count('open')} open"
    )


def line(rows: tuple[Row, ...]) -> str:
    """Write one row of the table."""
    name = rows[0].truth.symptom
    cells = [f"[`{name}`](../corpora/notes/{name}.md)", *(title(name, lang) for lang in ("en", "zh"))]
    for row in rows:
        made_by = row.found.pass_argument if row.found is not None else None
        cells += (
            ["-", "-"] if row.verdict is None else [f"`{made_by}`" if made_by else "the source", shown(row.verdict)]
        )
    return f"| {' | '.join(cells)} |\n"


def title(name: str, lang: Lang) -> str:
    """Return a symptom's title as a table can hold it."""
    return render(message(f"symptoms.{name}_title"), lang).replace("|", "\\|")


def shown(verdict: Counterfactual) -> str:
    """Write a verdict with its change, the line's number and the code left out."""
    change = render(verdict.change, "en").partition(": ")[2] or render(verdict.change, "en")
    return f"{verdict.verdict}: {change.partition(' (')[0]}".replace("|", "\\|")


def show_shares(found: dict[str, list[Row]]) -> None:
    """Print how much of the final IR is traced, over all slow kernels of a target."""
    for target, rows in found.items():
        traced = [row.resolution for row in rows if row.resolution is not None]
        own, carried, lost = (sum(getattr(r, part) for r in traced) for part in ("own", "carried", "lost"))
        made = sum(m.count for r in traced for m in r.made)
        print(
            f"{TARGETS[target]}: {sum_up(rows)}; of {own + carried + lost} operations of the user's "
            f"{(own + carried) / (own + carried + lost):.1%} resolve ({own / (own + carried + lost):.1%} by their own "
            f"location), {made} more are the compiler's own; least {min(r.resolved_share for r in traced):.1%}"
        )


# --- the score ----------------------------------------------------------------------------------------------------


def show_score(folder: Path, index: Index | None) -> None:
    """Print what `tritonkb eval attribution` says of a folder of pairs."""
    marks = index.manifest.corpora if index is not None else ()
    with tempfile.TemporaryDirectory(), open_diagnoser(SandboxPolicy(), index) as diagnoser:
        score = score_pairs(folder, diagnoser, marks, lambda case: print(case.truth.name, case.symptom, flush=True))
    print(
        f"{len(score.cases)} pairs: symptom {score.symptom_accuracy}, line {score.line_accuracy}, "
        f"pass {score.pass_accuracy}, evidence {score.evidence_recall}, false alarms {score.false_alarms}"
    )


if __name__ == "__main__":
    main()

"""What the rules alone make of slow kernels: `python bench/rewrites.py [--rounds N] FOLDER [NAME ...]`.

Runs `optimize` without a model over the `NAME_slow.py` of a folder, all at one warm worker, and prints for each kernel
what was kept, whether the IR of the best still shows the kernel's own symptom (that of `truth.json`, else the one its
file is named after), how it was checked and the predicted ratio. A kernel counts when a rewrite was kept and the
symptom is gone. Nothing here was run on a device.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.contract import OptimizeDoc
from agent.diagnose import subjects_of
from agent.evaluate import read_truth
from agent.optimizing import open_optimizer
from agent.records import KernelSource
from agent.request import Goal, Run, RunEvent, Site
from agent.sandbox import SandboxPolicy
from agent.symptoms.table import SYMPTOMS
from agent.toolchain.targets import find_target
from agent.workbench import Workbench, open_workbench

AIM, LEAST = 0.80, 0.65
# Of the model-driven optimiser that this is compared with, measured on a GPU over kernels of its own.
REFERENCE_MEAN, REFERENCE_MEDIAN = 4.35, 2.73
BY_ID = {symptom.id: symptom for symptom in SYMPTOMS}


@dataclass(frozen=True, slots=True)
class Case:
    """What became of one slow kernel; `shown` counts the places of its symptom in the best kernel's IR."""

    name: str
    symptom: str
    doc: OptimizeDoc
    shown: int

    @property
    def solved(self) -> bool:
        """Return whether a rewrite was kept and the symptom is gone."""
        return self.doc.best.round > 0 and self.shown == 0


def main() -> None:
    """Optimise the kernels and print one line each, then the sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--target", default="ascend910b3")
    given = parser.parse_args()
    cases: list[Case] = []
    for case in run(given.folder, given.names, given.target, Goal(given.rounds)):
        print(line(case), flush=True)
        cases.append(case)
    print(summary(cases))


def run(folder: Path, names: list[str], target: str, goal: Goal) -> Iterator[Case]:
    """Optimise each kernel in turn."""
    truth = {t.name: t.symptom for t in read_truth(folder)} if (folder / "truth.json").exists() else {}
    site = Site(target, SandboxPolicy(), None, "en")
    with (
        open_optimizer(site, cites=False) as optimize,
        open_workbench(find_target(target), SandboxPolicy()) as bench,
        tempfile.TemporaryDirectory() as scratch,
    ):
        for path in sorted(folder.glob("*_slow.py")):
            name = path.name.removesuffix("_slow.py")
            if not names or name in names:
                source = KernelSource(path, path.read_text(encoding="utf-8"))
                doc = optimize(Run(source, goal, Path(scratch) / name), ignore)
                symptom = truth.get(name, name)
                yield Case(name, symptom, doc, shown(bench, source, Path(doc.best.file), symptom))


def ignore(_event: RunEvent) -> None:
    """Take no notice of a run's events."""


def shown(bench: Workbench, source: KernelSource, best: Path, symptom: str) -> int:
    """Count the places where the best kernel's IR shows the symptom."""
    lowering = bench.lower(KernelSource(source.path, best.read_text(encoding="utf-8")))
    return sum(len(BY_ID[symptom].detect(subject)) for subject in subjects_of(lowering))


def line(case: Case) -> str:
    """Write one kernel's line; of a kernel without a kept rewrite, what was tried and what is advised."""
    doc = case.doc
    kept = [r for r in doc.rounds if r.verdict == "kept"]
    tried = ", ".join(f"{r.rewrite.name}: {r.verdict}" for r in doc.rounds if r.rewrite is not None and r not in kept)
    names = " + ".join(r.rewrite.name for r in kept if r.rewrite is not None) or "nothing kept"
    ratio = f"{doc.best.speedup:6.2f}x" if doc.best.speedup is not None else "     - "
    level = kept[-1].checks.level if kept and kept[-1].checks is not None else "-"
    mark = "ok " if case.solved else "   "
    still = "" if case.shown == 0 else f", still {case.shown} x {case.symptom}"
    return f"{mark}{case.name:20} {ratio} {level:12} {names}{still}" + (f" (tried {tried})" if tried else "")


def summary(cases: list[Case]) -> str:
    """Write the share, the wrong ones and the predicted gain."""
    solved = sum(case.solved for case in cases)
    share = solved / len(cases) if cases else 0.0
    ratios = [c.doc.best.speedup for c in cases if c.doc.best.round and c.doc.best.speedup is not None]
    wrong = [
        f"{c.name}/{r.rewrite.name if r.rewrite is not None else '-'}"
        for c in cases
        for r in c.doc.rounds
        if r.verdict == "wrong"
    ]
    verdict = "aim met" if share >= AIM else "least met" if share >= LEAST else "MISSED"
    gain = (
        f"predicted: geometric mean {statistics.geometric_mean(ratios):.2f}x, median {statistics.median(ratios):.2f}x "
        f"over {len(ratios)} kernels with a kept rewrite"
        if ratios
        else "no kept rewrite with a predicted ratio"
    )
    return (
        f"{solved} of {len(cases)} kernels ({share:.0%}) have a kept rewrite and no longer show their symptom; aim "
        f"{AIM:.0%}, least {LEAST:.0%}: {verdict}\n{gain} (the reference result: {REFERENCE_MEAN} and "
        f"{REFERENCE_MEDIAN}, measured on a GPU with a model: another basis)\n"
        f"offered and found wrong, so not kept: {', '.join(wrong) or 'none'}"
    )


if __name__ == "__main__":
    main()

"""Predicted costs of slow and fast kernels: is the slow one slower, and by what the symptom is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.diagnose import subjects_of
from agent.evaluate import Truth, read_truth
from agent.records import Cost, Entry, Lowering
from agent.request import read_source
from agent.sandbox import SandboxPolicy
from agent.symptoms.base import Symptom
from agent.symptoms.table import SYMPTOMS
from agent.toolchain.targets import Arch, Target
from agent.workbench import open_workbench
from indexer.errors import SandboxError
from indexer.messages import Message, message

TIE = 1e-3  # costs that differ by no more than this share are equal, which counts as wrong


@dataclass(frozen=True, slots=True)
class Direction:
    """A pair by prediction: costs (None: rejected), the slow one's limiter, and the term that grows most from fast.

    `made`: the target's compiler makes the structure of the symptom in the slow kernel; where it does not, the
    catalogue says nothing of this target. `error` is what stopped one of the kernels.
    """

    truth: Truth
    slow: Cost | None
    fast: Cost | None
    made: bool
    error: Message | None = None

    @property
    def symptom(self) -> Symptom | None:
        """Return the pair's symptom, None for one that is not in the table."""
        return next((symptom for symptom in SYMPTOMS if symptom.id == self.truth.symptom), None)

    @property
    def fitting(self) -> frozenset[str]:
        """Return the terms by which a slow kernel with the symptom may exceed its fast form."""
        return self.symptom.limiters if self.symptom is not None else frozenset()

    @property
    def right(self) -> bool:
        """Return whether the slow kernel is predicted slower, or is refused where the fast one is not."""
        if self.fast is None or self.error is not None:
            return False
        return self.slow is None or self.slow.value > self.fast.value * (1 + TIE)

    @property
    def grows(self) -> str:
        """Return the term by which the slow kernel exceeds the fast one most, "" without two costs."""
        if self.slow is None or self.fast is None:
            return ""
        more = {term: time - self.fast.terms.get(term, 0.0) for term, time in self.slow.terms.items()}
        return max(more, key=lambda term: more[term])

    @property
    def fits(self) -> bool:
        """Return whether that term is one that the symptom is about; a refused kernel has no limiter to be wrong."""
        return self.right and (not self.grows or self.grows in self.fitting)

    @property
    def reason(self) -> Message | None:
        """Return why a pair is not predicted in the catalogue's direction; None where it is."""
        if self.fits:
            return None
        if self.error is not None:
            return self.error
        if self.fast is None:
            return message("eval.pair_rejected")
        if not self.made:
            return message("eval.pair_no_structure")
        if self.right:
            return message("eval.pair_other_limiter", grows=message(f"ladder.limiter_{self.grows}"))
        key = f"pair_{self.truth.symptom}" if self.symptom is not None and self.symptom.is_moved else "pair_unexplained"
        return message(f"eval.{key}")


def predict_pairs(
    folders: Sequence[Path], target: Target, policy: SandboxPolicy, on_pair: Callable[[Direction], None]
) -> Iterator[Direction]:
    """Lower both kernels of each pair for one target; raises `BadInput` for a folder without pairs."""
    truths = [(folder, truth) for folder in folders for truth in read_truth(folder)]
    with open_workbench(target, policy) as bench:

        def lower(folder: Path, name: str) -> Lowering:
            return bench.lower(read_source(folder / f"{name}.py", Entry()))

        for folder, truth in truths:
            try:
                slow, fast = (lower(folder, f"{truth.name}_{side}") for side in ("slow", "fast"))
                made = fast.cost is not None and has_structure(slow, truth.symptom, target.arch)
                found = Direction(truth, slow.cost, fast.cost, made)
            except SandboxError as error:
                found = Direction(truth, None, None, made=False, error=error.note)
            on_pair(found)
            yield found


def has_structure(lowering: Lowering, symptom: str, arch: Arch) -> bool:
    """Tell whether the structure of a symptom is in a lowered kernel; one that is refused has it at its worst."""
    if lowering.cost is None:
        return True
    known = [one for one in SYMPTOMS if one.id == symptom and arch in one.archs]
    return any(one.detect(subject) for one in known for subject in subjects_of(lowering))

"""What a model may ask for before it proposes, and what it is told: facts, no power over anything."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from agent.diagnose import Diagnosis, subjects_of
from agent.ladder import LADDERS, Ladder
from agent.propose.actions import Action, ActionName
from agent.propose.edits import Unfit, apply_edit
from agent.propose.fence import fenced
from agent.propose.passages import SHOWN_CHARACTERS, WHOLE_CHARACTERS, Shelf, window
from agent.propose.said import count_final_ops, say_blame, say_change, say_cost, say_diagnostics
from agent.records import Lowering, Rung
from agent.sandbox import is_limit
from agent.symptoms.registry import symptoms_of
from agent.toolchain.targets import find_device
from agent.workbench import Workbench
from indexer.errors import BadInput, SandboxError
from indexer.messages import render

# The rung whose evidence an action gives; a ladder without that rung does not have the action.
TOOLS: Mapping[ActionName, Rung] = {
    "search": "source", "passage": "source", "blame": "ir", "lower": "ir", "predict": "profile",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of one round; `mark` is that of the round's fences."""

    bench: Workbench
    diagnosis: Diagnosis
    shelf: Shelf | None
    ladder: Ladder
    mark: str

    def missing(self) -> tuple[ActionName, ...]:
        """Return the actions that this run does not have."""
        return tuple(name for name, rung in TOOLS.items() if not self._has(name, rung))

    def use(self, action: Action) -> str:
        """Do what the action asks for and tell the outcome."""
        if action.action in self.missing():
            return f"The action {action.action} is not available in this run."
        text = self._answer(action)
        return fenced(self.mark, f"result of {action.action}", text.replace(str(self.bench.scratch), ""))

    def _has(self, name: ActionName, rung: Rung) -> bool:
        return rung in LADDERS[self.ladder] and (self.shelf is not None or name not in {"search", "passage"})

    def _answer(self, action: Action) -> str:
        lowering = self.diagnosis.lowering
        if action.action == "blame":
            return say_blame(lowering, action.line)
        if action.action in {"search", "passage"}:
            return self._read(action)
        new = apply_edit(lowering.source.text, action.blocks, action.source)
        if isinstance(new, Unfit):
            return render(new.reason, "en")
        tried = self._lower(new)
        if isinstance(tried, str):
            return tried
        return self._lowered(tried) if action.action == "lower" else self._predicted(tried)

    def _read(self, action: Action) -> str:
        shelf = self.shelf
        assert shelf is not None  # noqa: S101 - `missing` said so
        if action.action == "search":
            found = shelf.find(action.query)
            texts = [f"{name}: {p.kind} of {p.corpus}, {p.path}\n{window(p, SHOWN_CHARACTERS)}" for name, p in found]
            return "\n\n".join(texts) or "nothing found"
        passage = shelf.given(action.query)
        names = ", ".join(shelf.known) or "none"
        return window(passage, WHOLE_CHARACTERS) if passage is not None else f"no such passage; there are: {names}"

    def _lower(self, text: str) -> Lowering | str:
        """Lower an edited file; what its host does wrong is the answer."""
        source = dataclasses.replace(self.diagnosis.lowering.source, text=text)
        try:
            return self.bench.lower(source)
        except (BadInput, SandboxError) as error:
            if isinstance(error, SandboxError) and not is_limit(error):
                raise
            return render(error.note, "en")

    def _lowered(self, after: Lowering) -> str:
        if after.cost is None:
            return f"rejected by the compiler:\n{say_diagnostics(after)}"
        before = self.diagnosis.lowering
        had, has = count_symptoms(before), count_symptoms(after)
        findings = [f"{name}: {had[name]} -> {has[name]}" for name in sorted({*had, *has})]
        moved = say_change(count_final_ops(before), count_final_ops(after))
        return "\n".join(["compiles", "operations of the final IR:", moved, "structures found:", *findings])

    def _predicted(self, after: Lowering) -> str:
        if after.cost is None:
            return f"rejected by the compiler:\n{say_diagnostics(after)}"
        before = self.diagnosis.lowering.cost
        was = f"before: {before.value:.1f} us\n" if before is not None else ""
        return f"{was}now: {say_cost(after.cost, after.source.text)}"


def count_symptoms(lowering: Lowering) -> Counter[str]:
    """Count the structures that the detectors see in all launches, by symptom."""
    subjects = list(subjects_of(lowering))
    found: Counter[str] = Counter()
    for symptom in symptoms_of(find_device(lowering.target).arch):
        count = sum(len(symptom.detect(subject)) for subject in subjects)
        if count:
            found[symptom.id] = count
    return found

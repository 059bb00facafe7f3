"""What becomes of a round's candidates: all are lowered, the promising checked, cheapest first, until one is right."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent.contract import Verdict
from agent.contract_run import ClaimVerdict
from agent.diagnose import subjects_of
from agent.documents import diagnostic_docs
from agent.jobs import in_threads
from agent.propose.records import Proposal
from agent.propose.said import count_final_ops
from agent.records import Cost, KernelSource, Lowering
from agent.sandbox import is_limit
from agent.symptoms.registry import find_symptom
from agent.toolchain.targets import find_device
from agent.verify.check import Checks, Verifier
from agent.workbench import Workbench
from indexer.errors import BadInput, SandboxError
from indexer.messages import Lang, Message, message, render

# A predicted gain below this is no gain: the model's rank inside a family is not good to better than this share (its
# published misses on sweeps are between configurations 2 to 3 % apart). A share of what the cores do: starting programs
# costs every form of a small kernel the same, and is most of its time.
LEAST_GAIN = 0.02
# Checks of one round: each runs the candidate on every size and seed, which costs more than lowering it.
MOST_CHECKED = 3
# A candidate that nothing could check is not kept: it is rejected, with the checks' reasons.
_VERDICTS: dict[str, Verdict] = {"right": "kept", "wrong": "wrong", "cheating": "cheating", "unchecked": "rejected"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One thing that a proposal's claim says, and whether it happened."""

    text: Message
    verdict: ClaimVerdict


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a proposal; `untried` is a promising one that was not checked, a cheaper one being right."""

    proposal: Proposal
    verdict: Verdict | Literal["untried"]
    claim: ClaimVerdict
    outcomes: tuple[Outcome, ...] = ()
    reason: str = ""
    lowering: Lowering | None = None
    checks: Checks | None = None


def try_all(
    bench: Workbench, verifier: Verifier, original: KernelSource, best: Lowering, proposals: Sequence[Proposal],
    lang: Lang,
) -> list[Trial]:  # fmt: skip
    """Try proposals against the best kernel so far; the first trial returned is the one that the round is about.

    That is the kept one, else the one that came furthest. Raises `SandboxError` without a sandbox.
    """
    lowered = in_threads(lambda proposal: _lower(bench, best, proposal, lang), proposals)
    promising = sorted((t for t in lowered if t.verdict == "untried"), key=_cost)
    settled = [t for t in lowered if t.verdict != "untried"]
    for place, trial in enumerate(promising):
        if place == MOST_CHECKED or any(t.verdict == "kept" for t in settled):
            settled.append(trial)
            continue
        candidate = dataclasses.replace(best.source, text=trial.proposal.source)
        cost = trial.lowering.cost if trial.lowering is not None else None
        checks = verifier.check(original, candidate, cost)
        settled.append(dataclasses.replace(trial, verdict=_VERDICTS[checks.verdict], checks=checks))
    return sorted(settled, key=lambda t: (_ORDER[t.verdict], _cost(t)))


# Which trial a round is about: the kept one; else one that was checked, as that says most; else by cost.
_ORDER = {"kept": 0, "wrong": 1, "cheating": 1, "rejected": 3, "slower": 2, "untried": 4}


def is_cheaper(new: Lowering, old: Lowering) -> bool:
    """Tell whether a lowering costs less by more than the model's own error; costs of two bases do not compare."""
    if new.cost is None or old.cost is None:
        return new.cost is not None
    return is_gain(new.cost, old.cost)


def is_gain(new: Cost, old: Cost) -> bool:
    """Tell whether `new` is below `old` by more than `LEAST_GAIN` of what the cores do in `old`."""
    of_cores = old.value - old.terms.get("launch", 0.0)
    return new.basis == old.basis and new.value < old.value - LEAST_GAIN * of_cores


def _lower(bench: Workbench, best: Lowering, proposal: Proposal, lang: Lang) -> Trial:
    """Lower one candidate, and compare what was claimed with what is to be seen."""
    candidate = dataclasses.replace(best.source, text=proposal.source)
    try:
        lowering = bench.lower(candidate)
    except (BadInput, SandboxError) as error:
        if isinstance(error, SandboxError) and not is_limit(error):
            raise
        return Trial(proposal, "rejected", "refuted", reason=render(error.note, lang))
    outcomes = _outcomes(best, lowering, proposal)
    claim = _together(outcomes)
    if lowering.cost is None:
        diagnostics = [d for item in lowering.launches for d in item.compilation.diagnostics]
        told = [d.message for d in diagnostic_docs(tuple(diagnostics[:1]), lang)]
        return Trial(proposal, "rejected", "refuted", outcomes, "".join(told), lowering)
    return Trial(proposal, "untried" if is_cheaper(lowering, best) else "slower", claim, outcomes, "", lowering)


def _outcomes(before: Lowering, after: Lowering, proposal: Proposal) -> tuple[Outcome, ...]:
    claim = proposal.claim
    found: list[Outcome] = []
    if claim.gone and proposal.finding is not None:
        had, has = _count(before, proposal.symptom), _count(after, proposal.symptom)
        said = message("propose.expect_gone", symptom=proposal.symptom)
        found.append(Outcome(said, "realised" if has < had else "refuted"))
    old, new = (count_final_ops(before), count_final_ops(after)) if claim.fewer else (Counter[str](), Counter[str]())
    for op in claim.fewer:
        said = message("propose.expect_fewer", op=op, before=old[op], after=new[op])
        found.append(Outcome(said, _is_fewer(old[op], new[op], after)))
    found.append(Outcome(message(f"propose.expect_{claim.cost}"), _cost_verdict(before, after, claim.cost)))
    return tuple(found)


def _is_fewer(old: int, new: int, after: Lowering) -> ClaimVerdict:
    if after.cost is None:
        return "open"
    return "realised" if new < old else "refuted"


def _cost_verdict(before: Lowering, after: Lowering, claimed: str) -> ClaimVerdict:
    if after.cost is None or before.cost is None:
        return "realised" if claimed == "lower" and after.cost is not None else "open"
    higher = "higher" if is_cheaper(before, after) else "same"
    moved = "lower" if is_cheaper(after, before) else higher
    return "realised" if moved == claimed else "refuted"


def _together(outcomes: Sequence[Outcome]) -> ClaimVerdict:
    """Return what became of a claim as a whole: refuted when the IR refutes it; with the cost alone off it is open."""
    verdicts = [outcome.verdict for outcome in outcomes]
    if all(verdict == "realised" for verdict in verdicts):
        return "realised"
    return "refuted" if "refuted" in verdicts[:-1] else "open"


def _count(lowering: Lowering, symptom: str) -> int:
    """Count a symptom's structures; of a refusal, which no symptom sees, the launches that are refused."""
    known = find_symptom(symptom, find_device(lowering.target).arch)
    if known is None:
        return sum(item.cost is None for item in lowering.launches)
    return sum(len(known.detect(subject)) for subject in subjects_of(lowering))


def _cost(trial: Trial) -> float:
    cost = trial.lowering.cost if trial.lowering is not None else None
    return float("inf") if cost is None else cost.value

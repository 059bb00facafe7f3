"""The JSON form of `tritonkb eval cost` (design, section 7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from agent.contract import Doc, IntervalDoc
from agent.evaluate_cost import CostScore, Predicted, score
from agent.evaluate_cost_pairs import Direction
from indexer.messages import Lang, render


class BandsDoc(Doc):
    """Rank correlation in each band of sizes; None for fewer than three timings."""

    below_100us: float | None
    above_100us: float | None


class RegretDoc(Doc):
    """A sweep: by what share the predicted best is slower than the real best, both measured; None: none predicted."""

    case: str
    configurations: int
    regret: float | None


class MeasuresDoc(Doc):
    """How far one predictor is off; `best_within_5` counts sweeps. None: more are missing than predicted."""

    median_error: float | None
    within_35: float | None
    spearman: BandsDoc
    best_within_5: int
    sweeps: list[RegretDoc]


class TimingDoc(Doc):
    """One timing: what was measured elsewhere, and what is predicted; `note` says why nothing is."""

    id: str
    case: str
    config: dict[str, Any]
    cold: bool
    target: str
    measured_us: float
    predicted_us: float | None
    interval: IntervalDoc | None
    baseline_us: float | None
    error: float | None
    basis: Literal["predicted"] = "predicted"
    limiter: str
    low_confidence: bool
    left_out: bool
    seconds: float
    note: str


class CostEvaluationDoc(MeasuresDoc):
    """`tritonkb eval cost`: the model's measures, the same of bytes over bandwidth, and every timing."""

    n: int
    predicted: int
    inside_interval: float | None
    baseline: MeasuresDoc
    cases: list[TimingDoc]


def cost_evaluation_doc(found: Sequence[Predicted]) -> CostEvaluationDoc:
    """Score predictions and give them their JSON form."""
    own = measures_doc(score([(item.timing, item.us) for item in found]))
    baseline = measures_doc(score([(item.timing, item.baseline_us) for item in found]))
    inside = [item.low <= item.timing.us <= item.high for item in found if item.us is not None]
    return CostEvaluationDoc(
        **{name: getattr(own, name) for name in MeasuresDoc.model_fields},
        n=len(found),
        predicted=len(inside),
        inside_interval=sum(inside) / len(inside) if inside else None,
        baseline=baseline,
        cases=[timing_doc(item) for item in found],
    )


def measures_doc(scored: CostScore) -> MeasuresDoc:
    """Give a score its JSON form; infinite errors have none."""
    return MeasuresDoc(
        median_error=_finite(scored.median_error),
        within_35=scored.within_35,
        spearman=BandsDoc(below_100us=scored.below_100us, above_100us=scored.above_100us),
        best_within_5=scored.best_within_5,
        sweeps=[
            RegretDoc(case=s.case, configurations=s.configurations, regret=_finite(s.regret)) for s in scored.sweeps
        ],
    )


def timing_doc(item: Predicted) -> TimingDoc:
    """Give one prediction its JSON form."""
    timing = item.timing
    return TimingDoc(
        id=timing.id, case=timing.case, config=dict(timing.config), cold=timing.cold, target=timing.target,
        measured_us=timing.us, predicted_us=item.us,
        interval=None if item.us is None else IntervalDoc(low=item.low, high=item.high),
        baseline_us=item.baseline_us, error=None if item.us is None else item.us / timing.us - 1,
        limiter=item.limiter, low_confidence=item.low_confidence, left_out=item.left_out, seconds=item.seconds,
        note=item.note,
    )  # fmt: skip


class DirectionDoc(Doc):
    """A pair: what is predicted for both kernels, and why it is not in the catalogue's direction where it is not."""

    name: str
    symptom: str
    slow_us: float | None
    fast_us: float | None
    basis: Literal["predicted"] = "predicted"
    limiter: str
    grows: str
    fitting: list[str]
    structure: bool
    right: bool
    fits: bool
    reason: str


class DirectionsDoc(Doc):
    """All pairs on one target; `made`: those whose structure this target's compiler makes, `made_right` of them."""

    target: str
    n: int
    right: int
    fits: int
    made: int
    made_right: int
    made_fits: int
    cases: list[DirectionDoc]


class PairsDoc(Doc):
    """`tritonkb eval cost --pairs`."""

    targets: list[DirectionsDoc]


def directions_doc(target: str, found: Sequence[Direction], lang: Lang) -> DirectionsDoc:
    """Count the pairs of one target and give them their JSON form."""
    made = [item for item in found if item.made]
    return DirectionsDoc(
        target=target,
        n=len(found), right=sum(d.right for d in found), fits=sum(d.fits for d in found),
        made=len(made), made_right=sum(d.right for d in made), made_fits=sum(d.fits for d in made),
        cases=[_direction_doc(item, lang) for item in found],
    )  # fmt: skip


def _direction_doc(item: Direction, lang: Lang) -> DirectionDoc:
    return DirectionDoc(
        name=item.truth.name, symptom=item.truth.symptom,
        slow_us=None if item.slow is None else item.slow.value,
        fast_us=None if item.fast is None else item.fast.value,
        limiter="" if item.slow is None else item.slow.limiter, grows=item.grows,
        fitting=sorted(item.fitting), structure=item.made, right=item.right, fits=item.fits,
        reason="" if item.reason is None else render(item.reason, lang),
    )  # fmt: skip


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None

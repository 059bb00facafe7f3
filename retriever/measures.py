"""Rankings against a truth -> nDCG, hit, recall and reciprocal rank, with bootstrap intervals (through ir-measures)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Contract name -> ir-measures name.
MEASURES = {"ndcg@10": "nDCG@10", "hit@5": "Success@5", "recall@5": "R@5", "recall@10": "R@10", "mrr@10": "RR@10"}
RESAMPLES = 2000
SEED = 20260822

Scores = dict[str, float]


@dataclass(frozen=True, slots=True)
class Judged:
    """What is true for one question, and what was found for it, best first; documents are any names."""

    id: str
    relevant: tuple[str, ...]
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of one measure's paired differences with its 95 % interval; `better` and `worse` count questions."""

    mean: float
    low: float
    high: float
    better: int
    worse: int


def score(judged: Sequence[Judged]) -> dict[str, Scores]:
    """Return every measure of every question: id -> measure -> value."""
    import ir_measures  # noqa: PLC0415 - 0.3 s; only an evaluation needs it

    measures = {name: ir_measures.parse_measure(known) for name, known in MEASURES.items()}
    names = {measure: name for name, measure in measures.items()}
    truth = {j.id: dict.fromkeys(j.relevant, 1) for j in judged}
    runs = {j.id: {doc: float(-place) for place, doc in enumerate(dict.fromkeys(j.found))} for j in judged}
    out = {j.id: dict.fromkeys(MEASURES, 0.0) for j in judged}
    for metric in ir_measures.iter_calc(list(measures.values()), truth, runs):
        out[metric.query_id][names[metric.measure]] = float(metric.value)
    return out


def mean(scores: Sequence[Scores]) -> Scores:
    """Return the mean of each measure; zeros of no question."""
    return {name: float(np.mean([s[name] for s in scores])) if scores else 0.0 for name in MEASURES}


def intervals(scores: Sequence[Scores]) -> dict[str, tuple[float, float]]:
    """Return the 95 % bootstrap interval of each measure's mean."""
    return {name: _interval(np.array([s[name] for s in scores])) for name in MEASURES}


def differences(new: Mapping[str, Scores], old: Mapping[str, Scores]) -> dict[str, Difference]:
    """Compare two runs over the questions they share, pair by pair."""
    shared = sorted(set(new) & set(old))
    return {name: _difference(np.array([new[i][name] - old[i][name] for i in shared])) for name in MEASURES}


def _difference(values: npt.NDArray[np.float64]) -> Difference:
    low, high = _interval(values)
    average = float(values.mean()) if len(values) else 0.0
    return Difference(average, low, high, int((values > 0).sum()), int((values < 0).sum()))


def _interval(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    if not len(values):
        return 0.0, 0.0
    draws = np.random.default_rng(SEED).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.percentile(values[draws].mean(axis=1), (2.5, 97.5))
    return float(low), float(high)

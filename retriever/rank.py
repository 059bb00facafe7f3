"""The ranking: three lists of scores, brought to one scale, summed, damped, and grouped by file.

Weights were chosen on 83 questions and 300 commits of the compilers' own repositories.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from indexer.store import Generation
from retriever.query import Understood

Scores = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Weights:
    """Everything that can be tuned.

    `depth` passages of each list count; the scores of a list are brought to 0..1 over these. A file scores the sum of
    its best passages by `file_share`; its second and further passages are shown with `repeat` of that.
    """

    body: float = 1.0
    natural: float = 0.5
    dense: float = 0.2
    depth: int = 300
    test: float = 0.5
    damped: float = 0.7
    file_share: tuple[float, ...] = (1.0, 0.3, 0.15)
    repeat: tuple[float, ...] = (1.0, 0.75, 0.6)
    exact: float = 0.5


DEFAULT_WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its vector (None: words only), the mask of rows that may answer (None: all), and rows to lift."""

    question: Understood
    vector: Scores | None
    allowed: npt.NDArray[np.bool_] | None
    bonus: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row with its final score and what each list gave it (already weighted)."""

    row: int
    score: float
    parts: tuple[tuple[str, float], ...]


def rank(generation: Generation, asked: Asked, limit: int, weights: Weights = DEFAULT_WEIGHTS) -> list[Ranked]:
    """Return the best `limit` rows for a question."""
    lists = {
        "body": (weights.body, generation.body.score(asked.question.words)),
        "natural": (weights.natural, generation.natural.score(asked.question.words)),
    }
    if asked.vector is not None:
        lists["meaning"] = (weights.dense, np.asarray(generation.vectors @ asked.vector, np.float32))
    count = len(generation.columns)
    total = np.zeros(count, np.float32)
    parts: dict[str, Scores] = {}
    for name, (weight, scores) in lists.items():
        if asked.allowed is not None:
            scores = np.where(asked.allowed, scores, 0.0)  # noqa: PLW2901 - the same scores, of the allowed rows
        parts[name] = weight * _scaled(scores, weights.depth)
        total += parts[name]
    for row, value in asked.bonus.items():
        if asked.allowed is None or asked.allowed[row]:
            total[row] += value
    total *= _damping(generation, weights)
    order = _by_file(total, generation.columns["file"], limit, weights)
    return [
        Ranked(row, score, tuple((name, float(p[row])) for name, p in parts.items() if p[row] > 0))
        for row, score in order
    ]


def _scaled(scores: Scores, depth: int) -> Scores:
    """Bring the best `depth` scores to 0..1 and the others to 0."""
    out = np.zeros_like(scores)
    depth = min(depth, len(scores))
    if depth == 0:
        return out
    best = np.argpartition(scores, -depth)[-depth:]
    best = best[scores[best] > 0]
    if len(best):
        low, high = float(scores[best].min()), float(scores[best].max())
        out[best] = (scores[best] - low) / (high - low) if high > low else 1.0
    return out


def _damping(generation: Generation, weights: Weights) -> Scores:
    kinds = generation.manifest.kinds
    factor = np.ones(len(generation.columns), np.float32)
    if "test" in kinds:
        factor[generation.columns["kind"] == kinds.index("test")] = weights.test
    factor[generation.columns["damped"]] *= weights.damped
    return factor


def _by_file(total: Scores, files: npt.NDArray[np.int32], limit: int, weights: Weights) -> list[tuple[int, float]]:
    """Order passages by their file's score, further ones of a file behind; at most as many a file as `repeat` has."""
    rows = np.flatnonzero(total > 0)
    rows = rows[np.argsort(-total[rows], kind="stable")]
    groups: dict[int, list[tuple[int, float]]] = {}
    for row, file, score in zip(rows.tolist(), files[rows].tolist(), total[rows].tolist(), strict=True):
        groups.setdefault(file, []).append((row, score))
    scored = []
    for group in groups.values():
        whole = sum(share * score for share, (_, score) in zip(weights.file_share, group, strict=False))
        best = group[0][1]
        for place, (row, score) in enumerate(group[: len(weights.repeat)]):
            scored.append((row, whole * weights.repeat[place] * (score / best if place else 1.0)))
    scored.sort(key=lambda pair: -pair[1])
    return scored[:limit]

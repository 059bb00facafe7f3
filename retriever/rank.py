"""The ranking: lists of scores brought to one scale and summed, passed on along links, damped, and grouped by file.

Everything that can be tuned is in `Weights`; bench/retrieval.py measures it on folds that were not tuned on.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from indexer.lexical import LexicalField
from indexer.records import Relation
from indexer.store import Generation
from indexer.words import has_chinese
from retriever.kin import ANY, Kin, Preference
from retriever.query import Understood

Scores = npt.NDArray[np.float32]
# Words, and how much they count.
_Told = Sequence[tuple[Sequence[str], float]]


@dataclass(frozen=True, slots=True)
class Weights:
    """Everything that can be tuned.

    Nearness in meaning is asked of the `near` passages that have most of the words. `depth` passages of each list
    count; the scores of a list are brought to 0..1 over these. The glossary's words count `meant` and translated words
    `translated` of the user's own; Chinese words count `chinese`, beside the others. What a passage scores, its links
    pass on to others by `linked`, from the best `spread` passages; `considered` passages are grouped by file. A file
    scores the sum of its best passages by `file_share`; its second and further passages are shown with `repeat` of
    that. What the question names is lifted by `exact`, what it pastes word for word by `pasted`. A file's translation
    or variant scores `kin` of it. A file gets `history` for what the commits that changed it say (brought to 0..1 over
    its best `history_depth` files), and `covered` for the share of the question's words that stand anywhere in it.
    Tests, vendored files, headers and documents count `test`, `damped`, `header`, `document`.
    """

    body: float = 1.0
    natural: float = 0.6
    dense: float = 0.3
    near: int = 3000
    depth: int = 300
    meant: float = 0.5
    translated: float = 1.0
    chinese: float = 0.8
    considered: int = 400
    linked: float = 0.4
    spread: int = 120
    history: float = 0.4
    history_depth: int = 100
    covered: float = 0.6
    test: float = 0.5
    damped: float = 0.7
    header: float = 0.85
    document: float = 0.94
    file_share: tuple[float, ...] = (1.0, 0.3, 0.15)
    repeat: tuple[float, ...] = (1.0, 0.5, 0.35)
    exact: float = 0.3
    pasted: float = 0.8
    kin: float = 0.95


DEFAULT_WEIGHTS = Weights()
# How much of its score a passage hands on: a definition and its implementation are one answer, a test is not.
_HANDED: dict[Relation, float] = {
    "implements": 1.0, "documents": 1.0, "option_of": 1.0, "uses": 0.5, "lowers": 0.3,
}  # fmt: skip
# So much of a Chinese question must stand in a passage for it to be the one that answers in Chinese.
SPOKEN = 0.3
# Relatives are looked up for the first files only.
KIN_FILES = 15


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its vector (None: words only), the mask of rows that may answer (None: all), and rows to lift.

    With `kin`, the relatives of the first files are shown beside them, the one of `wanted` first.
    """

    question: Understood
    vector: Scores | None
    allowed: npt.NDArray[np.bool_] | None
    bonus: Mapping[int, float]
    kin: Kin | None = None
    wanted: Preference = ANY


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row with its final score, what each list gave it (already weighted), and what it is beside."""

    row: int
    score: float
    parts: tuple[tuple[str, float], ...]
    beside: str = ""


@dataclass(slots=True)
class _File:
    """A file in the ranking: its score, its rows best first, and what it was put beside."""

    number: int
    score: float
    rows: list[tuple[int, float]]
    beside: str = ""


def rank(generation: Generation, asked: Asked, limit: int, weights: Weights = DEFAULT_WEIGHTS) -> list[Ranked]:
    """Return the best `limit` rows for a question."""
    told = _told(asked.question, weights)
    parts = _lists(generation, asked, told, weights)
    total = np.zeros(len(generation.columns), np.float32)
    for scores in parts.values():
        total += scores
    for row, value in asked.bonus.items():
        if asked.allowed is None or asked.allowed[row]:
            total[row] += value
    if weights.linked:
        parts["linked"] = _handed_on(generation, total, asked.allowed, weights)
        total += parts["linked"]
    (rows,) = total.nonzero()
    total[rows] *= _damping(generation, rows, weights)
    files = _files(total, generation.file_numbers, weights)
    if "chinese" in parts:
        _put_spoken_first(files, parts["chinese"], SPOKEN * weights.chinese * (weights.body + weights.natural))
    of_files = _lists_of_files(generation, told, files, weights)
    _add_whole(generation, files, of_files, weights)
    if asked.kin is not None and weights.kin:
        _add_relatives(generation, asked, asked.kin, files, weights)
    return [
        Ranked(row, score, (*_given(parts, row), *_given(of_files, generation.file_numbers[row])), beside)
        for row, score, beside in _in_order(files, limit, weights)
    ]


def _given(lists: Mapping[str, Scores], number: int) -> tuple[tuple[str, float], ...]:
    """Return what each list gave to a row (or a file)."""
    return tuple((name, float(scores[number])) for name, scores in lists.items() if scores[number] > 0)


def _told(question: Understood, weights: Weights) -> list[tuple[Sequence[str], float]]:
    """Return the English words that are looked for, and how much they count."""
    own = [word for word in question.words if not has_chinese(word)]
    told = ((own, 1.0), (question.meant, weights.meant), (question.translated, weights.translated))
    return [(words, share) for words, share in told if words and share]


def _lists(generation: Generation, asked: Asked, told: _Told, weights: Weights) -> dict[str, Scores]:
    chinese = [word for word in asked.question.words if has_chinese(word)]
    lists = {"body": (weights.body, generation.body), "natural": (weights.natural, generation.natural)}
    parts: dict[str, Scores] = {}
    worded = np.zeros(len(generation.columns), np.float32)
    for name, (weight, field) in lists.items():
        scores = _scored(field, told)
        worded += scores
        parts[name] = weight * _scaled(_only(scores, asked.allowed), weights.depth)
        if chinese:
            covered = _covered(field, chinese)
            worded += covered
            given = weight * weights.chinese * _only(covered, asked.allowed)
            parts["chinese"] = parts.get("chinese", np.float32(0.0)) + given
    if asked.vector is not None:
        near = _near(generation, asked.vector, _only(worded, asked.allowed), weights.near)
        parts["meaning"] = weights.dense * _scaled(_only(near, asked.allowed), weights.depth)
    return parts


def _near(generation: Generation, vector: Scores, worded: Scores, count: int) -> Scores:
    """Return how near in meaning the `count` passages are that have most of the words; where fewer have any, all.

    The product of all vectors would take half of a search.
    """
    rows = _best(worded, count)
    if len(rows) < count:
        return np.asarray(generation.vectors @ vector, np.float32)
    rows.sort()
    out = np.zeros_like(worded)
    out[rows] = generation.vectors.take(rows, axis=0) @ vector
    return out


def _scored(field: LexicalField, told: _Told) -> Scores:
    scores = np.zeros(field.count, np.float32)
    for words, share in told:
        scores += share * field.score(words)
    return scores


def _lists_of_files(
    generation: Generation, told: _Told, files: Mapping[int, _File], weights: Weights
) -> dict[str, Scores]:
    """Return, by the number of the file, what it gets as a whole."""
    lists = {"covered": weights.covered * _share(generation, told)}
    if generation.history is not None:
        ranked = np.zeros(len(generation.places), np.bool_)
        ranked[list(files)] = True
        history = _scaled(_only(_scored(generation.history, told), ranked), weights.history_depth)
        lists["history"] = weights.history * history
    return lists


def _put_spoken_first(files: Mapping[int, _File], chinese: Scores, least: float) -> None:
    """Let a file that says a thing in two languages say it in Chinese first."""
    for file in files.values():
        rows = [row for row, _ in file.rows]
        spoken = rows[int(np.argmax(chinese[rows]))]
        if chinese[rows[0]] == 0.0 and chinese[spoken] >= least:
            file.rows.insert(0, (spoken, file.rows[0][1]))
            del file.rows[rows.index(spoken) + 1]


def _add_whole(
    generation: Generation, files: Mapping[int, _File], lists: Mapping[str, Scores], weights: Weights
) -> None:
    """Add to each file what it gets as a whole, damped as its best passage is."""
    factor = _damping(generation, np.array([file.rows[0][0] for file in files.values()], np.int64), weights)
    whole = np.sum([scores[list(files)] for scores in lists.values()], axis=0)
    for file, value in zip(files.values(), (factor * whole).tolist(), strict=True):
        file.score += value


def _share(generation: Generation, told: _Told) -> Scores:
    """Return how much of the words' weight stands anywhere in each file, from 0 to 1."""
    field = generation.body
    out = np.zeros(len(generation.places), np.float32)
    counted: dict[str, float] = {}
    for words, share in told:
        counted |= {word: max(share, counted.get(word, 0.0)) for word in words}
    whole = 0.0
    for word, share in counted.items():
        rows = field.rows(word)
        if len(rows):
            weight = share * math.log1p((field.count - len(rows) + 0.5) / (len(rows) + 0.5))
            out[generation.file_numbers[rows]] += weight  # once a file, however many passages have the word
            whole += weight
    out /= np.float32(whole or 1.0)
    return out


def _covered(field: LexicalField, words: Sequence[str]) -> Scores:
    """Return how much of the words' weight each passage has, from 0 to 1.

    Only documents and notes have Chinese words; brought to the scale of the best of them, they would outshine all code.
    """
    counts = [count for word in words if (count := field.frequency(word))]
    # A passage of average length that has each word once scores 1.
    whole = sum(math.log1p((field.count - count + 0.5) / (count + 0.5)) for count in counts) / (field.k1 + 1.0)
    covered: Scores = np.minimum(field.score(words) / np.float32(whole or 1.0), np.float32(1.0))
    return covered


def _only(scores: Scores, allowed: npt.NDArray[np.bool_] | None) -> Scores:
    return scores if allowed is None else np.where(allowed, scores, np.float32(0.0))


def _scaled(scores: Scores, depth: int) -> Scores:
    """Bring the best `depth` scores to 0..1 and the others to 0."""
    out = np.zeros_like(scores)
    best = _best(scores, depth)
    if len(best):
        low, high = float(scores[best].min()), float(scores[best].max())
        out[best] = (scores[best] - low) / (high - low) if high > low else 1.0
    return out


def _best(scores: Scores, count: int) -> npt.NDArray[np.int64]:
    """Return the rows of the best scores above zero, in no order."""
    (rows,) = (scores > 0).nonzero()
    if len(rows) <= count:
        return rows
    return rows[np.argpartition(scores[rows], -count)[-count:]]


def _handed_on(
    generation: Generation, total: Scores, allowed: npt.NDArray[np.bool_] | None, weights: Weights
) -> Scores:
    """Return what each passage gets from the best one that is linked to it."""
    out = np.zeros_like(total)
    links = generation.links
    shares = np.array([weights.linked * _HANDED.get(what, 0.0) for what in links.relations], np.float32)
    gives = np.zeros_like(total)
    best = _best(total, weights.spread)
    gives[best] = total[best]
    for giver, taker in ((links.source, links.target), (links.target, links.source)):
        given = gives[giver]
        (handing,) = given.nonzero()
        np.maximum.at(out, taker[handing], given[handing] * shares[links.relation[handing]])
    return _only(out, allowed)


def _damping(generation: Generation, rows: npt.NDArray[np.int64], weights: Weights) -> Scores:
    """Return how much each of `rows` counts."""
    by_kind = {"test": weights.test, "doc": weights.document}
    of_kind = np.array([by_kind.get(kind, 1.0) for kind in generation.manifest.kinds], np.float32)
    columns = generation.columns[rows]
    factor: Scores = of_kind[columns["kind"]]
    factor[columns["damped"]] *= weights.damped
    factor[generation.headers[columns["file"]]] *= weights.header
    return factor


def _files(total: Scores, numbers: npt.NDArray[np.int32], weights: Weights) -> dict[int, _File]:
    """Group the rows by file, best first in both."""
    rows = _best(total, weights.considered)
    rows = rows[np.argsort(-total[rows], kind="stable")]
    files: dict[int, _File] = {}
    for row, number, score in zip(rows.tolist(), numbers[rows].tolist(), total[rows].tolist(), strict=True):
        files.setdefault(number, _File(number, 0.0, [])).rows.append((row, score))
    for file in files.values():
        file.score = sum(share * score for share, (_, score) in zip(weights.file_share, file.rows, strict=False))
    return files


def _add_relatives(
    generation: Generation, asked: Asked, kin: Kin, files: dict[int, _File], weights: Weights
) -> None:  # fmt: skip
    """Put the relatives of the first files beside them: the one that is asked for first, the other close behind."""
    for file in sorted(files.values(), key=lambda f: -f.score)[:KIN_FILES]:
        leader = file.rows[0][0]
        place = generation.places[file.number]
        for relative in kin.of(place, asked.wanted):
            other = _file_at(generation, kin.number_of(relative.place), files, leader)
            if asked.allowed is None or asked.allowed[other.rows[0][0]]:
                first = relative.preferred or (other.score > file.score and not asked.wanted.of(relative.tie, place))
                ahead, behind, path = (other, file, relative.place[1]) if first else (file, other, place[1])
                ahead.score = max(file.score, other.score)
                behind.score, behind.beside = weights.kin * ahead.score, f"{relative.tie} of {path}"


def _file_at(generation: Generation, number: int, files: dict[int, _File], leader: int) -> _File:
    """Return a file of the ranking, or bring it in with the passage that stands where the leader does in its own."""
    if number not in files:
        numbers = generation.file_numbers
        (own_first, own_end), (first, end) = (_rows_of(numbers, n) for n in (int(numbers[leader]), number))
        share = (leader - own_first) / max(own_end - own_first - 1, 1)
        files[number] = _File(number, 0.0, [(first + round(share * (end - first - 1)), 0.0)])
    return files[number]


def _rows_of(numbers: npt.NDArray[np.int32], file: int) -> tuple[int, int]:
    """Return the first row of a file and the one behind its last; files are numbered in the order of the rows."""
    return int(np.searchsorted(numbers, file)), int(np.searchsorted(numbers, file, side="right"))


def _in_order(files: Mapping[int, _File], limit: int, weights: Weights) -> list[tuple[int, float, str]]:
    """Order passages by their file's score, further ones of a file behind; at most as many a file as `repeat` has."""
    first = heapq.nlargest(limit, (file for file in files.values() if file.score > 0), key=lambda f: f.score)
    placed = [entry for file in first for entry in _shown(file, weights.repeat)]
    placed.sort(key=lambda entry: -entry[1])
    return placed[:limit]


def _shown(file: _File, repeat: Sequence[float]) -> list[tuple[int, float, str]]:
    best = file.rows[0][1]
    return [
        (row, file.score * share * (score / best if place and best else 1.0), "" if place else file.beside)
        for place, (share, (row, score)) in enumerate(zip(repeat, file.rows, strict=False))
    ]

"""How many questions `ask` declines: those that the index cannot answer, and, wrongly, those that it can.

    python bench/declining.py --store DIR --answerable FILE ... --unanswerable FILE ... [--show] [--fit]

Each FILE has one JSON object a line with `question`. At least 80 % of the unanswerable and at most 5 % of the
answerable are to be declined. `bench/declining/` has questions on other things than `bench/questions/`, most of them
short; the values in use were not fitted on those in `*-blind.jsonl`, which were looked at. `--show` prints the
questions on the wrong side with what was read from them.

`--fit` shows how `Doubts` (`retriever/confidence.py`) were chosen: a logistic regression of each language over the
files, with the shares declined in tenfold cross-validation. `start` is its intercept and `EASE`: declining wrongly is
the greater harm. Fit on questions of development only; the values in use are of AscendNPU-IR@52f96a130 and
triton-ascend@a84b1eb5 with the notes and the toolchain's catalogue.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.words import has_chinese
from retriever.confidence import Signs, features, read_signs, weigh
from retriever.query import MAX_QUESTION, understand
from retriever.records import Query
from retriever.search import Index, open_knowledge_base

HITS = 10
RESAMPLES = 2000
FOLDS = 10
SEED = 20260822
EASE = 0.5
DECLINED_AT_LEAST = 0.80
DECLINED_AT_MOST = 0.05
# What each language's regression leaves out: see `Doubts`.
LEFT_OUT = {"en": ("latin",), "zh": ("covered", "far")}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what speaks against an answer; `signs` is None where nothing was found at all."""

    question: str
    answerable: bool
    signs: Signs | None

    @property
    def declined(self) -> bool:
        """Tell whether `ask` declines."""
        return self.signs is None or not weigh(self.signs).is_enough


def main() -> None:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--answerable", type=Path, nargs="*", default=[])
    parser.add_argument("--unanswerable", type=Path, nargs="*", default=[])
    parser.add_argument("--show", action="store_true", help="print the questions on the wrong side")
    parser.add_argument("--fit", action="store_true", help="fit the values of Doubts to these questions")
    given = parser.parse_args()
    index = open_knowledge_base(given.store)
    files: dict[Path, list[Asked]] = {}
    for able, paths in ((True, given.answerable), (False, given.unanswerable)):
        files |= {path: read(index, path, able=able) for path in paths}
    everything = [asked for group in files.values() for asked in group]
    document: dict[str, Any] = {str(path): describe(group, show=given.show) for path, group in files.items()}
    for able, name in ((True, "answerable"), (False, "unanswerable")):
        if group := [a for a in everything if a.answerable == able]:
            document[name] = describe(group, show=False)
            share = document[name]["declined"]
            document[name]["ok"] = share <= DECLINED_AT_MOST if able else share >= DECLINED_AT_LEAST
    if given.fit:
        document["doubts"] = {lang: fit(everything, lang) for lang in LEFT_OUT}
    print(json.dumps(document, ensure_ascii=False, indent=1))


def read(index: Index, path: Path, *, able: bool) -> list[Asked]:
    """Ask the questions of a file."""
    texts = [json.loads(line)["question"] for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [Asked(text, able, signs_of(index, text[:MAX_QUESTION])) for text in texts]


def signs_of(index: Index, text: str) -> Signs | None:
    """Search as `ask` does, and read the signs."""
    hits = index.search(Query(text), HITS)
    return read_signs(index, understand(text, index.names.vocabulary), hits) if hits else None


def describe(group: Sequence[Asked], *, show: bool) -> dict[str, Any]:
    """Give the share declined with its 95 % bootstrap interval; with `show` the questions on the wrong side."""
    declined = np.array([asked.declined for asked in group])
    means = np.random.default_rng(SEED).choice(declined, (RESAMPLES, len(declined))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5]).round(4).tolist()
    found = {"n": len(group), "declined": round(float(declined.mean()), 4), "interval": [low, high]}
    wrong = [explain(asked) for asked in group if show and asked.declined == asked.answerable]
    return found | ({"wrong": wrong} if show else {})


def explain(asked: Asked) -> dict[str, Any]:
    """Give a question with its confidence and signs."""
    told: dict[str, Any] = {"question": asked.question[:160]}
    return (
        told
        if asked.signs is None
        else told | {"confidence": round(weigh(asked.signs).value, 2), **asdict(asked.signs)}
    )


def fit(group: Sequence[Asked], lang: str) -> dict[str, Any]:
    """Fit the values of one language, and tell what cross-validation declines."""
    kept = [a for a in group if a.signs is not None and has_chinese(a.question) == (lang == "zh")]
    numbers = [features(a.signs) for a in kept if a.signs is not None]
    names = [name for name in numbers[0] if name not in LEFT_OUT[lang]]
    x = np.array([[row[name] for name in names] for row in numbers], float)
    y = np.array([a.answerable for a in kept])
    model = regression().fit(x, y)
    values = dict(zip(names, (-model.coef_[0]).round(2).tolist(), strict=True))
    return {"start": round(float(model.intercept_[0]) + EASE, 2), **values, "declined": cross_validate(x, y)}


def cross_validate(x: npt.NDArray[np.float64], y: npt.NDArray[np.bool_]) -> dict[str, float]:
    """Tell the shares declined among questions that the regression has not seen."""
    declined = np.zeros(len(y), bool)
    order = np.random.default_rng(SEED).permutation(len(y))
    for fold in np.array_split(order, FOLDS):
        rest = np.setdiff1d(order, fold)
        declined[fold] = regression().fit(x[rest], y[rest]).decision_function(x[fold]) < -EASE
    return {"answerable": round(float(declined[y].mean()), 4), "unanswerable": round(float(declined[~y].mean()), 4)}


def regression() -> Any:
    """Return the regression; the sides are far from equal in number."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - a second, and only for fitting

    return LogisticRegression(C=10, class_weight="balanced", max_iter=5000)


if __name__ == "__main__":
    main()

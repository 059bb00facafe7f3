"""How well the search does beside other ways to search the same passages, in one run.

    python bench/retrieval.py --store DIR QUESTIONS.jsonl …          published or own questions
    python bench/retrieval.py --store DIR --mined CORPUS=REPOSITORY --commits 300
    python bench/retrieval.py --store DIR --descriptions 200
    python bench/retrieval.py --store DIR QUESTIONS.jsonl … --folds 5  tuned on the other folds of all sets together

Peers: ripgrep-like counting, plain BM25, the prototype ranking, and semble where `--semble-python` names a Python that
has it (`--semble-model` a folder of its model, `--semble-alpha 0` for its words only). Tests and documents are taken
from every peer's answer before mined commits are scored, and each commit is asked of an index whose history ends before
it (`retrieval_past.py`).
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

import retrieval_peers as peers
import retrieval_sets as sets
from retrieval_past import Past

from retriever import measures
from retriever.evaluate import Question, read_questions
from retriever.measures import Judged, Scores
from retriever.rank import DEFAULT_WEIGHTS, Weights
from retriever.search import Index, open_knowledge_base

# What a fold may choose from, one field at a time; everything else stays.
CHOICES: dict[str, tuple[float, ...]] = {
    "natural": (0.45, 0.75), "dense": (0.2, 0.45), "linked": (0.3, 0.5), "history": (0.0, 0.2),
    "covered": (0.0, 0.3, 0.8), "header": (0.92, 1.0), "document": (0.9, 1.0),
}  # fmt: skip


def main() -> None:
    """Print a table a set of questions."""
    given = _arguments()
    index = open_knowledge_base(given.store)
    asked = _sets(index, given)
    semble = _semble(index, [q.text for _, questions, _ in asked for q in questions], given)
    for name, questions, code_only in asked:
        if not given.folds:
            print(f"\n{name}: {len(questions)} questions")
            _compared(index, questions, given, semble, code_only=code_only)
    if given.folds:
        _tuned(index, {name: questions for name, questions, code_only in asked if not code_only}, given.folds)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path, nargs="*")
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--mined", metavar="CORPUS=REPOSITORY", help="commits of a corpus's own history as questions")
    parser.add_argument("--commits", type=int, default=300)
    parser.add_argument("--descriptions", type=int, default=0, metavar="N")
    parser.add_argument("--folds", type=int, default=0, metavar="K")
    parser.add_argument("--semble-python", type=Path)
    parser.add_argument("--semble-model", default="")
    parser.add_argument("--semble-alpha", default="")
    return parser.parse_args()


def _sets(index: Index, given: argparse.Namespace) -> list[tuple[str, list[Question], bool]]:
    found = [(path.name, read_questions(path), False) for path in given.questions]
    if given.mined:
        corpus, _, repository = given.mined.partition("=")
        found.append((f"commits of {corpus}", sets.mined(index, corpus, Path(repository), given.commits), True))
    if given.descriptions:
        found.append(("descriptions", sets.described(index, given.descriptions), False))
    return found


def _semble(index: Index, texts: Sequence[str], given: argparse.Namespace) -> peers.Searcher | None:
    """Let semble index once for all sets; that takes it minutes."""
    if given.semble_python is None or given.folds:
        return None
    asked = list(dict.fromkeys(texts))
    known = peers.semble(index, given.semble_python, asked, given.semble_model, given.semble_alpha)
    return known.__getitem__


def _compared(
    index: Index, questions: Sequence[Question], given: argparse.Namespace, semble: peers.Searcher | None,
    *, code_only: bool,
) -> None:  # fmt: skip
    searchers = {
        "tritonkb": _before_each(index, questions, given) if code_only else peers.ours(index),
        "prototype ranking": peers.ours(index, peers.PROTOTYPE),
        "BM25": peers.bm25(index),
        "keyword count": peers.keyword(index),
    }
    if semble is not None:
        searchers["semble"] = semble
    code = _code_files(index) if code_only else None
    scored = {name: _scored(search, questions, code) for name, search in searchers.items()}
    print(f"{'':18}" + "".join(f"{m:>11}" for m in measures.MEASURES) + "   ms a question")
    for name, (scores, milliseconds) in scored.items():
        means = measures.mean(list(scores.values()))
        print(f"{name:18}" + "".join(f"{means[m]:11.3f}" for m in measures.MEASURES) + f"{milliseconds:11.1f}")
    ours = scored["tritonkb"][0]
    for name, (scores, _) in scored.items():
        if name != "tritonkb":
            d = measures.differences(ours, scores)["ndcg@10"]
            bounds = f"[{d.low:+.3f}, {d.high:+.3f}]"
            print(f"nDCG@10 above {name}: {d.mean:+.3f} {bounds}, {d.better} better, {d.worse} worse")


def _before_each(index: Index, questions: Sequence[Question], given: argparse.Namespace) -> peers.Searcher:
    corpus, _, repository = given.mined.partition("=")
    past = Past(index, corpus, Path(repository))
    commits = {q.text: q.id for q in questions}
    search = peers.ours(index)

    def before(text: str) -> Sequence[str]:
        past.before(commits[text])
        index.generation.history = past  # type: ignore[assignment] - it scores words as the field does
        return search(text)

    return before


def _code_files(index: Index) -> set[str]:
    return {
        f"{p.corpus}:{p.path}"
        for mark in index.manifest.corpora
        for p in index.generation.shelf.all_passages(mark.name)
        if p.kind not in {"test", "doc"}
    }


def _scored(
    search: peers.Searcher, questions: Sequence[Question], code: set[str] | None
) -> tuple[dict[str, Scores], float]:
    search(questions[0].text)
    begin = time.perf_counter()
    found = [search(q.text) for q in questions]
    milliseconds = (time.perf_counter() - begin) * 1000 / len(questions)
    judged = [
        Judged(q.id, _relevant(q), tuple(f for f in files if code is None or f in code))
        for q, files in zip(questions, found, strict=True)
    ]
    return measures.score(judged), milliseconds


def _relevant(question: Question) -> tuple[str, ...]:
    return tuple(dict.fromkeys(answer.file for answer in question.answers))


def _tuned(index: Index, asked: Mapping[str, Sequence[Question]], folds: int) -> None:
    """Choose weights on all folds but one, score that one with them, and so for each: what may be claimed."""
    mixed = sorted((q for questions in asked.values() for q in questions), key=lambda q: q.id)
    random.Random(sets.SEED).shuffle(mixed)  # noqa: S311 - a split, not a secret
    scored: dict[Weights, dict[str, Scores]] = {}
    held: dict[str, Scores] = {}
    for fold in range(folds):
        inside = [q for n, q in enumerate(mixed) if n % folds != fold]
        weights = _chosen(index, mixed, {q.id for q in inside}, scored)
        changed = {f.name: getattr(weights, f.name) for f in fields(weights) if f.name in CHOICES}
        held |= {q.id: _of(index, mixed, weights, scored)[q.id] for n, q in enumerate(mixed) if n % folds == fold}
        print(f"fold {fold + 1}: {changed}", flush=True)
    for name, scores in (("held out", held), ("as shipped", _of(index, mixed, DEFAULT_WEIGHTS, scored))):
        for file, questions in asked.items():
            of_file = [scores[q.id] for q in questions]
            means, bounds = measures.mean(of_file), measures.intervals(of_file)
            shown = "  ".join(f"{m} {means[m]:.3f} [{bounds[m][0]:.3f}, {bounds[m][1]:.3f}]" for m in means)
            print(f"{name:11}{file:20}{shown}")


def _chosen(
    index: Index, questions: Sequence[Question], inside: set[str], scored: dict[Weights, dict[str, Scores]]
) -> Weights:
    """Go once through the fields and keep of each the value that is best on the questions `inside`."""

    def value(weights: Weights) -> float:
        scores = _of(index, questions, weights, scored)
        return measures.mean([scores[i] for i in sorted(inside)])["ndcg@10"]

    best = DEFAULT_WEIGHTS
    for name, choices in CHOICES.items():
        best = max((replace(best, **{name: choice}) for choice in (getattr(best, name), *choices)), key=value)
    return best


def _of(
    index: Index, questions: Sequence[Question], weights: Weights, scored: dict[Weights, dict[str, Scores]]
) -> dict[str, Scores]:
    if weights not in scored:
        scored[weights] = _scored(peers.ours(index, weights), questions, None)[0]
    return scored[weights]


if __name__ == "__main__":
    main()

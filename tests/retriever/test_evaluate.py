"""Questions with known answers are scored by file and by span; what cannot be scored is told."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import BadInput
from retriever import measures
from retriever.evaluate import compare, evaluate, read_questions, save
from retriever.measures import Judged
from retriever.search import Index, open_knowledge_base


@pytest.fixture(scope="module")
def index(sample_store: Path) -> Index:
    return open_knowledge_base(sample_store)


def line(id_: str, question: str, *answers: tuple[str, str, int, int], style: str = "behaviour") -> dict[str, Any]:
    ranges = [{"repo": repo, "path": path, "start": start, "end": end} for repo, path, start, end in answers]
    return {"id": id_, "question": question, "style": style, "answers": ranges}


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("\n".join(json.dumps(entry) for entry in lines), encoding="utf-8")
    return path


def place(index: Index, symbol: str) -> tuple[str, str, int, int]:
    passage = next(h.passage for h in index.lookup(symbol, "symbol"))
    return "Ascend/AscendNPU-IR", passage.path, passage.start_line, passage.end_line


def test_a_file_counts_once_and_a_span_must_be_met(index: Index, tmp_path: Path) -> None:
    where = place(index, "isContiguousRow")
    elsewhere = (where[0], where[1], 100_000, 100_001)
    file = written(tmp_path / "q.jsonl", line("a", "isContiguousRow", where), line("b", "isContiguousRow", elsewhere))
    right, wrong = evaluate(index, read_questions(file)).outcomes
    assert right.file["hit@5"] == right.span["hit@5"] == 1.0
    assert (wrong.file["hit@5"], wrong.span["hit@5"]) == (1.0, 0.0)
    assert len(set(right.found)) == len(right.found)


def test_what_is_not_indexed_is_told_and_not_scored(index: Index, tmp_path: Path) -> None:
    here = place(index, "isContiguousRow")
    gone = (here[0], "lib/Gone.cpp", 1, 2)
    file = written(
        tmp_path / "q.jsonl",
        line("a", "isContiguousRow", here, gone),
        line("b", "grid", ("triton-ascend", "x.py", 1, 2)),
        line("c", "grid", ("nobody/knows", "x.py", 1, 2)),
    )
    found = evaluate(index, read_questions(file))
    assert [o.question.id for o in found.outcomes] == ["a"]
    assert found.left_out == ("b", "c")
    assert found.not_indexed == ("nobody/knows", "triton-ascend")
    assert found.missing == ("ascendnpu-ir:lib/Gone.cpp",)
    assert found.outcomes[0].file["recall@10"] == 0.5


def test_a_run_compared_with_itself_differs_in_nothing(index: Index, tmp_path: Path) -> None:
    file = written(tmp_path / "q.jsonl", line("a", "isContiguousRow", place(index, "isContiguousRow")))
    evaluation = evaluate(index, read_questions(file))
    save(evaluation, tmp_path / "run.json")
    levels = compare(evaluation, tmp_path / "run.json")
    assert {(d.mean, d.better, d.worse) for level in levels.values() for d in level.values()} == {(0.0, 0, 0)}
    saved = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    saved["a"]["file"]["ndcg@10"] = 0.25
    (tmp_path / "run.json").write_text(json.dumps(saved), encoding="utf-8")
    worse = compare(evaluation, tmp_path / "run.json")["file"]["ndcg@10"]
    assert (worse.mean, worse.better) == (evaluation.outcomes[0].file["ndcg@10"] - 0.25, 1)


@pytest.mark.parametrize(
    "text", ["", "{", '{"id": "a", "question": "b"}', '{"id": "a", "question": "b", "answers": [1]}']
)
def test_what_is_no_question_is_named_by_its_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=r"q\.jsonl"):
        read_questions(path)


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(1, 4))
def test_the_measures_are_those_of_their_definitions(hits: list[bool], unseen: int) -> None:
    found = tuple(f"d{n}" for n in range(len(hits)))
    relevant = tuple(d for d, hit in zip(found, hits, strict=True) if hit) + tuple(f"u{n}" for n in range(unseen))
    scores = measures.score([Judged("q", relevant, found)])["q"]
    gains = [1 / math.log2(n + 2) for n in range(10)]
    ideal = sum(gains[: len(relevant)])
    assert scores["ndcg@10"] == pytest.approx(sum(g for g, hit in zip(gains, hits, strict=False) if hit) / ideal)
    assert scores["hit@5"] == float(any(hits[:5]))
    assert scores["recall@5"] == pytest.approx(sum(hits[:5]) / len(relevant))
    first = next((n for n, hit in enumerate(hits[:10], 1) if hit), 0)
    assert scores["mrr@10"] == pytest.approx(1 / first if first else 0.0)


def test_an_interval_holds_the_mean_and_narrows_with_more_questions() -> None:
    few = [dict.fromkeys(measures.MEASURES, float(n % 2)) for n in range(10)]
    low, high = measures.intervals(few)["hit@5"]
    assert low < 0.5 < high
    tight = measures.intervals(few * 20)["hit@5"]
    assert tight[1] - tight[0] < (high - low) / 2

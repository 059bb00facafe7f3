"""What rounds taught is kept beside the index, comes back for like findings, and goes when its passages change."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.memory import LESSONS, CitedDoc, LessonDoc, is_expired, open_memory, remember
from indexer.errors import StoreError
from retriever.records import Query
from retriever.search import Index, open_knowledge_base


@pytest.fixture(scope="module")
def index(sample_store: Path) -> Index:
    return open_knowledge_base(sample_store)


@pytest.fixture
def cited(index: Index) -> CitedDoc:
    passage = index.search(Query("columns"), 1)[0].passage
    return CitedDoc(id=passage.id, sha256=passage.sha256)


def a_lesson(passages: list[CitedDoc], change: str = "narrow_compare", **fields: object) -> LessonDoc:
    values = {
        "arch": "a3", "symptom": "i64_cmp", "change": change, "author": "rule", "verdict": "kept",
        "claim": "realised", "basis": "predicted", "effect": 0.4, "conditions": {"dtypes": "fp32"},
        "passages": passages, "run": "r", "round": 1,
    }  # fmt: skip
    return LessonDoc.model_validate({**values, **fields})


def test_a_lesson_comes_back_for_its_symptom_and_compiler_only(tmp_path: Path, index: Index, cited: CitedDoc) -> None:
    remember(tmp_path / LESSONS, [a_lesson([cited])])
    assert [each.change for each in open_memory(tmp_path, "a3").like("i64_cmp", {}, index)] == ["narrow_compare"]
    assert open_memory(tmp_path, "a3").like("mask_fill", {}, index) == []
    assert open_memory(tmp_path, "a5").like("i64_cmp", {}, index) == []


def test_lessons_under_like_conditions_come_first_then_newer_ones(
    tmp_path: Path, index: Index, cited: CitedDoc
) -> None:
    half = {"dtypes": "fp16"}
    lessons = [a_lesson([cited], name, conditions=half if name == "b" else {"dtypes": "fp32"}) for name in "abc"]
    remember(tmp_path / LESSONS, lessons)
    memory = open_memory(tmp_path, "a3")
    assert [each.change for each in memory.like("i64_cmp", half, index)] == ["b", "c", "a"]


def test_a_lesson_whose_passage_says_something_else_has_expired(tmp_path: Path, index: Index, cited: CitedDoc) -> None:
    stale = cited.model_copy(update={"sha256": "0" * 64})
    remember(tmp_path / LESSONS, [a_lesson([cited, stale])])
    memory = open_memory(tmp_path, "a3")
    assert memory.count == 1
    assert is_expired(memory.lessons[0], index)
    assert memory.like("i64_cmp", {}, index) == []


def test_the_same_lesson_is_kept_once(tmp_path: Path, cited: CitedDoc) -> None:
    for _ in range(2):
        remember(tmp_path / LESSONS, [a_lesson([cited])])
    assert open_memory(tmp_path, "a3").count == 1


def test_a_run_that_goes_on_knows_no_more_than_when_it_began(tmp_path: Path, cited: CitedDoc) -> None:
    remember(tmp_path / LESSONS, [a_lesson([cited], "a"), a_lesson([cited], "b")])
    assert [each.change for each in open_memory(tmp_path, "a3", 1).lessons] == ["a"]


def test_a_line_that_a_crash_cut_teaches_nothing_and_spoils_nothing(tmp_path: Path, cited: CitedDoc) -> None:
    path = tmp_path / LESSONS
    remember(path, [a_lesson([cited], "a")])
    path.write_bytes(path.read_bytes() + b'{"arch": "a3", "sym')
    remember(path, [a_lesson([cited], "b")])
    assert [each.change for each in open_memory(tmp_path, "a3").lessons] == ["a", "b"]


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path, cited: CitedDoc) -> None:
    (tmp_path / LESSONS).mkdir()
    with pytest.raises(StoreError, match=r"lessons\.jsonl"):
        remember(tmp_path / LESSONS, [a_lesson([cited])])

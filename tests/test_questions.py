"""The questions of `bench/questions`: their form, their twins, their folds, and that the sources hold their answers."""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

CHECK = Path(__file__).parent.parent / "bench" / "questions" / "check.py"
SOURCES = os.environ.get("TRITONKB_SOURCES")
STYLES = {"behaviour", "options", "error", "definition", "symptom"}


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_questions", CHECK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check = _load()
FILES = (*check.ANSWERABLE, *check.FOLDS.values())


def _answerable() -> list[dict[str, Any]]:
    return [row for name in check.ANSWERABLE for row in check.read_rows(name)]


def _is_chinese(text: str) -> bool:
    return any("一" <= letter <= "鿿" for letter in text)


def test_each_question_names_ranges_of_the_two_trees_and_what_they_hold() -> None:
    for row in _answerable():
        assert row["style"] in STYLES, row["id"]
        assert len(row["answers"]) == len(row["holds"]) > 0, row["id"]
        assert all(held.strip() for held in row["holds"]), row["id"]
        assert all(a["repo"] in check.COMMITS and 1 <= a["start"] <= a["end"] for a in row["answers"]), row["id"]


def test_an_answer_is_named_once_in_a_question() -> None:
    for row in _answerable():
        assert len({tuple(answer.values()) for answer in row["answers"]}) == len(row["answers"]), row["id"]


def test_ids_and_questions_are_unique_across_the_folds() -> None:
    rows = [row for name in FILES for row in (*check.read_rows(name), *check.read_rows(f"{name}.zh"))]
    assert Counter(row["id"] for row in rows).most_common(1)[0][1] == 2  # a question and its twin
    assert Counter(row["question"] for row in rows).most_common(1)[0][1] == 1


def test_a_third_is_held_out_by_the_rule_and_half_of_the_unanswerable() -> None:
    for (fold, unanswerable), held in zip(check.FOLDS.items(), (False, True), strict=True):
        assert all(check.is_held_out(row["id"], one_in=3) == held for row in check.read_rows(fold))
        assert all(check.is_held_out(row["id"], one_in=2) == held for row in check.read_rows(unanswerable))
    assert 3 * len(check.read_rows("heldout")) == sum(len(check.read_rows(fold)) for fold in check.FOLDS)


@pytest.mark.parametrize("name", FILES)
def test_the_chinese_twin_differs_in_the_question_only(name: str) -> None:
    english, chinese = check.read_rows(name), check.read_rows(f"{name}.zh")
    assert [{**row, "question": ""} for row in english] == [{**row, "question": ""} for row in chinese]
    assert not any(_is_chinese(row["question"]) for row in english)
    assert all(_is_chinese(row["question"]) for row in chinese)


def test_there_are_as_many_as_the_measurements_need() -> None:
    rows = _answerable()
    assert len(rows) >= 72
    assert 0.4 <= sum(row["avoids_identifiers"] for row in rows) / len(rows) <= 0.7
    assert {row["style"] for row in rows} == STYLES
    assert {answer["repo"] for row in rows for answer in row["answers"]} == set(check.COMMITS)
    assert sum(len(check.read_rows(name)) for name in check.FOLDS.values()) >= 36


def test_an_unanswerable_question_names_what_the_trees_must_lack() -> None:
    rows = [row for name in check.FOLDS.values() for row in check.read_rows(name)]
    assert all(row["kind"] in {"near-miss", "other"} and row["absent"] for row in rows)


@pytest.mark.skipif(SOURCES is None, reason="TRITONKB_SOURCES names no folder with the compilers' repositories")
def test_the_sources_hold_every_answer_and_lack_what_is_called_absent() -> None:
    assert list(check.faults(Path(str(SOURCES)))) == []

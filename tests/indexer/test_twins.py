"""Translations are found by path and by the order of headings."""

import pytest

from indexer.chunk import chunk_file, grammar_of
from indexer.grammar.markdown import NOTE_GRAMMAR
from indexer.records import Corpus, Passage
from indexer.twins import document_key, find_twins

CORPUS = Corpus("toy", "here", "0" * 40, "a3")
ENGLISH = """# Row planning

What a row costs.

## Options

`enable-row-prefetch` reads ahead.

## Background

Only the English text tells this story.

### toy.copy_row

Copies 32 bytes.
"""
CHINESE = """# 行规划

每一行的开销。

## 选项

`enable-row-prefetch` 提前读取。

### toy.copy_row

每次搬运 32 字节。
"""


def passages_of(path: str, text: str) -> list[Passage]:
    grammar = grammar_of(path)
    assert grammar is not None
    return list(chunk_file(CORPUS, path, text, grammar).passages)


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("docs/en/a/rows.md", "docs/zh_cn/a/rows.md"),
        ("README.md", "README_zh.md"),
        ("README.md", "README.zh-CN.md"),
        ("docs/rows_en.md", "docs/rows_zh.md"),
        ("docs/en/features/RowPlan/RowPlan.md", "docs/zh/features/row_plan.md"),
    ],
)
def test_a_path_and_its_translation_have_one_key(english: str, chinese: str) -> None:
    key, is_chinese = document_key(english)
    assert (key, not is_chinese) == document_key(chinese)
    assert not is_chinese


def test_other_documents_have_other_keys() -> None:
    keys = {document_key(path)[0] for path in ("docs/en/rows.md", "docs/en/rows/index.md", "docs/en/enrows.md")}
    assert len(keys) == 3


def test_sections_are_matched_in_order_and_one_without_a_translation_is_left_out() -> None:
    passages = [*passages_of("docs/en/rows.md", ENGLISH), *passages_of("docs/zh/rows.md", CHINESE)]
    twins = find_twins(passages)
    assert all(twins[b] == a for a, b in twins.items())
    titles = {passages[a].symbol: passages[b].symbol for a, b in twins.items()}
    assert titles["行规划"] == "Row planning"
    assert titles["选项"] == "Options"
    assert titles["toy.copy_row"] == "toy.copy_row"
    assert "Background" not in titles


def test_a_card_holds_both_languages() -> None:
    text = "# split\n\n## English: columns\n\n- one\n\n## 中文：列\n\n- 一\n"
    passages = list(chunk_file(CORPUS, "split.md", text, NOTE_GRAMMAR).passages)
    (pair,) = {frozenset(pair) for pair in find_twins(passages).items()}
    assert {passages[row].symbol[:2] for row in pair} == {"En", "中文"}


def test_documents_of_other_names_are_no_twins() -> None:
    passages = [*passages_of("docs/en/rows.md", ENGLISH), *passages_of("docs/zh/columns.md", CHINESE)]
    assert find_twins(passages) == {}

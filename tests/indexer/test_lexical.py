from pathlib import Path

import bm25s
import numpy as np
import pytest

from indexer.lexical import LexicalField, write_lexical

DOCUMENTS = [["pad", "row", "row"], ["column", "row"], [], ["buffer", "pad", "双缓"]]


@pytest.fixture
def field(tmp_path: Path) -> LexicalField:
    write_lexical(tmp_path / "field", DOCUMENTS, lambda: None)
    return LexicalField(tmp_path / "field")


@pytest.mark.parametrize("words", [["row"], ["pad", "row"], ["双缓", "column"], ["pad", "pad"]])
def test_scores_are_those_of_bm25s(field: LexicalField, words: list[str]) -> None:
    library = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    library.index(DOCUMENTS, show_progress=False)
    assert np.allclose(field.score(words), library.get_scores(words), atol=1e-6)


def test_an_unknown_word_scores_nothing(field: LexicalField) -> None:
    assert not field.score(["tensor"]).any()
    assert not field.knows("tensor")


def test_a_field_without_any_word_is_kept(tmp_path: Path) -> None:
    write_lexical(tmp_path / "empty", [[], []], lambda: None)
    assert LexicalField(tmp_path / "empty").score(["row"]).tolist() == [0.0, 0.0]


def test_no_documents_at_all_are_kept(tmp_path: Path) -> None:
    write_lexical(tmp_path / "none", [], lambda: None)
    assert LexicalField(tmp_path / "none").count == 0

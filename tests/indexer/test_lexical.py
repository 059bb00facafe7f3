from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.lexical import LexicalField, read_counts, write_lexical

DOCUMENTS = [["pad", "row", "row"], ["column", "row"], [], ["buffer", "pad", "双缓"]]


@pytest.fixture
def field(tmp_path: Path) -> LexicalField:
    write_lexical(tmp_path / "field", map(Counter, DOCUMENTS), lambda: None)
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
    write_lexical(tmp_path / "empty", [{}, {}], lambda: None)
    assert LexicalField(tmp_path / "empty").score(["row"]).tolist() == [0.0, 0.0]


def test_no_documents_at_all_are_kept(tmp_path: Path) -> None:
    write_lexical(tmp_path / "none", [], lambda: None)
    assert LexicalField(tmp_path / "none").count == 0


@given(
    before=st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), max_size=8),
    after=st.lists(st.lists(st.sampled_from("defghi"), max_size=6), max_size=8),
    data=st.data(),
)
@settings(max_examples=40, deadline=None)
def test_an_update_counts_as_a_fresh_index(
    before: list[list[str]], after: list[list[str]], data: st.DataObject
) -> None:
    """Old documents kept in any order between new ones score as if all had been counted at once."""
    kept = data.draw(st.permutations(range(len(before))).map(lambda p: p[: data.draw(st.integers(0, len(p)))]))
    places = data.draw(st.permutations([*kept, *[-1] * len(after)]))
    new = iter(after)
    documents = [before[old] if old >= 0 else next(new) for old in places]
    with TemporaryDirectory() as folder:
        old, updated, fresh = (Path(folder) / name for name in ("old", "updated", "fresh"))
        write_lexical(old, map(Counter, before), lambda: None)
        write_lexical(updated, map(Counter, after), lambda: None, read_counts(old), np.asarray(places, np.int64))
        write_lexical(fresh, map(Counter, documents), lambda: None)
        one, other = LexicalField(updated), LexicalField(fresh)
        for word in "abcdefghi":
            assert one.score([word]).tolist() == other.score([word]).tolist()
            assert one.knows(word) == other.knows(word)


def test_the_body_minds_length_and_repetition_less_than_prose(tmp_path: Path) -> None:
    documents = [["pad", "pad", "pad"], ["pad"] + ["row"] * 30, ["row"]]
    ratios = {}
    for name in ("body", "natural"):
        write_lexical(tmp_path / name, map(Counter, documents), lambda: None)
        short, long, _ = LexicalField(tmp_path / name).score(["pad"])
        ratios[name] = short / long
    assert ratios["body"] < ratios["natural"]

from pathlib import Path

import pytest

from indexer.records import Passage
from retriever.attribution import evidence_for
from retriever.search import Index, open_knowledge_base


@pytest.fixture(scope="module")
def index(sample_store: Path) -> Index:
    return open_knowledge_base(sample_store)


def test_the_note_and_the_code_come_before_the_catalogue(index: Index) -> None:
    hits = evidence_for(index, ("toy-split-columns",), ("toy.ir.copy_row",), "column of a row-major tile", 3)
    kinds = [hit.passage.kind for hit in hits]
    assert {"note", "pass_impl"} <= set(kinds)
    assert kinds[-1] == "pass_def"
    assert any("SplitColumns" in hit.passage.path for hit in hits)


def test_words_choose_among_the_passages_of_one_pass(index: Index) -> None:
    hits = evidence_for(index, ("toy-fold-wide-pad",), (), "contiguous row, innermost stride is one", 4)
    assert any("isContiguousRow" in hit.passage.symbol or hit.passage.symbol == "PadIntoLoad" for hit in hits[:2])
    assert all(hit.why for hit in hits)


def test_kinds_are_mixed(index: Index) -> None:
    hits = evidence_for(index, ("toy-fold-wide-pad",), (), "pad", 5)
    assert len({hit.passage.kind for hit in hits}) >= 3


def test_an_unknown_pass_falls_back_to_the_words(index: Index) -> None:
    hits = evidence_for(index, ("no-such-pass",), (), "prefetch the next row", 2)
    assert any("refetch" in hit.passage.text for hit in hits)


def test_nothing_known_gives_nothing(index: Index) -> None:
    assert evidence_for(index, (), (), "", 3) == []


def test_every_piece_of_evidence_can_be_cited(index: Index) -> None:
    for hit in evidence_for(index, ("toy-fold-wide-pad", "toy-split-columns"), (), "row", 6):
        assert isinstance(index.check_citation(hit.passage.id, hit.passage.sha256), Passage)

"""A card's citations lead to the code, at the commit it names and at others."""

from pathlib import Path

import pytest

from indexer.build import build_index
from indexer.embed import HashEmbedder
from retriever.attribution import evidence_for
from retriever.notes import cited_by
from retriever.search import Index, open_knowledge_base
from tests.conftest import notes_job, sample_job

CARD = """# wide_pad

## English: a pad doubles the traffic

- symptom: `wide_pad`
- passes: `toy-fold-wide-pad`
- condition: `isContiguousRow` wants an innermost stride of one.
  `ascendnpu-ir@{commit}:lib/Toy/Transforms/FoldWidePad.cpp#L{first}-L{last}`

## 中文：填充使搬运量翻倍

- 条件：`isContiguousRow` 要求最内维步长为一。
  `ascendnpu-ir@{commit}:lib/Toy/Transforms/FoldWidePad.cpp#L{first}-L{last}`
"""


def index_with_card(store: Path, commit: str, first: int, last: int) -> Index:
    card = CARD.format(commit=commit, first=first, last=last)
    job = notes_job({"wide_pad.md": card, "other.md": card.replace("wide_pad", "other")})
    build_index(store, [sample_job(), job], HashEmbedder(), lambda *_: None)
    return open_knowledge_base(store)


def cited(index: Index) -> list[tuple[str, str]]:
    (note,) = [r.passage for r in index.generation.shelf.rows(index.generation.shelf.paths_ending("wide_pad.md"))][:1]
    found = list(cited_by(index.generation, note))
    return [(index.generation.shelf.rows([c.row])[0].passage.symbol, c.why) for c in found]


def test_at_the_commit_of_the_card_the_very_lines_are_found(tmp_path: Path) -> None:
    commit = sample_job().tree.corpus.commit[:12]
    assert cited(index_with_card(tmp_path, commit, 22, 30)) == [("PadIntoLoad", "cited by wide_pad.md")]


@pytest.mark.parametrize(("first", "last"), [(14, 20), (400, 410)])
def test_at_another_commit_the_code_that_the_claim_names_is_found(tmp_path: Path, first: int, last: int) -> None:
    ((symbol, why),) = cited(index_with_card(tmp_path, "0123456789ab", first, last))
    assert "isContiguousRow" in symbol
    assert why == "wide_pad.md cites this code at 0123456789ab"


def test_evidence_is_the_card_asked_for_in_the_users_language_and_its_code(tmp_path: Path) -> None:
    index = index_with_card(tmp_path, "0123456789ab", 14, 20)
    for lang, start in (("en", "English: a pad doubles"), ("zh", "中文：填充使搬运量翻倍")):
        hits = evidence_for(index, ("toy-fold-wide-pad",), (), "", 4, symptom="wide_pad", lang=lang)
        notes = [hit.passage for hit in hits if hit.passage.kind == "note"]
        assert [note.path for note in notes] == ["wide_pad.md"]
        assert notes[0].symbol.startswith(start)
        first = [hit.passage for hit in hits[:2]]
        assert notes[0] in first
        assert any("isContiguousRow" in passage.symbol for passage in first)


def test_a_symptom_without_a_card_borrows_none(tmp_path: Path) -> None:
    index = index_with_card(tmp_path, "0123456789ab", 14, 20)
    hits = evidence_for(index, ("toy-fold-wide-pad",), (), "pad", 5, symptom="another")
    assert all(hit.passage.kind != "note" for hit in hits)

"""Every symptom has a card in both languages, whose citations open, and which a finding's look-up finds first."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from agent.symptoms.base import Symptom
from agent.symptoms.cuda.table import CUDA_SYMPTOMS
from agent.symptoms.table import SYMPTOMS
from corpora.cards import Card, read_card, read_cards
from indexer.build import build_index
from indexer.chunk import chunk_file
from indexer.corpus import TextTree, read_manifest
from indexer.embed import Embedder, HashEmbedder, load_embedder
from indexer.grammar.markdown import NOTE_GRAMMAR
from indexer.reading import Job
from indexer.records import Corpus
from retriever.attribution import evidence_for
from retriever.records import Query
from retriever.search import Index, open_knowledge_base

CARDS = read_cards()
CHECKER = Path(__file__).parents[2] / "bench" / "check_notes.py"
# The commits of the wheels whose compilers tritonkb drives.
PINNED = {"ascendnpu-ir": "8796a8ac1508", "ascendnpu-ir-a5": "f9d978b14443", "triton-ascend": "23ac2717c0a3"}
MAX_COLUMNS = 120
SOURCES = os.environ.get("TRITONKB_SOURCES")

all_cards = pytest.mark.parametrize("card", CARDS.values(), ids=list(CARDS))
# The cards of the CUDA symptoms cite the commit that their catalogue was checked at.
CITED = PINNED | {"triton": "5838701feb5c"}
ALL = (*SYMPTOMS, *CUDA_SYMPTOMS)

all_symptoms = pytest.mark.parametrize("symptom", ALL, ids=[s.card for s in ALL])


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return built(tmp_path_factory.mktemp("store"), HashEmbedder())


def built(store: Path, embedder: Embedder) -> Index:
    tree = TextTree("notes", "all", "tritonkb", {f"{name}.md": card.text for name, card in CARDS.items()})
    build_index(store, [Job(tree, read_manifest("notes"), "notes")], embedder, lambda *_: None)
    return open_knowledge_base(store)


def commits_in_manifests() -> Iterator[tuple[str, str]]:
    for name in PINNED:
        yield name, read_manifest(name).commit


def test_the_pinned_commits_are_those_of_the_manifests() -> None:
    assert {name: commit[:12] for name, commit in commits_in_manifests()} == PINNED


@all_symptoms
def test_a_symptom_has_a_card_that_names_its_passes(symptom: Symptom) -> None:
    card = CARDS[symptom.card]
    assert card.heading == symptom.card
    for section in card.sections:
        assert set(symptom.passes) <= set(section.passes)


@all_cards
def test_a_card_says_the_same_in_english_and_chinese(card: Card) -> None:
    english, chinese = card.sections
    assert (english.language, chinese.language) == ("en", "zh")
    assert english.passes == chinese.passes
    assert english.citations == chinese.citations
    assert [fact.citations for fact in english.facts] == [fact.citations for fact in chinese.facts]
    assert [sorted(fact.names) for fact in english.facts] == [sorted(fact.names) for fact in chinese.facts]


@all_cards
def test_each_section_cites_the_compiler_at_its_pinned_commit(card: Card) -> None:
    for section in card.sections:
        assert section.citations
        for cited in section.citations:
            assert CITED.get(cited.corpus) == cited.commit
            assert 1 <= cited.start <= cited.end
    written = re.findall(r"[\w-]+@[0-9a-f]{7,}", card.text)
    assert len(written) == sum(len(fact.citations) for section in card.sections for fact in section.facts)


@all_cards
def test_lines_are_short_but_for_citations(card: Card) -> None:
    too_long = [ln for ln in card.text.split("\n") if len(ln) > MAX_COLUMNS and not re.fullmatch(r"  `\S+`", ln)]
    assert too_long == []


@all_cards
def test_a_card_is_one_passage_a_language_with_all_that_supports_it(card: Card) -> None:
    passages = chunk_file(Corpus("notes", "", "0" * 40, "all"), f"{card.symptom}.md", card.text, NOTE_GRAMMAR).passages
    assert [p.kind for p in passages] == ["note", "note"]
    for passage, section in zip(passages, card.sections, strict=True):
        assert section.title in passage.symbol
        assert f"`{card.symptom}`" in passage.text
        assert all(f"`{name}`" in passage.text for name in section.passes)
        assert all(f"`{cited}`" in passage.text for cited in section.citations)
        assert "@" not in passage.natural


def test_a_fact_keeps_its_words_apart_from_its_citations() -> None:
    text = "# x\n\n## English: t\n\n- a `B`\n  c.\n  `corpus-a@0123456789ab:d/e.cpp#L1-L2`\n- f\n\n## 中文：t\n"
    first, second = read_card("x", text).sections[0].facts
    assert (first.text, first.names, [str(c) for c in first.citations]) == (
        "- a `B` c.", ("B",), ["corpus-a@0123456789ab:d/e.cpp#L1-L2"],
    )  # fmt: skip
    assert (second.text, second.citations) == ("- f", ())


def test_the_cards_are_package_data() -> None:
    names = {e.name for e in resources.files("corpora").joinpath("notes").iterdir()}
    assert {f"{s.card}.md" for s in ALL} <= names


@all_symptoms
def test_a_pass_finds_the_cards_of_its_symptoms(symptom: Symptom, index: Index) -> None:
    for name in symptom.passes:
        found = [hit.passage.path for hit in index.search(Query("", passes=(name,)), 200)]
        assert found.count(f"{symptom.card}.md") == len(CARDS[symptom.card].sections)


@all_symptoms
def test_a_finding_is_supported_by_its_own_card_first(symptom: Symptom, index: Index) -> None:
    hits = evidence_for(index, symptom.passes, symptom.ops, f"{symptom.card} {symptom.query}", 4, symptom=symptom.card)
    assert hits[0].passage.path == f"{symptom.card}.md"


@pytest.mark.slow
def test_the_default_embedder_finds_each_symptoms_own_card_first(tmp_path: Path) -> None:
    default = built(tmp_path, load_embedder("wordllama"))
    first = {
        s.id: evidence_for(default, s.passes, s.ops, f"{s.id} {s.query}", 4)[0].passage.path.removesuffix(".md")
        for s in SYMPTOMS
    }
    assert first == {s.id: s.id for s in SYMPTOMS}


@pytest.mark.skipif(SOURCES is None, reason="TRITONKB_SOURCES names no folder with the compilers' repositories")
def test_every_cited_range_opens_and_is_not_blank() -> None:
    done = subprocess.run(
        [sys.executable, CHECKER, "--sources", SOURCES or "", "--json"],
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert report["failures"] == []
    assert report["citations"] == len({c for card in CARDS.values() for s in card.sections for c in s.citations})

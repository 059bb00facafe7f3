"""Exact names first, then words and meaning; every hit says why; citations are checked."""

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.build import build_index
from indexer.corpus import TextTree, read_manifest
from indexer.embed import HashEmbedder
from indexer.errors import BadInput, StoreError
from indexer.reading import Job
from indexer.records import Passage
from indexer.store import current_folder
from retriever.query import understand
from retriever.rank import Weights
from retriever.records import Hit, Query
from retriever.search import Index, Refused, open_knowledge_base
from tests.conftest import sample_job


@pytest.fixture(scope="module")
def index(sample_store: Path) -> Index:
    return open_knowledge_base(sample_store)


def symbols(hits: list[Hit]) -> list[str]:
    return [hit.passage.symbol for hit in hits]


def test_a_pass_argument_gives_definition_then_implementation(index: Index) -> None:
    hits = index.search(Query("toy-fold-wide-pad"))
    assert symbols(hits)[0] == "toy-fold-wide-pad"
    assert set(symbols(hits)[1:3]) == {"PadIntoLoad", "FoldWidePadPass"}
    assert hits[0].why == ("defines pass toy-fold-wide-pad",)
    assert [h.passage.symbol for h in index.lookup("toy-fold-wide-pad", "pass")][:1] == ["toy-fold-wide-pad"]


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("toy.ir.copy_row", "CopyRowOp"), ("--enable-row-prefetch", "EnableRowPrefetch"),
        ("SplitColumnsPass", "SplitColumnsPass"), ("FoldWidePad.cpp", "isContiguousRow"),
    ],
)  # fmt: skip
def test_a_bare_name_is_answered_exactly(index: Index, text: str, symbol: str) -> None:
    assert any(symbol in s for s in symbols(index.search(Query(text))[:3]))


def test_a_name_inside_a_question_is_recognised(index: Index) -> None:
    question = understand("why does --toy-fold-wide-pad leave toy.ir.pad in FoldWidePad.cpp?", index.names.vocabulary)
    assert {(n.name, n.sort) for n in question.named} == {
        ("toy-fold-wide-pad", "pass"), ("toy.ir.pad", "op"), ("FoldWidePad.cpp", "file"),
    }  # fmt: skip
    assert not question.only_names


def test_words_find_comments_that_share_no_identifier(index: Index) -> None:
    hits = index.search(Query("strided row read element by element"))
    assert "isContiguousRow" in symbols(hits)[0]
    assert any(reason.startswith("natural ") for reason in hits[0].why)


def test_a_chinese_question_finds_the_chinese_section_and_the_note(index: Index) -> None:
    assert "双缓冲预取" in symbols(index.search(Query("如何开启双缓冲预取？")))[:2]
    assert "症状" in symbols(index.search(Query("按列读取为什么带宽利用率低")))[:2]


def test_a_bilingual_card_answers_in_the_language_of_the_question(index: Index) -> None:
    assert symbols(index.search(Query("按列读取为什么带宽利用率低")))[0] == "症状"
    assert (
        symbols(index.search(Query("a column of a row-major tile is read one element at a time")))[0] == "What is seen"
    )


def test_a_file_counts_for_what_stands_anywhere_in_it(index: Index) -> None:
    question = Query("wide pad row contiguous fold transfer")
    plain, whole = (index.search(question, 30, Weights(covered=covered)) for covered in (0.0, 2.0))
    assert whole[0].passage.path == "lib/Toy/Transforms/FoldWidePad.cpp"
    assert whole[0].score > plain[0].score
    assert any(reason.startswith("covered ") for reason in whole[0].why)


def test_headers_and_documents_can_count_less(tmp_path: Path) -> None:
    texts = {
        "plan.h": "// Plans a row.\nvoid planRow();\n",
        "plan.cpp": "// Plans a row.\nvoid planRow() {}\n",
        "plan.md": "# Plans a row\n",
        "other.md": "# Rows\n\nHere is much on rows, and no word on anything else.\n",
    }
    manifest = replace(read_manifest("ascendnpu-ir"), include=("**",))
    job = Job(TextTree("ascendnpu-ir", "a3", "made", texts), manifest, "made")
    build_index(tmp_path / "store", [job], HashEmbedder(), lambda *_: None)
    index = open_knowledge_base(tmp_path / "store")
    even = Weights(header=1.0, document=1.0)
    for path, damped in (("plan.h", replace(even, header=0.5)), ("plan.md", replace(even, document=0.5))):
        scores = [
            next(hit.score for hit in index.search(Query("plan a row"), 30, weights) if hit.passage.path == path)
            for weights in (even, damped)
        ]
        assert scores[1] == pytest.approx(scores[0] / 2, abs=1e-3)


def test_nearness_in_meaning_is_asked_of_the_passages_that_share_most_words(index: Index) -> None:
    question = Query("why is a row padded before it is loaded")
    asked = [
        sum(
            reason.startswith("meaning ")
            for hit in index.search(question, 30, Weights(near=near))
            for reason in hit.why
        )
        for near in (10**6, 5)
    ]
    assert asked[0] > asked[1] > 0


def test_kinds_and_corpora_limit_the_answer(index: Index) -> None:
    assert {h.passage.kind for h in index.search(Query("pad row", kinds=("test",)))} == {"test"}
    assert {h.passage.corpus for h in index.search(Query("column row", corpora=("notes",)))} == {"notes"}
    assert index.search(Query("pad row", corpora=("mlir",))) == []


def test_tests_are_damped(index: Index) -> None:
    plain = index.search(Query("a strided row stays"), limit=30, weights=Weights(test=1.0))
    damped = index.search(Query("a strided row stays"), limit=30, weights=Weights(test=0.1))
    place = [next(n for n, h in enumerate(hits) if h.passage.kind == "test") for hits in (plain, damped)]
    assert place[0] < place[1]


def test_nothing_in_common_gives_no_hit(index: Index) -> None:
    assert index.search(Query("")) == []
    assert index.search(Query("quux zyzzyva"), weights=Weights(dense=0.0)) == []


def test_near_names_are_offered(index: Index) -> None:
    assert "toy-fold-wide-pad" in index.near("toy-fold-wide-pads", "pass")
    assert "toy-fold-wide-pad" in index.near("wide-pad", "pass")


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=200))
def test_no_text_breaks_a_search(index: Index, text: str) -> None:
    assert len(index.search(Query(text), limit=3)) <= 3


@pytest.mark.parametrize(
    "text",
    ["' OR 1=1 --", '{"$ne": null}', "\0\x1b[31m", "%_\\", "(((", "a" * 100_000, "-- -", "*", "../../etc/passwd"],
)
def test_hostile_text_is_only_text(index: Index, text: str) -> None:
    assert len(index.search(Query(text), limit=3)) <= 3


def test_an_id_opens_the_very_text(index: Index) -> None:
    for hit in index.search(Query("pad row column"), limit=20):
        assert index.passage(hit.passage.id) == hit.passage
        assert index.check_citation(hit.passage.id, hit.passage.sha256) == hit.passage


def test_lines_inside_a_passage_open_it(index: Index) -> None:
    passage = index.search(Query("SplitColumnsPass"))[0].passage
    inside = passage.id.replace(f"#L{passage.start_line}-", f"#L{passage.start_line + 1}-")
    assert index.passage(inside) == passage


@pytest.mark.parametrize("id_", ["notes@abc:x", "x", "notes@123456789012:a.md", "a@b#L1-L2"])
def test_what_is_no_id_is_told(index: Index, id_: str) -> None:
    with pytest.raises(BadInput, match="not a passage id"):
        index.passage(id_)


def test_an_unknown_id_gives_ids_of_the_same_file(index: Index) -> None:
    passage = index.search(Query("SplitColumnsPass"))[0].passage
    unknown = passage.id.replace(f"-L{passage.end_line}", "-L900")
    assert index.passage(unknown) is None
    assert passage.id in index.near_ids(unknown)
    assert isinstance(index.check_citation(unknown, passage.sha256), Refused)


@pytest.mark.parametrize("field", ["text", '"natural"', "last"])
def test_a_passage_changed_in_the_store_is_refused(sample_store: Path, tmp_path: Path, field: str) -> None:
    store = tmp_path / "tampered"
    shutil.copytree(sample_store, store)
    cited = open_knowledge_base(store).search(Query("SplitColumnsPass"))[0].passage
    folder = current_folder(store)
    assert folder is not None
    with sqlite3.connect(folder / "passages.sqlite") as database:
        changed = {"text": "'a column is copied at once'", '"natural"': "'x'", "last": "last + 1"}[field]
        database.execute(f"UPDATE passages SET {field} = {changed} WHERE key = ?", (cited.key,))  # noqa: S608
    answer = open_knowledge_base(store).check_citation(cited.id, cited.sha256)
    if field == "text":
        assert answer == Refused(cited.id, "text differs")
    else:
        assert isinstance(answer, Passage)
        assert answer.text == cited.text, "what was cited is the text, and it still stands"


def test_a_citation_of_another_text_is_refused(index: Index) -> None:
    passage = index.search(Query("SplitColumnsPass"))[0].passage
    assert index.check_citation(passage.id, "0" * 64) == Refused(passage.id, "text differs")


def test_an_old_id_opens_while_its_text_is_still_there(tmp_path: Path, sample_tree: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(sample_tree, tree)
    build_index(tmp_path / "store", [sample_job(tree)], HashEmbedder(), lambda *_: None)
    old = open_knowledge_base(tmp_path / "store").search(Query("SplitColumnsPass"))[0].passage
    other = open_knowledge_base(tmp_path / "store").search(Query("toy.ir.copy_row"))[0].passage
    (tree / "include/Toy/Ops.td").write_text('def Gone : Toy_Op<"gone">;\n')
    build_index(tmp_path / "store", [sample_job(tree)], HashEmbedder(), lambda *_: None)
    now = open_knowledge_base(tmp_path / "store")
    assert isinstance(now.check_citation(old.id, old.sha256), Passage)
    assert isinstance(now.check_citation(other.id, other.sha256), Refused)


def test_an_index_of_other_weights_is_told(sample_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = open_knowledge_base(sample_store)
    monkeypatch.setattr(index.manifest.__class__, "versions", {"tokenizers": "0"}, raising=False)
    with pytest.raises(StoreError, match="the index was made with hash"):
        _ = index.embedder

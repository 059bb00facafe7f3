from pathlib import Path

import pytest

from indexer.build import build_index
from indexer.corpus import FolderTree, Manifest
from indexer.embed import HashEmbedder
from indexer.reading import Job
from indexer.records import Link
from retriever.lookup import Found, in_turn
from retriever.query import Named
from retriever.records import Hit, Query
from retriever.search import Index, open_knowledge_base

WEAVE = Path(__file__).parents[1] / "samples" / "weave"
SPILL = "k.py:7:3: error: ub spilled, needs 4096 bytes while 1024 bytes are there! (a narrower tree may fit)"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    store = tmp_path_factory.mktemp("weave") / "index"
    manifest = Manifest("ascendnpu-ir", "a3", "Apache-2.0", tests=("test/**",))
    job = Job(FolderTree(manifest.name, manifest.target, WEAVE), manifest, f"{manifest.name}={WEAVE}")
    build_index(store, [job], HashEmbedder(), lambda *_: None)
    return open_knowledge_base(store)


def files(hits: list[Hit]) -> list[str]:
    return [hit.passage.path.rpartition("/")[2] for hit in hits]


def test_a_pass_is_answered_in_the_order_definition_implementation_options_tests_documents(index: Index) -> None:
    found = files(index.search(Query(passes=("weave-sum-tree",)), 20))
    order = [found.index(f) for f in ("Passes.td", "SumTree.cpp", "Options.td", "sum-tree.mlir", "passes.md")]
    assert order == sorted(order)
    assert order[0] == 0


def test_an_operation_is_answered_with_its_definition_code_library_and_tests(index: Index) -> None:
    found = files(index.search(Query(ops=("weave.hw.vsum",)), 20))
    assert found[0] == "Ops.td"
    assert {"Vector.cpp", "Arith.cpp", "sum-tree.mlir", "passes.md"} <= set(found)


def test_a_pasted_diagnostic_is_answered_with_the_code_that_says_it_then_its_test(index: Index) -> None:
    hits = index.search(Query(diagnostics=(SPILL,)), 10)
    assert files(hits)[0] == "SumTree.cpp"
    assert "sum-tree.mlir" in files(hits)
    assert hits[0].why[0].startswith("defines diagnostic spilled, needs * bytes")


def test_a_generated_verifiers_diagnostic_is_answered_with_the_operations_definition(index: Index) -> None:
    hits = index.search(Query(diagnostics=("error: 'weave.hw.vadd' op operand #0 must be a vector, but got 'i32'",)), 5)
    assert files(hits)[0] == "Ops.td"
    assert hits[0].why == ("defines op weave.hw.vadd",)


def test_the_option_that_is_called_like_the_pass_comes_first(index: Index) -> None:
    hits = index.search(Query(passes=("weave-sum-tree",), kinds=("option",)), 5)
    assert [hit.passage.symbol for hit in hits] == ["EnableSumTree", "TreeWidth"]


def test_an_unknown_diagnostic_finds_nothing(index: Index) -> None:
    assert index.search(Query(diagnostics=("error: something else entirely",)), 5) == []


@pytest.mark.parametrize(
    ("name", "sort", "near"),
    [
        ("weave-sum-tre", "pass", "weave-sum-tree"),
        ("SumTree", "pass", "weave-sum-tree"),
        ("enable_sum_tree", "option", "enable-sum-tree"),
        ("weave.hw.vad", "op", "weave.hw.vadd"),
        ("bytes are there, narrower tree", "diagnostic", "spilled, needs"),
    ],
)
def test_a_typo_or_another_spelling_is_told_the_name(index: Index, name: str, sort: str, near: str) -> None:
    found = index.near(name, sort)  # type: ignore[arg-type]
    assert found[0].startswith(near)
    assert len(found) == len(set(found))


def test_links_lead_from_rows_to_their_definition(index: Index) -> None:
    shelf = index.generation.shelf
    (definition,) = [row for row, relation in shelf.named("weave-sum-tree", "pass") if relation == "defines"]
    links = shelf.links()
    assert {"implements", "tests", "documents", "option_of"} <= {k.relation for k in links if k.target == definition}
    arrays = index.generation.links
    numbers = zip(arrays.source.tolist(), arrays.target.tolist(), arrays.relation.tolist(), strict=True)
    assert links == [Link(source, target, arrays.relations[number]) for source, target, number in numbers]


def test_a_row_stands_in_the_file_of_its_number(index: Index) -> None:
    generation = index.generation
    for row in generation.shelf.everything():
        place = generation.places[generation.columns["file"][row.row]]
        assert place == (row.passage.corpus, row.passage.path)


def test_every_naming_of_a_row_is_found_by_row_and_by_name(index: Index) -> None:
    shelf = index.generation.shelf
    for naming in (n for row in range(len(index.generation.columns)) for n in shelf.namings(row)):
        assert (naming.row, naming.relation) in shelf.named(naming.name, naming.sort)


def test_groups_take_turns_so_that_many_tests_hide_nothing() -> None:
    tests = [Found(row, "tests", "test") for row in range(50)]
    found = in_turn(
        [*tests, Found(90, "documents", "doc"), Found(91, "defines", "catalog"), Found(92, "defines", "op_def")]
    )
    assert [f.row for f in found[:4]] == [92, 91, 0, 90]


def test_a_document_that_is_titled_with_the_name_comes_first() -> None:
    found = in_turn([Found(1, "documents", "doc"), Found(2, "documents", "doc", shared=2)])
    assert [f.row for f in found] == [2, 1]


def test_a_reason_shows_the_message_and_not_the_whole_pasted_log(index: Index) -> None:
    reasons = [
        why for _, found in index.exact([Named(SPILL + " x" * 500, "diagnostic")], None).values() for why in found
    ]
    assert reasons
    assert all(len(reason) < 120 for reason in reasons)

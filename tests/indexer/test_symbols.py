from pathlib import Path

import pytest

from indexer.graph.options import option_name
from indexer.opnames import OpNames
from indexer.records import Sort
from indexer.shelf import Shelf
from indexer.store import open_generation


@pytest.fixture(scope="module")
def shelf(sample_store: Path) -> Shelf:
    return open_generation(sample_store).shelf


def found(shelf: Shelf, name: str, sort: Sort) -> set[tuple[str, str]]:
    """Relation and symbol of each passage that `name` stands in."""
    return {(relation, shelf.rows([row])[0].passage.symbol) for row, relation in shelf.named(name, sort)}


def test_a_pass_is_linked_from_its_definition_to_the_code_that_runs(shelf: Shelf) -> None:
    links = found(shelf, "toy-fold-wide-pad", "pass")
    assert ("defines", "toy-fold-wide-pad") in links
    assert {("implements", "PadIntoLoad"), ("implements", "FoldWidePadPass")} <= links
    assert any(relation == "uses" and "isContiguousRow" in symbol for relation, symbol in links)
    assert {("tests", "fold_contiguous_row"), ("tests", "keep_strided_row")} <= links
    assert ("documents", "Folding pads") in links


def test_a_pass_without_a_generated_base_is_found_by_its_constructor(shelf: Shelf) -> None:
    links = found(shelf, "toy-split-columns", "pass")
    assert any(relation == "implements" and "SplitColumnsPass" in symbol for relation, symbol in links)
    assert ("documents", "What is seen") in links


def test_operations_have_their_full_names(shelf: Shelf) -> None:
    assert ("defines", "CopyRowOp") in found(shelf, "toy.ir.copy_row", "op")
    assert ("defines", "PadOp") in found(shelf, "toy.ir.pad", "op")
    assert ("documents", "Folding pads") in found(shelf, "toy.ir.pad", "op")


def test_options_are_linked_to_record_pass_and_documents(shelf: Shelf) -> None:
    assert ("option_of", "toy-fold-wide-pad") in found(shelf, "max-pad-bytes", "option")
    prefetch = found(shelf, "enable-row-prefetch", "option")
    assert ("defines", "EnableRowPrefetch") in prefetch
    assert {symbol for relation, symbol in prefetch if relation == "documents"} == {"Prefetching", "双缓冲预取"}


@pytest.mark.parametrize(
    ("record", "flag"),
    [("EnableHIVMCompile", "enable-hivm-compile"), ("TileMixCubeLoop", "tile-mix-cube-loop")],
)
def test_a_record_gives_its_flag(record: str, flag: str) -> None:
    assert option_name(record) == flag


def test_an_operation_of_the_root_class_is_named_too() -> None:
    names = OpNames(['def X_Dialect : Dialect {\n  let name = "x";\n}'])
    assert names.name_of('def AddOp : Op<X_Dialect, "add", [Pure]>;') == "x.add"
    assert names.name_of("def Helper : Unknown<1>;") is None

"""What a question names is recognised in prose, in pasted IR, in logs, in stacks and on command lines."""

from pathlib import Path

import pytest

from retriever.query import Vocabulary, understand
from retriever.records import Query
from retriever.search import Index, open_knowledge_base

STACK = """Why does it stop here?
 #4 0x00007f toy::SplitColumnsPass::runOnOperation() /src/toy/lib/Toy/Transforms/FoldWidePad.cpp:14:3
"""


@pytest.fixture(scope="module")
def index(sample_store: Path) -> Index:
    return open_knowledge_base(sample_store)


def named(index: Index, text: str) -> set[tuple[str, str]]:
    return {(n.name, n.sort) for n in understand(text, index.names.vocabulary).named}


@pytest.mark.parametrize(
    ("text", "name", "sort"),
    [
        ("what does --enable-row-prefetch=true cost?", "enable-row-prefetch", "option"),
        ("what does enable_row_prefetch=False save?", "enable-row-prefetch", "option"),
        ("--pass-pipeline='builtin.module(func.func(toy-fold-wide-pad{max=4}))'", "toy-fold-wide-pad", "pass"),
        ('%3 = "toy.ir.pad"(%1, %2) : (tensor<4x8xf16>) -> tensor<4x16xf16>', "toy.ir.pad", "op"),
        ("toy.ir.copy_row ins(%a : memref<8xf32>) fails", "toy.ir.copy_row", "op"),
        ("is Toy.IR.Copy_Row legal?", "toy.ir.copy_row", "op"),
        ("in `FoldWidePad.cpp:14`", "FoldWidePad.cpp:14", "place"),
        ('File "/opt/x/lib/FoldWidePad.cpp", line 14, in run', "FoldWidePad.cpp:14", "place"),
        ("toy-fold-wide-pad是做什么的", "toy-fold-wide-pad", "pass"),
        ("选项--enable-row-prefetch的默认值", "enable-row-prefetch", "option"),
        ("算子toy.ir.copy_row做什么", "toy.ir.copy_row", "op"),
        ("崩溃在FoldWidePad.cpp:14这一行", "FoldWidePad.cpp:14", "place"),
        (STACK, "SplitColumnsPass", "symbol"),
        (STACK, "lib/Toy/Transforms/FoldWidePad.cpp", "file"),
    ],
)
def test_a_thing_is_recognised_as_it_is_written(index: Index, text: str, name: str, sort: str) -> None:
    assert any(n.endswith(name) and s == sort for n, s in named(index, text))


def test_a_message_is_recognised_bare_quoted_and_after_words(index: Index) -> None:
    (said, *_) = sorted(index.generation.shelf.names("diagnostic"), key=len, reverse=True)
    filled = said.replace("*", "7")
    for text in (filled, f"I get error: {filled} - why?", f'Why does it say "{filled}" here?', f"报错'{filled}'怎么办"):
        assert (said, "diagnostic") in named(index, text)


def test_a_place_of_a_stack_is_answered_by_the_passage_that_holds_the_line(index: Index) -> None:
    why = next(h.why for h in index.search(Query(STACK)) if h.passage.path.endswith("FoldWidePad.cpp"))
    assert any(reason.startswith("defines place ") for reason in why)


def test_values_and_shapes_of_pasted_ir_are_no_words(index: Index) -> None:
    text = "%arg0_17 = toy.ir.pad ^bb3 memref<16x?xf16, #toy.space<ub>> #map1 strided"
    words = understand(text, index.names.vocabulary).words
    assert "stride" in words
    assert not {"arg0_17", "bb3", "16", "map1"} & set(words)


def test_a_pasted_message_is_no_bare_name(index: Index) -> None:
    said = max(index.generation.shelf.names("diagnostic"), key=len)
    assert not understand(said, Vocabulary(index.generation.shelf)).only_names


def test_an_operation_of_another_dialect_is_not_taken_for_one_of_the_same_last_name(index: Index) -> None:
    for text in ("copy_row fails", "ir.copy_row fails", "toy.ir.copy_row fails", "tt.copy_row and copy_row fail"):
        assert ("toy.ir.copy_row", "op") in named(index, text), text
    for text in ("tt.copy_row fails", "failed to legalize operation 'tt.copy_row'"):
        assert ("toy.ir.copy_row", "op") not in named(index, text), text

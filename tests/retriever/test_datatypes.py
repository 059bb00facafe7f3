"""Which element types an operation takes is read from tables and definitions, not guessed from shared words."""

import pytest

from agent.asking import ask
from retriever.datatypes import asks_for_types, types_in
from retriever.search import Index, open_knowledge_base
from tests.asked import TEXTS, build_asked

TABLE = """# triton.language.total

Adds all; fp8 is looked into.

### Types

|| int8 | uint16 | fp16 | bf16 |
|---|---|---|---|---|
| Chip A | ✓ | × | ✓ | ✓ |
| GPU | ✓ | ✓ | ✓ | ✓ |

"""
OP = """def VTotalOp : Toy_Op<"vtotal",
    [OperElemTypeConstraints<[0, /*dst=*/1], [AnyI8, F16,
                                      F32]>]> {
  let summary = "Add all";
}
"""
DIALECT = 'def Toy_Dialect : Dialect {\n  let name = "toy";\n}\nclass Toy_Op<string name> : Op<Toy_Dialect, name>;\n'


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    texts = {**TEXTS, "docs/zh/api/total.md": TABLE, "include/Toy/Ops.td": DIALECT + OP}
    return open_knowledge_base(build_asked(tmp_path_factory.mktemp("types") / "index", texts))


def test_types_are_known_by_all_their_names_and_only_as_words() -> None:
    assert types_in("BF16, float16 or f8E4M3FN; ui8支持吗") == ["bf16", "fp16", "fp8", "uint8"]
    assert types_in("buf16 f16x2 i64_add half-way") == []


@pytest.mark.parametrize(
    ("question", "asks"),
    [("does tl.sum support bf16", True), ("支持哪些数据类型", True), ("cast f32 to bf16", False), ("row", False)],
)
def test_a_type_in_passing_is_no_question_about_types(question: str, *, asks: bool) -> None:
    assert asks_for_types(question) == asks


def test_a_table_row_is_told_with_its_platform_and_what_it_refuses(index: Index) -> None:
    (claim, *_) = ask(index, "does total support bf16?").claims
    assert claim.text == (
        "triton.language.total (Chip A): bf16 is supported; it takes int8, fp16, bf16; it does not take uint16"
    )
    assert claim.lines == "docs/zh/api/total.md:9"
    told = ask(index, "total 支持 uint16 和 fp8 吗").claims[0].text
    assert told.startswith("triton.language.total（Chip A）：不支持 uint16；未列出 fp8；")


def test_an_operation_takes_what_its_definition_lists_and_nothing_else(index: Index) -> None:
    (claim, *_) = ask(index, "does vtotal support bf16?").claims
    assert claim.text == "toy.vtotal (operands 0, 1): bf16 is not supported; it takes int8, uint8, fp16, fp32"
    assert claim.lines == "include/Toy/Ops.td:6"
    assert ask(index, "vtotal 支持 bf16 吗").claims[0].text.startswith("toy.vtotal（操作数 0, 1）：不支持 bf16；")

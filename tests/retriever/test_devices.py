"""A device's sizes and counts are read from the compiler's table of targets, with what a family says for all."""

import pytest

from agent.asking import ask
from retriever.search import Index, open_knowledge_base
from tests.asked import TEXTS, build_asked

TARGETS = """class TargetSpec<string name> {
  int UbSize = ?;
}

class Ascend310B_BaseSpec <string name> : TargetSpec<name> {
  let UbSize = 1572864; // bits = 192KB
}

def Ascend310B1Spec : Ascend310B_BaseSpec<"Ascend310B1"> {
  let VectorCoreCount = 48;
}

def Ascend310B2Spec : Ascend310B_BaseSpec<"Ascend310B2"> {
  let VectorCoreCount = 40;
}

def Ascend310B3Spec : Ascend310B_BaseSpec<"Ascend310B3"> {
  let VectorCoreCount = 40;
}

class Ascend950_BaseSpec <string name> : TargetSpec<name> {
  let UbSize = 2031616;
}

def Ascend950ASpec : Ascend950_BaseSpec<"Ascend950A"> {
  let VectorCoreCount = 64;
}
"""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    texts = {**TEXTS, "include/Toy/NPUTargetSpec.td": TARGETS}
    return open_knowledge_base(build_asked(tmp_path_factory.mktemp("devices") / "index", texts))


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("UB 有多大", ["Ascend310B：UbSize 为 192 KiB（1572864 位）", "Ascend950：UbSize 为 248 KiB（2031616 位）"]),
        ("ascend310B3 有几个 vector core？", ["Ascend310B3：VectorCoreCount 为 40"]),
        (
            "310B 有多少个 vector core",
            ["Ascend310B1：VectorCoreCount 为 48", "Ascend310B2, Ascend310B3：VectorCoreCount 为 40"],
        ),
        ("What is the UB size of ascend310b2?", ["Ascend310B2: UbSize 192 KiB (1572864 bits)"]),
    ],
)
def test_sizes_and_counts_are_told_by_device(index: Index, question: str, told: list[str]) -> None:
    claims = ask(index, question).claims
    assert [claim.text for claim in claims[: len(told)]] == told
    assert all("NPUTargetSpec.td" in claim.lines for claim in claims[: len(told)])
    assert not any("Size" in claim.text or "Count" in claim.text for claim in claims[len(told) :])


def test_what_is_inherited_is_cited_where_it_stands(index: Index) -> None:
    assert ask(index, "What is the UB size of ascend310b2?").claims[0].lines == "include/Toy/NPUTargetSpec.td:6"


@pytest.mark.parametrize("question", ["Why does a row overflow UB?", "row 会不会 UB 溢出"])
def test_a_memory_in_passing_is_no_question_about_its_size(index: Index, question: str) -> None:
    assert not any("KiB" in claim.text for claim in ask(index, question).claims)

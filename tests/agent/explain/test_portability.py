"""How targets differ on one kernel, in sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.cli.main import run
from agent.explain.portability import Side, compare
from agent.explain.records import Explanation
from agent.records import Compilation, Cost, Interval, KernelSource, Launch, Lowered, Lowering, Resources
from indexer.messages import message, render

LAUNCH = Launch("toy", Path("toy.py"), 2, {}, {}, (1, 1, 1))
REJECTED = Path(__file__).parents[2] / "rejected"


def refusal(cause: str, line: int) -> Explanation:
    title = message("explain.range_power")
    return Explanation(cause, "rejected", 0, line, "ttir", None, "", "no", title, message("explain.range_power_way"))


def side(target: str, used: int, *told: Explanation, symptoms: tuple[str, ...] = ()) -> Side:
    status = "rejected" if told else "ok"
    made = Compilation(LAUNCH, target, status, (), (), Resources(used, 1000, 0, 1, 0, 1), (), {})
    cost = None if told else Cost(4.0, "predicted", Interval(3.0, 5.0), "load")
    lowering = Lowering(KernelSource(Path("toy.py"), ""), target, (Lowered(LAUNCH, made, (), cost),), cost)
    return Side(target, lowering, told, symptoms)


def sentences(*sides: Side) -> list[str]:
    return [render(note, "en") for note in compare(sides)]


def test_a_target_that_refuses_is_named_with_cause_and_line() -> None:
    said = sentences(side("ascend910b3", 100), side("ascend950", 0, refusal("range_power", 7)))
    assert said == [
        "ascend910b3 takes the kernel, ascend950 refuses it: the size of a tile has to be a power of two (line 7)"
    ]


def test_two_that_take_it_are_compared_in_memory_cost_and_findings() -> None:
    said = sentences(
        side("ascend910b3", 900, symptoms=("i64_add", "mask_fill")), side("ascend950", 500, symptoms=("mask_fill",))
    )
    assert said[0] == "all of ascend910b3, ascend950 take the kernel"
    assert "UB: ascend910b3 90 %, ascend950 50 % of what is there" in said
    assert "only on ascend910b3: i64_add" in said
    assert not any("only on ascend950" in text for text in said)


def test_two_that_refuse_it_for_different_reasons_say_both() -> None:
    said = sentences(side("ascend910b3", 0, refusal("range_power", 7)), side("ascend950", 0, refusal("loop_return", 9)))
    assert said[0] == "none of ascend910b3, ascend950 takes the kernel"
    assert "another reason" in said[1]


@pytest.mark.toolchain
@pytest.mark.slow
def test_two_targets_on_the_command_line_give_a_document_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", str(REJECTED / "int64_sort.py"), "--target", "ascend910b3,ascend950", "--json"]) == 1
    doc = json.loads(capsys.readouterr().out)
    assert [(own["target"], own["status"]) for own in doc["targets"]] == [
        ("ascend910b3", "rejected"), ("ascend950", "ok"),
    ]  # fmt: skip
    assert doc["explanations"][0]["cause"] == "element_type"
    assert "ascend950 takes the kernel" in doc["portability"][0]

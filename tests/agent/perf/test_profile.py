"""What a predicted profile holds beside the time, on small modules."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from agent.contract import CostDoc
from agent.documents import cost_doc
from agent.perf.occupancy import follow_occupancy
from agent.perf.predict import predict, sum_costs
from agent.records import Cost
from agent.report.profile import show_lines
from agent.report.terminal import Terminal
from agent.toolchain.targets import find_target
from indexer.messages import Lang
from tests.agent.perf.programs import (
    GM,
    UB,
    at,
    buffer,
    compilation,
    constant,
    for_loop,
    launch,
    load,
    module,
    snapshot,
    view,
)

TARGET = find_target("ascend910b4")
TILE = f"memref<1024xf32, {UB}>"


def planned(name: str, place: int, line: int, kind: str = TILE) -> str:
    return f"""{constant(f"%at_{name}", place, "i64")}
      %{name} = "hivm.hir.pointer_cast"(%at_{name}) : (i64) -> {kind} {at(line)}"""


def add(one: str, other: str, line: int) -> str:
    return f'"hivm.hir.vadd"(%{one}, %{one}, %{other}) : ({TILE}, {TILE}, {TILE}) -> () {at(line)}'


def curve(body: str, **times: float) -> list[tuple[int, int | None]]:
    """Return bytes taken in UB and from which line on."""
    functions = list(snapshot(module(body)).functions.values())
    (found,) = follow_occupancy(functions, {"ub": 196608}, {int(k[1:]): v for k, v in times.items()})
    assert all(0 <= fill.at <= 1 for fill in found.curve)
    assert [fill.at for fill in found.curve] == sorted(fill.at for fill in found.curve)
    return [(fill.bytes, fill.line) for fill in found.curve]


def test_a_buffer_counts_from_its_first_use_to_its_last() -> None:
    body = "\n".join(
        [planned("a", 0, 5), planned("b", 4096, 6), planned("c", 8192, 7), add("a", "b", 8), add("b", "c", 9)]
    )
    assert curve(body, l8=3.0, l9=1.0) == [(8192, 8), (0, None)]  # c takes over from a


def test_buffers_at_one_place_take_it_once_and_copies_take_their_own() -> None:
    copies = f"""{constant("%at_p", 0, "i64")}
      {constant("%at_q", 8192, "i64")}
      %a = "hivm.hir.pointer_cast"(%at_p, %at_q) : (i64, i64) -> {TILE} {at(5)}"""
    body = "\n".join([copies, planned("b", 0, 6), add("a", "b", 8)])
    assert max(curve(body))[0] == 2 * 4096


def test_what_comes_from_outside_a_loop_is_in_use_until_the_loop_ends() -> None:
    head = [constant("%zero", 0), constant("%end", 8), constant("%one", 1), planned("a", 0, 3), planned("b", 4096, 3)]
    inside = "\n".join([add("a", "a", 5), planned("c", 8192, 6), add("c", "c", 6)])
    loop = for_loop("%i", "%zero", "%end", "%one", inside)
    found = curve("\n".join([*head, loop, add("b", "b", 9)]))
    assert [taken for taken, _ in found] == [4096, 8192, 4096, 0]


def costed(run: int) -> Cost:
    """Load rows of `run` floats."""
    near, tile = f"memref<16x{run}xf32, strided<[100, 1]>, {GM}>", f"memref<16x{run}xf32, {UB}>"
    body = [view("%v", "%u0", f"16, {run}", "100, 1", near), buffer("%b", tile), load("%v", near, "%b", tile),
            f'"hivm.hir.vadd"(%b, %b, %b) : ({tile}, {tile}, {tile}) -> () {at(6)}']  # fmt: skip
    return predict(compilation(module("\n".join(body)), launch(3, x=(16, 100), n=1)), TARGET)


def test_memory_moves_whole_blocks_and_useful_is_what_was_asked_for() -> None:
    short, whole = costed(3).profile, costed(16).profile
    assert short is not None
    assert whole is not None
    assert (short.useful_bytes, short.moved_bytes) == (3 * 16 * 3 * 4, 3 * 16 * 32)
    assert whole.useful_bytes == whole.moved_bytes == 3 * 16 * 16 * 4


def test_elements_that_share_a_block_move_it_once() -> None:
    """Every second float of a row: twice what is asked for, not eight times."""
    every, tile = f"memref<64xf32, strided<[2]>, {GM}>", f"memref<64xf32, {UB}>"
    body = [view("%v", "%u0", "64", "2", every), buffer("%b", tile), load("%v", every, "%b", tile)]
    cost = predict(compilation(module("\n".join(body)), launch(1, x=(128,), n=1)), TARGET)
    assert cost.profile is not None
    assert (cost.profile.useful_bytes, cost.profile.moved_bytes) == (64 * 4, 64 * 8)


def test_a_launch_stands_under_its_roof() -> None:
    cost = costed(16)
    roof = cost.profile.roofline if cost.profile is not None else None
    assert roof is not None
    assert roof.achieved_per_us < roof.attainable_per_us <= roof.peak_per_us
    assert roof.attainable_per_us == pytest.approx(roof.operations_per_byte * roof.bytes_per_us)
    assert (roof.unit, roof.bound) == ("vector", "memory")
    assert roof.achieved_per_us * cost.value == pytest.approx(roof.operations)


def test_of_several_launches_the_costliest_ones_profile_is_kept() -> None:
    small, large = costed(3), costed(16)
    assert sum_costs([small, large]).profile == max(small, large, key=lambda cost: cost.value).profile


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_profile_is_shown_in_both_languages_and_says_that_it_is_predicted(lang: Lang) -> None:
    doc = cost_doc(costed(3), lang)
    assert isinstance(doc, CostDoc)
    buffer_ = io.StringIO()
    show_lines(Terminal(Console(file=buffer_, width=200), lang), doc, {})
    shown = [line for line in buffer_.getvalue().splitlines() if ("KiB" in line or "Gop/s" in line)]
    assert len(shown) == 2
    assert all(("预测" if lang == "zh" else "predicted") in line for line in shown)
    assert doc.profile is not None
    assert doc.profile.basis == "predicted"

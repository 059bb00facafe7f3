from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.perf.critical import critical_events
from agent.perf.events import Event, Scalar, Sync, Tally, Transfer, Vector
from agent.perf.flags import find_event_ids
from agent.perf.timeline import Machine, Signals, pipe_of, play_together
from tests.agent.perf.programs import module, snapshot

LOAD = Transfer("load", 1, "x", 4096, 1, 4096, None, write=False)
STORE = Transfer("store", 3, "y", 4096, 1, 4096, None, write=True)
ADD = Vector("vadd", 2, 16, 1)


def flag(op: str, first: str, second: str, *ids: int) -> Sync:
    return Sync(op, 9, first, second, ids)


def durations(load: float, add: float, store: float = 0.0):
    times = {LOAD: load, ADD: add, STORE: store}

    def duration(event: Event) -> float:
        return times.get(event, 0.0)

    return duration


def pipelined(copies: int, trips: int) -> Tally:
    """A loop that loads into one of `copies` buffers and adds from it, as the compiler writes it."""
    free = tuple(range(copies))
    body, whole = Tally(), Tally()
    for event in (
        flag("wait_flag", "V", "MTE2", *free), LOAD, flag("set_flag", "MTE2", "V", 7),
        flag("wait_flag", "MTE2", "V", 7), ADD, flag("set_flag", "V", "MTE2", *free),
    ):  # fmt: skip
        body.add(event)
    for number in free:
        whole.add(flag("set_flag", "V", "MTE2", number))
    whole.merge(body, trips)
    return whole


def played(duration: Callable[[Event], float], tally: Tally, lag: float = 0.0) -> Machine:
    """One core that plays `tally`; what it loads is there `lag` after the pipe is done."""
    machine = Machine(duration, lambda event: lag if event == LOAD else 0.0, 0.0)
    play_together([(machine, tally)])
    return machine


def length(tally: Tally, load: float, add: float) -> float:
    machine = played(durations(load, add), tally)
    return machine.front.end


@pytest.mark.parametrize(("load", "add"), [(3.0, 2.0), (2.0, 3.0)])
def test_two_copies_of_a_buffer_hide_the_shorter_of_load_and_compute(load: float, add: float) -> None:
    assert length(pipelined(2, 100), load, add) == pytest.approx(100 * 3.0 + 2.0)


def test_two_copies_hide_the_way_from_memory_where_the_copies_last_that_long() -> None:
    short = played(durations(1.0, 5.0), pipelined(2, 100), lag=3.0).front.end
    assert short == pytest.approx(1.0 + 3.0 + 100 * 5.0)
    far = played(durations(1.0, 5.0), pipelined(1, 100), lag=3.0).front.end
    assert far == pytest.approx(100 * (1.0 + 3.0 + 5.0))


def cores(cube: Tally, vector: Tally) -> tuple[Machine, Machine]:
    """The two cores of a program, played together."""
    signals = Signals()
    times = durations(3.0, 2.0, 1.0)
    machines = [
        Machine(times, lambda _: 0.0, 0.0, core=core, peer=peer, signals=signals)
        for core, peer in (("cube", "vector"), ("vector", "cube"))
    ]
    play_together(list(zip(machines, (cube, vector), strict=True)))
    return machines[0], machines[1]


def test_a_core_waits_for_the_signal_of_the_other_and_says_how_long() -> None:
    cube, vector = Tally(), Tally()
    for event in (LOAD, flag("sync_block_set", "MTE2", "S", 0)):
        cube.add(event)
    for event in (flag("sync_block_wait", "MTE2", "S", 0), ADD):
        vector.add(event)
    first, second = cores(cube, vector)
    assert (first.front.end, second.front.end) == (3.0, 5.0)
    assert (first.waited, second.waited) == (0.0, 3.0)
    assert critical_events(second.front)[LOAD] == 3.0


@pytest.mark.parametrize("trips", [3, 50])
def test_cores_that_hand_over_tiles_in_a_loop_take_as_long_as_the_slower_of_them(trips: int) -> None:
    cube, vector, body, other = Tally(), Tally(), Tally(), Tally()
    for event in (LOAD, flag("sync_block_set", "MTE2", "V", 0)):
        body.add(event)
    for event in (flag("sync_block_wait", "MTE2", "V", 0), ADD):
        other.add(event)
    cube.merge(body, trips)
    vector.merge(other, trips)
    _, second = cores(cube, vector)
    assert second.front.end == pytest.approx(3.0 * trips + 2.0)
    assert second.waited == pytest.approx(3.0 + (trips - 1) * 1.0)


def test_a_signal_that_nobody_raises_holds_up_nobody() -> None:
    vector = Tally()
    for event in (flag("sync_block_wait", "FIX", "S", 5), ADD, flag("sync_block_wait", "FIX", "S", 6), ADD):
        vector.add(event)
    assert cores(Tally(), vector)[1].front.end == 4.0


def test_one_copy_hides_nothing() -> None:
    assert length(pipelined(1, 100), 3.0, 2.0) == pytest.approx(100 * 5.0)


@settings(max_examples=40, deadline=None)
@given(st.integers(5, 60), st.floats(0.1, 5), st.floats(0.1, 5), st.integers(1, 3))
def test_a_long_loop_takes_as_long_as_if_all_of_it_were_played(
    trips: int, load: float, add: float, copies: int
) -> None:
    short, long = pipelined(copies, trips), pipelined(copies, 1)
    body, times = long.order.pop()
    long.order += [(body, 1.0)] * trips
    assert times == 1
    assert length(short, load, add) == pytest.approx(length(long, load, add))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.floats(0.1, 5), st.floats(0.1, 5), st.integers(1, 2))
def test_the_critical_path_is_as_long_as_the_program(trips: int, load: float, add: float, copies: int) -> None:
    machine = played(durations(load, add), pipelined(copies, trips))
    path = critical_events(machine.front)
    assert sum(path.values()) == pytest.approx(machine.front.end)
    if abs(load - add) > 1e-6 * load and trips > 1:
        assert max(path, key=lambda event: path[event]) == (LOAD if load > add else ADD)


def test_a_loop_played_in_part_works_as_long_as_all_its_iterations() -> None:
    machine = played(durations(3.0, 2.0), pipelined(2, 1000))
    assert machine.busy["MTE2"] == pytest.approx(3000)
    assert machine.busy["V"] == pytest.approx(2000)


def test_a_loop_behind_a_longer_transfer_is_still_as_long_as_all_its_iterations() -> None:
    inner, tally = Tally(), Tally()
    inner.add(Scalar("arith.addi", 4))
    tally.add(LOAD)
    tally.merge(inner, 1000)
    machine = played(lambda event: 100.0 if event == LOAD else 1.0, tally)
    assert machine.front.end == pytest.approx(1000)


def test_a_barrier_of_all_pipes_starts_them_together() -> None:
    tally = Tally()
    for event in (LOAD, Sync("pipe_barrier", 1, "ALL"), STORE):
        tally.add(event)
    machine = played(durations(3.0, 0.0, 1.0), tally)
    assert machine.front.end == 4.0


def test_pipes_without_a_flag_between_them_run_side_by_side() -> None:
    tally = Tally()
    for event in (LOAD, STORE):
        tally.add(event)
    machine = played(durations(3.0, 0.0, 1.0), tally)
    assert machine.front.end == 3.0


def test_scalar_operations_in_a_row_are_played_at_once() -> None:
    tally = Tally()
    for _ in range(5):
        tally.add(Scalar("arith.addi", 4))
    assert len(tally.order) == 1
    machine = played(lambda _: 0.5, tally)
    assert critical_events(machine.front) == {Scalar("", 4): 2.5}


def test_events_go_to_the_pipe_that_works_for_them() -> None:
    assert [pipe_of(event) for event in (LOAD, STORE, ADD, Scalar("", 1))] == ["MTE2", "MTE3", "V", "S"]
    assert pipe_of(Transfer("fixpipe", 1, "y", 1, 1, 1, None, write=True)) == "FIX"
    assert pipe_of(Transfer("copy", 1, "", 1, 1, 1, None, write=False)) == "V"
    assert pipe_of(Transfer("copy", 1, "", 1, 1, 1, None, write=True)) == "MTE3"
    assert pipe_of(Transfer("vbrc", 1, "", 1, 1, 1, None, write=True)) == "MTE2"


def test_a_flag_whose_number_is_selected_may_be_any_of_the_constants() -> None:
    body = """%one = "arith.constant"() <{value = 1 : i64}> : () -> i64
      %two = "arith.constant"() <{value = 2 : i64}> : () -> i64
      %c = "arith.constant"() <{value = true}> : () -> i1
      %id = "arith.select"(%c, %one, %two) : (i1, i64, i64) -> i64
      "hivm.hir.set_flag"(%id) <{set_pipe = #hivm.pipe<PIPE_V>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : (i64) -> ()"""
    found = find_event_ids(snapshot(module(body)).functions.values())
    assert list(found.values()) == [((1, 2),)]


@pytest.mark.parametrize(
    ("number", "ids"),
    [
        (
            '%id = "affine.apply"(%c) <{map = affine_map<()[s0] -> ((s0 floordiv 64) mod 2)>}> : (index) -> index',
            (0, 1),
        ),
        ('%id = "arith.xori"(%c, %c) : (i1, i1) -> i1', (0, 1)),
        ('%id = "arith.addi"(%c, %c) : (i64, i64) -> i64', ()),
    ],
)
def test_the_number_of_a_flag_may_count_round_with_the_loop(number: str, ids: tuple[int, ...]) -> None:
    flag_op = (
        '"hivm.hir.set_flag"(%id) <{set_pipe = #hivm.pipe<PIPE_V>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : (i64) -> ()'
    )
    found = find_event_ids(
        snapshot(
            module(f'%c = "arith.constant"() <{{value = 1 : index}}> : () -> index\n{number}\n{flag_op}')
        ).functions.values()
    )
    assert list(found.values()) == [(ids,)]

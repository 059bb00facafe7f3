from __future__ import annotations

from dataclasses import fields, replace
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.perf.constants import FITTED, Constants, load_constants, load_experience, without_case
from agent.perf.events import Chain, Cube, Register, Scalar, Sync, Tally, Transfer, Vector
from agent.perf.experience import kind_of
from agent.perf.launch import Block, Followed, busiest_core, follow_launch
from agent.perf.predict import predict, sum_costs
from agent.perf.pricing import Pricing
from agent.perf.remarks import is_doubtful
from agent.records import Compilation, Cost, Launch
from agent.toolchain.targets import find_target
from indexer.messages import render
from indexer.toml import parse_toml
from tests.agent.perf.programs import (
    GM,
    UB,
    at,
    buffer,
    compilation,
    constant,
    for_loop,
    function,
    launch,
    load,
    module,
    snapshot,
    view,
)

TARGET = find_target("ascend910b4")
ROWS = f"memref<16x32xf32, strided<[100, 1]>, {GM}>"
TILE = f"memref<16x32xf32, {UB}>"


def events_of(text: str, of: Launch) -> dict[object, float]:
    blocks = follow_launch(snapshot(text), of, lambda tally: sum(n for _, n in tally)).blocks
    return {**blocks[0].vector.counts, **blocks[0].cube.counts}


def price(text: str, of: Launch, target: str = "ascend910b4") -> Cost:
    return predict(compilation(text, of), find_target(target))


def only(events: dict[object, float], kind: type) -> dict[object, float]:
    return {event: count for event, count in events.items() if isinstance(event, kind)}


def test_a_load_counts_bytes_and_the_pieces_of_the_broken_side() -> None:
    text = module(
        "\n".join([view("%v", "%u0", "16, 32", "100, 1", ROWS), buffer("%b", TILE), load("%v", ROWS, "%b", TILE)])
    )
    (event,) = only(events_of(text, launch(x=(16, 100), n=1)), Transfer)
    assert event == Transfer("load", 5, "x", 2048, 16, 128, 400, write=False)


def test_a_padded_buffer_breaks_a_contiguous_row() -> None:
    padded = f"memref<64xf32, strided<[8]>, {UB}>"
    dense = f"memref<64xf32, strided<[1]>, {GM}>"
    text = module(
        "\n".join([view("%v", "%u0", "64", "1", dense), buffer("%b", padded), load("%v", dense, "%b", padded)])
    )
    (event,) = only(events_of(text, launch(x=(64,), n=1)), Transfer)
    assert isinstance(event, Transfer)
    assert (event.bytes, event.pieces) == (256, 64)


def masked_loop(tile: int) -> str:
    """Move a vector of n elements in tiles, the last one cut off."""
    ub, part, cut = (
        f"memref<{tile}xf32, {UB}>",
        f"memref<{tile}xf32, strided<[1], offset: ?>, {GM}>",
        "strided<[1], offset: ?>",
    )
    sub = (
        "<{operandSegmentSizes = array<i32: 1, 0, 1, 0>, static_offsets = array<i64: 0>, "
        "static_sizes = array<i64: -9223372036854775808>, static_strides = array<i64: 1>}>"
    )
    body = "\n".join([
        '%left = "affine.apply"(%n, %i) <{map = affine_map<()[s0, s1] -> (s0 - s1)>}> : (index, index) -> index',
        f'%size = "affine.min"(%left) <{{map = affine_map<()[s0] -> (s0, {tile})>}}> : (index) -> index',
        view("%v", "%u0", str(tile), "1", part, "%i"),
        f'%vs = "memref.subview"(%v, %size) {sub} : ({part}, index) -> memref<?xf32, {cut}, {GM}>',
        f'%bs = "memref.subview"(%b, %size) {sub} : ({ub}, index) -> memref<?xf32, {cut}, {UB}>',
        load("%vs", f"memref<?xf32, {cut}, {GM}>", "%bs", f"memref<?xf32, {cut}, {UB}>"),
    ])  # fmt: skip
    head = [
        constant("%zero", 0),
        constant("%step", tile),
        '%n = "arith.index_cast"(%u1) : (i32) -> index',
        buffer("%b", ub),
    ]
    return module("\n".join([*head, for_loop("%i", "%zero", "%n", "%step", body)]))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 100_000), st.sampled_from([16, 64, 1024]))
def test_a_loop_with_a_cut_tail_moves_every_element_once(n: int, tile: int) -> None:
    moved = only(events_of(masked_loop(tile), launch(x=(n,), n=n)), Transfer)
    assert sum(e.bytes * count for e, count in moved.items() if isinstance(e, Transfer)) == pytest.approx(4 * n)
    assert sum(moved.values()) == pytest.approx(-(-n // tile))


def test_a_long_uniform_loop_is_counted_without_being_followed() -> None:
    body = '%s = "arith.addi"(%i, %i) : (index, index) -> index ' + at(7)
    text = module(
        "\n".join(
            [constant("%a", 0), constant("%z", 10**12), constant("%o", 1), for_loop("%i", "%a", "%z", "%o", body)]
        )
    )
    counts = only(events_of(text, launch(x=(4,), n=1)), Scalar)
    assert counts[Scalar("arith.addi", 7)] == 10**12


def test_a_triangular_loop_is_summed_over_its_iterations() -> None:
    inner = '%s = "arith.addi"(%j, %j) : (index, index) -> index ' + at(7)
    body = for_loop("%j", "%a", "%i", "%o", inner, line=6)
    text = module(
        "\n".join([constant("%a", 0), constant("%z", 1000), constant("%o", 1), for_loop("%i", "%a", "%z", "%o", body)])
    )
    counts = only(events_of(text, launch(x=(4,), n=1)), Scalar)
    assert counts[Scalar("arith.addi", 7)] == pytest.approx(1000 * 999 / 2, rel=0.01)


def test_a_loop_that_alternates_is_counted_by_its_average() -> None:
    body = f"""%even = "affine.apply"(%i) <{{map = affine_map<()[s0] -> (s0 mod 2)>}}> : (index) -> index
      %c = "arith.cmpi"(%even, %a) <{{predicate = 0 : i64}}> : (index, index) -> i1
      "scf.if"(%c) ({{
        "hivm.hir.pipe_barrier"() : () -> () {at(9)}
        "scf.yield"() : () -> ()
      }}, {{
      }}) : (i1) -> ()"""
    for trips in (20, 3000):
        loop = for_loop("%i", "%a", "%z", "%o", body)
        text = module("\n".join([constant("%a", 0), constant("%z", trips), constant("%o", 1), loop]))
        counts = events_of(text, launch(x=(4,), n=1))
        assert counts[Sync("pipe_barrier", 9)] == pytest.approx(trips / 2, rel=0 if trips <= 24 else 0.25)


def test_the_program_id_decides_what_runs() -> None:
    branch = '"hivm.hir.pipe_barrier"() : () -> () ' + at(9)
    body = f"""%p = "hivm.hir.get_block_idx"() : () -> i64
      {constant("%two", 2, "i64")}
      %c = "arith.cmpi"(%p, %two) <{{predicate = 2 : i64}}> : (i64, i64) -> i1
      "scf.if"(%c) ({{
        {branch}
        "scf.yield"() : () -> ()
      }}, {{
      }}) : (i1) -> ()"""
    blocks = follow_launch(snapshot(module(body)), launch(4, x=(4,), n=1), lambda _: 0.0).blocks
    assert [Sync("pipe_barrier", 9) in b.vector.counts for b in blocks] == [True, True, False, False]


def test_a_branch_on_data_counts_its_costlier_side_and_says_so() -> None:
    body = f"""{buffer("%b", TILE)}
      {constant("%i", 0)}
      %x = "memref.load"(%b, %i, %i) : ({TILE}, index, index) -> i1
      "scf.if"(%x) ({{
        "scf.yield"() : () -> ()
      }}, {{
        "hivm.hir.pipe_barrier"() : () -> () {at(9)}
        "scf.yield"() : () -> ()
      }}) : (i1) -> () {at(8)}"""
    cost = price(module(body), launch(x=(4,), n=1))
    assert cost.by_line[9] > 0
    assert any(note.key == "perf.branch_on_data" and "8" in render(note, "en") for note in cost.remarks)


def test_an_operation_without_a_rule_is_counted_and_named() -> None:
    body = f"""{buffer("%b", TILE)}
      "hivm.hir.vfrobnicate"(%b, %b) : ({TILE}, {TILE}) -> () {at(6)}"""
    cost = price(module(body), launch(x=(4,), n=1))
    assert cost.by_line[6] > 0
    assert any("vfrobnicate" in render(note, "en") for note in cost.remarks)


def test_a_scalar_that_was_not_captured_is_named() -> None:
    cost = price(masked_loop(64), launch(x=(4,), n=None))
    assert {"perf.unbound", "perf.loop_on_data"} <= {note.key for note in cost.remarks}


def test_a_matrix_multiply_counts_cube_steps_of_32_bytes_depth() -> None:
    kind = "memref<?x?x?x?xf32, #hivm.address_space<cbuf>>"
    types = f"({kind}, {kind}, i1, index, index, index, {kind})"
    body = f"""{constant("%m", 64)}
      {constant("%k", 24)}
      {constant("%n", 17)}
      {constant("%init", 1, "i1")}
      %a = "hivm.hir.pointer_cast"(%ffts) : (i64) -> {kind}
      "hivm.hir.mmadL1"(%a, %a, %init, %m, %k, %n, %a) : {types} -> () {at(6)}"""
    (event,) = only(events_of(module(body, core="AIC"), launch(x=(4,), n=1)), Cube)
    assert event == Cube(6, 4 * 3 * 2, 32)


def test_register_instructions_take_the_vendors_interval() -> None:
    pricing = Pricing(load_constants())
    plain = pricing.duration(Register("arith.addf", 1, "f32", 1))
    assert pricing.duration(Register("math.exp", 1, "f32", 1)) == pytest.approx(4 * plain)
    assert pricing.duration(Register("ave.hir.vdiv", 1, "f16", 1)) == pytest.approx(8 * plain)


def test_an_outlined_vector_function_is_followed_through_its_call() -> None:
    vector = "vector<64xf32>"
    loaded = f'%v = "ave.hir.vload"(%p) : ({TILE}) -> {vector} {at(7)}'
    stored = f'"ave.hir.masked_store"(%p, %v) : ({TILE}, {vector}) -> () loc(unknown)'
    loop = for_loop("%i", "%a", "%z", "%o", f"{loaded}\n{stored}", line=7)
    body = "\n".join([constant("%a", 0), constant("%z", 10), constant("%o", 1), loop])
    more = function("vf", [f"%p: {TILE}"], "{}", body, "{hivm.vector_function}")
    call = f'"func.call"(%b) <{{callee = @vf}}> : ({TILE}) -> () {at(6)}'
    counts = events_of(module(f"{buffer('%b', TILE)}\n{call}", more=more), launch(x=(4,), n=1))
    # What has no place of its own is done at the call; loops and addresses inside are the vector unit's own.
    assert counts == {
        Register("ave.hir.vload", 7, "f32", 1): 10,
        Register("ave.hir.masked_store", 6, "f32", 1): 10,
        Vector("func.call", 6, 0, 1): 1,
        Chain(6, ("vload f32", "masked_store f32")): 1,
    }


def test_lines_and_terms_both_sum_to_the_value() -> None:
    cost = price(masked_loop(64), launch(50, x=(5000,), n=5000))
    assert sum(cost.by_line.values()) == pytest.approx(cost.value)
    assert sum(cost.terms.values()) == pytest.approx(cost.value)
    assert cost.interval.low < cost.value < cost.interval.high
    assert cost.basis == "predicted"
    work = {**cost.terms, "launch": cost.terms["launch"] - load_constants().launch_us}
    assert cost.limiter == max(work, key=lambda term: work[term])


def test_of_a_mixed_kernel_whose_cores_do_not_signal_the_busier_one_takes_the_time() -> None:
    sync = '"hivm.hir.pipe_barrier"() : () -> () '
    body = f"""%p = "hivm.hir.get_sub_block_idx"() : () -> i64
      {constant("%one", 1, "i64")}
      %c = "arith.cmpi"(%p, %one) <{{predicate = 0 : i64}}> : (i64, i64) -> i1
      "scf.if"(%c) ({{
        {sync + at(9)}
        "scf.yield"() : () -> ()
      }}, {{
      }}) : (i1) -> ()"""
    kinds = "{hacc.arg_type = #hacc.arg_type<ffts_base_address>}, {}, {}, {}"
    parameters = ["%a: i64", "%g0: i32", "%g1: i32", "%g2: i32"]
    entry = "{hacc.entry, hivm.func_core_type = #hivm.func_core_type<AIV>}"
    vector = function("v", parameters, kinds, body, entry)
    cost = price(module(sync + at(8), core="AIC", more=vector), launch(x=(4,), n=1))
    assert cost.by_line[9] > 0
    assert 8 not in cost.by_line


@settings(deadline=None)
@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=30), st.integers(1, 8))
def test_the_busiest_core_has_at_least_its_share_and_at_most_all(costs: list[float], cores: int) -> None:
    work = busiest_core(list(enumerate(costs)), len(costs), cores)
    assert max(*costs, sum(costs) / cores) <= work * 1.000001
    assert work <= sum(costs) * 1.000001


def test_more_waves_cost_more() -> None:
    values = [price(masked_loop(64), launch(grid, x=(5000,), n=5000)).value for grid in (40, 400)]
    assert values[1] > 3 * values[0]


def test_a_tensor_read_by_every_program_comes_from_hbm_once() -> None:
    shared = price(masked_loop(1024), launch(40, x=(100_000,), n=100_000))
    streamed = price(masked_loop(1024), launch(40, x=(4_000_000,), n=100_000))
    assert shared.terms["load"] < streamed.terms["load"]
    assert shared.bytes_moved == streamed.bytes_moved == 40 * 400_000


def test_a_warm_cache_is_never_slower() -> None:
    made = compilation(masked_loop(1024), launch(40, x=(100_000,), n=100_000))
    warm, cold = predict(made, TARGET, cold=False), predict(made, TARGET)
    assert warm.terms["load"] <= cold.terms["load"]
    assert {note.key for note in warm.remarks} >= {"perf.warm_l2"}


def test_weak_spots_are_named_with_their_lines() -> None:
    narrow = f"memref<64xf32, strided<[100000]>, {GM}>"
    ub = f"memref<64xf32, {UB}>"
    text = module(
        "\n".join([view("%v", "%u0", "64", "100000", narrow), buffer("%b", ub), load("%v", narrow, "%b", ub, 12)])
    )
    notes = {note.key: render(note, "en") for note in price(text, launch(x=(64, 100000), n=1)).remarks}
    assert {"perf.short_rows", "perf.large_pitch"} <= set(notes)
    assert "12" in notes["perf.short_rows"]


def test_the_950_is_marked_as_low_confidence_and_other_models_too() -> None:
    keys = [
        {n.key for n in price(masked_loop(64), launch(x=(64,), n=64), t).remarks} for t in ("ascend950", "ascend910b3")
    ]
    assert "perf.low_confidence_950" in keys[0]
    assert "perf.other_model" in keys[1]


def test_costs_of_one_basis_add_and_others_are_refused() -> None:
    one = price(masked_loop(64), launch(x=(64,), n=64))
    both = sum_costs([one, one])
    assert both.value == pytest.approx(2 * one.value)
    assert both.by_line[5] == pytest.approx(2 * one.by_line[5])
    assert both.remarks == one.remarks
    with pytest.raises(ValueError, match="basis"):
        sum_costs([one, replace(one, basis="measured")])
    with pytest.raises(ValueError, match="none"):
        sum_costs([])


def test_a_rejected_kernel_has_no_cost() -> None:
    made: Compilation = compilation(masked_loop(64), launch(x=(64,), n=64))
    with pytest.raises(ValueError, match="no HIVM"):
        predict(replace(made, hivm=None, status="rejected"), TARGET)


def test_every_remark_renders_in_both_languages() -> None:
    for cost in (price(masked_loop(64), launch(x=(4,), n=None), "ascend950"),):
        for note in cost.remarks:
            assert render(note, "en") != render(note, "zh")


def test_every_constant_states_its_value_kind_and_source() -> None:
    raw = parse_toml(resources.files("agent.perf").joinpath("constants.toml").read_text(encoding="utf-8"))
    entries = {name: entry for name, entry in raw.items() if isinstance(entry, dict)}
    assert all(
        entry["source"] and entry["kind"] in {"fitted", "published", "guess", "vendor"} for entry in entries.values()
    )
    assert {field.name for field in fields(Constants)} == set(raw)


def test_what_may_be_fitted_is_marked_as_fitted_in_the_file() -> None:
    raw = parse_toml(resources.files("agent.perf").joinpath("constants.toml").read_text(encoding="utf-8"))
    assert tuple(n for n, e in raw.items() if isinstance(e, dict) and e["kind"] == "fitted") == FITTED


def test_a_published_case_is_predicted_with_constants_that_have_not_seen_it() -> None:
    constants, left_out = without_case("reduction-sum-large")
    assert left_out
    assert constants.hbm_read_bytes_per_us != load_constants().hbm_read_bytes_per_us
    assert without_case("mine") == (load_constants(), False)


def test_the_interval_and_a_remark_tell_how_far_similar_predictions_were_off() -> None:
    cost = price(masked_loop(64), launch(50, x=(5000,), n=5000))
    assert cost.profile is not None
    seen = load_experience(cost.profile.kind)
    (note,) = [n for n in cost.remarks if n.key.startswith("perf.experience")]
    assert f"{seen.n} published" in render(note, "en")
    assert cost.interval.high == pytest.approx(cost.value * seen.high)
    assert load_experience("unheard of") == load_experience("all")


def test_a_kind_of_kernel_that_was_often_far_off_is_in_doubt() -> None:
    """Uneven waves were: three of ten published timings by more than a quarter."""
    even, uneven = (price(masked_loop(64), launch(grid, x=(5000,), n=5000)) for grid in (80, 81))
    assert uneven.profile is not None
    assert uneven.profile.kind == "waves"
    assert is_doubtful(uneven)
    assert not is_doubtful(even)
    assert {"en", "zh"} == {lang for lang in ("en", "zh") for n in uneven.remarks if render(n, lang)}
    cube = Tally()
    cube.add(Cube(1, 4, 16))
    block = Block(0, cube, Tally())
    assert kind_of(Followed((block,), 1, cube=True, notes=frozenset()), {}, 1.0) == "cube"
    assert load_experience("cube").far > 0.2 * load_experience("cube").n


def test_an_interval_in_doubt_is_wider() -> None:
    plain = price(masked_loop(64), launch(320, x=(5000,), n=5000))
    other = price(masked_loop(64), launch(320, x=(5000,), n=5000), "ascend950")
    assert other.interval.high / other.value > plain.interval.high / plain.value


def test_programs_that_do_not_fill_the_last_wave_count_as_imbalance() -> None:
    full, tail = (price(masked_loop(64), launch(grid, x=(5000,), n=5000)) for grid in (80, 81))
    assert full.terms["imbalance"] == pytest.approx(0)
    assert tail.terms["imbalance"] > 0.2 * tail.value


def test_pipes_work_for_a_share_of_the_time() -> None:
    one, two = (price(masked_loop(64), launch(grid, x=(5000,), n=5000)) for grid in (50, 4))
    assert set(one.pipes) == {"vector S", "vector MTE2"}
    assert all(0 < share <= 1 for share in one.pipes.values())
    both = sum_costs([one, two])
    low, high = sorted((one.pipes["vector MTE2"], two.pipes["vector MTE2"]))
    assert low <= both.pipes["vector MTE2"] <= high


def reduced(element: str, kind: str = "sum") -> Vector:
    """Reduce rows of 128 elements."""
    rows, sums = f"memref<16x128x{element}, {UB}>", f"memref<16x1x{element}, {UB}>"
    attributes = f"<{{arith = #hivm.reduce_op<{kind}>, reduce_dims = array<i64: 1>}}>"
    body = f"""{buffer("%a", rows)}
      {buffer("%b", sums)}
      "hivm.hir.vreduce"(%a, %b) {attributes} : ({rows}, {sums}) -> () {at(6)}"""
    (event,) = only(events_of(module(body), launch(x=(4,), n=1)), Vector)
    assert isinstance(event, Vector)
    return event


def test_what_no_instruction_reduces_is_a_tree_of_halves() -> None:
    assert reduced("f32").last_axis
    for tree in (reduced("i32"), reduced("f32", "prod")):
        assert (tree.instructions, tree.last_axis) == (7 * reduced("f32").instructions, False)


@pytest.mark.parametrize(("first", "runs"), [(0, True), (5, False)])
def test_a_counter_in_memory_decides_a_branch(first: int, runs: bool) -> None:  # noqa: FBT001 - a case of the test
    body = f"""{constant("%zero", 0, "i32")}
      {constant("%start", first, "i32")}
      %cell = "memref.alloca"() : () -> memref<i32>
      "memref.store"(%start, %cell) : (i32, memref<i32>) -> ()
      %n = "memref.load"(%cell) : (memref<i32>) -> i32
      %c = "arith.cmpi"(%n, %zero) <{{predicate = 0 : i64}}> : (i32, i32) -> i1
      "scf.if"(%c) ({{
        "hivm.hir.pipe_barrier"() : () -> () {at(9)}
        "scf.yield"() : () -> ()
      }}, {{
      }}) : (i1) -> ()"""
    assert (Sync("pipe_barrier", 9) in events_of(module(body), launch(x=(4,), n=1))) == runs


def test_what_fills_l1_is_a_transfer_that_no_vector_unit_does() -> None:
    kind = "memref<4096xf16, #hivm.address_space<cbuf>>"
    body = f"""%v = "arith.constant"() <{{value = 0.0 : f16}}> : () -> f16
      {buffer("%a", kind)}
      "hivm.hir.vbrc"(%v, %a) : (f16, {kind}) -> () {at(6)}"""
    (event,) = only(events_of(module(body, core="AIC"), launch(x=(4,), n=1)), Transfer)
    assert isinstance(event, Transfer)
    assert (event.base, event.bytes, event.write) == ("", 8192, True)


def test_a_chain_of_register_instructions_waits_for_each_result() -> None:
    pricing = Pricing(load_constants())
    short, long = (pricing.duration(Chain(1, ("mulf f32",) * n)) for n in (1, 4))
    assert long == pytest.approx(4 * short)
    assert pricing.duration(Chain(1, ("exp f32",))) > 2 * short


def test_the_data_of_a_cold_read_arrive_later_than_the_pipe_is_free() -> None:
    far = Pricing(load_constants(), missed={("x", False): 1.0})
    near = Pricing(load_constants(), missed={("x", False): 0.0})
    read = Transfer("load", 1, "x", 4096, 1, 4096, None, write=False)
    assert far.duration(read) == near.duration(read)
    assert far.lag(read) > near.lag(read) == 0.0

"""Detectors on small modules of our own: what they see, what they leave, whom they name."""

from __future__ import annotations

from dataclasses import replace

from agent.records import BufferPlan, Resources
from agent.symptoms.atomic_in_loop import ATOMIC_IN_LOOP
from agent.symptoms.i64_add import I64_ADD
from agent.symptoms.i64_cmp import I64_CMP
from agent.symptoms.many_programs import MANY_PROGRAMS
from agent.symptoms.origin import Origin, origin_at
from agent.symptoms.single_shot import SINGLE_SHOT
from agent.symptoms.static_stride import STATIC_STRIDE
from agent.symptoms.structure import line_of
from agent.symptoms.table import SYMPTOMS
from agent.symptoms.ub_overflow import UB_OVERFLOW
from agent.symptoms.while_loop import WHILE_LOOP
from tests.agent.symptoms.lowered import at, snapshot, subject

WIDE = "memref<64xi64, #hivm.address_space<ub>>"
COMPARE = f"""
    %0 = "memref.alloc"() : () -> {WIDE} {at(9)}
    "hivm.hir.vcmp"(%0, %0, %0) <{{compare_mode = #hivm.compare_mode<lt>}}> : ({WIDE}, {WIDE}, {WIDE}) -> () {at(9)}
"""
LOOP = f"""
    %0 = "memref.alloc"() : () -> {WIDE} {at(9)}
    %1 = "arith.constant"() <{{value = 0 : index}}> : () -> index loc(unknown)
    "scf.for"(%1, %1, %1) ({{
    ^bb0(%arg9: index):
      %2 = "memref.load"(%0, %arg9) : ({WIDE}, index) -> i64 {at(9)}
      "memref.store"(%2, %0, %arg9) : (i64, {WIDE}, index) -> () {at(9)}
      "scf.yield"() : () -> () {at(9)}
    }}) : (index, index, index) -> () {at(9)}
"""


def transfer(size: int, *, stride: int = 1, slot: int = 1, line: int = 7) -> str:
    """Return a load and a store of `size` values, with a stride in memory and a slot of several elements on chip."""
    gm = f"memref<{size}xf32, strided<[{stride}], offset: ?>, #hivm.address_space<gm>>"
    ub = f"memref<{size}xf32, strided<[{slot}]>, #hivm.address_space<ub>>"
    return f"""
      %20 = "arith.constant"() <{{value = 0 : i64}}> : () -> i64 loc(unknown)
      %21 = "hivm.hir.pointer_cast"(%20) : (i64) -> {ub} {at(line)}
      %22 = "memref.reinterpret_cast"(%arg0) : (memref<?xf32, #hivm.address_space<gm>>) -> {gm} {at(line)}
      %23 = "memref.reinterpret_cast"(%arg1) : (memref<?xf32, #hivm.address_space<gm>>) -> {gm} {at(line + 1)}
      "hivm.hir.load"(%22, %21) : ({gm}, {ub}) -> () {at(line)}
      "hivm.hir.store"(%21, %23) : ({ub}, {gm}) -> () {at(line + 1)}
"""


def looped(body: str, name: str = "scf.for") -> str:
    return f"""
    %9 = "arith.constant"() <{{value = 0 : index}}> : () -> index loc(unknown)
    "{name}"(%9, %9, %9) ({{
    ^bb0(%arg9: index):
{body}
      "scf.yield"() : () -> () loc(unknown)
    }}) : (index, index, index) -> () {at(6)}
"""


def lowered(before: str, after: str):
    return subject([snapshot(4, "hivm-plan-memory", before), snapshot(5, "hivm-lower-to-loops", after)])


def test_what_became_a_loop_is_told_with_the_pass_and_both_forms() -> None:
    (found,) = I64_CMP.detect(lowered(COMPARE, LOOP))
    assert (found.line, found.pass_argument, found.position) == (9, "hivm-lower-to-loops", 5)
    assert "vcmp" in found.excerpt.splitlines()[0]
    assert "scf.for" in found.excerpt


def test_an_operation_that_stays_a_vector_one_is_no_finding() -> None:
    assert I64_CMP.detect(lowered(COMPARE, COMPARE)) == []


def test_each_scalarised_operation_belongs_to_one_symptom() -> None:
    made = lowered(COMPARE.replace("vcmp", "vadd"), LOOP)
    assert [s.symptom for s in I64_ADD.detect(made)] == ["i64_add"]
    assert I64_CMP.detect(made) == []


def test_the_pass_named_is_the_first_since_which_the_structure_stays() -> None:
    states = [("one", COMPARE), ("two", LOOP), ("three", COMPARE), ("four", COMPARE)]
    made = subject([snapshot(i, name, body) for i, (name, body) in enumerate(states)])
    last = made.compilation.snapshots[-1]
    assert origin_at(made, last, 9, lambda op: op.name == "hivm.hir.vcmp") == Origin("three", 2)


def test_what_nested_adapter_passes_do_is_credited_to_the_pass_that_ran_them() -> None:
    states = [
        ("triton-to-annotation", LOOP),
        ("cse", COMPARE),
        ("canonicalize", COMPARE),
        ("triton-to-linalg", COMPARE),
    ]
    made = subject([snapshot(i, name, body, "adapter") for i, (name, body) in enumerate(states)])
    last = made.compilation.snapshots[-1]
    made_by = origin_at(made, last, 9, lambda op: op.name == "hivm.hir.vcmp")
    assert made_by == Origin("triton-to-linalg", 1)


def test_a_stride_is_told_only_where_it_spreads_the_buffer() -> None:
    spread = subject([snapshot(0, "hivm-enable-stride-align", transfer(1024, stride=3, slot=8))])
    assert [s.line for s in STATIC_STRIDE.detect(spread)] == [7, 8]
    packed = subject([snapshot(0, "hivm-plan-memory", transfer(1024, stride=3))])
    assert STATIC_STRIDE.detect(packed) == []


def test_one_pass_over_much_data_is_told_and_over_little_or_in_a_loop_is_not() -> None:
    def found(body: str) -> list[int | None]:
        return [s.line for s in SINGLE_SHOT.detect(subject([snapshot(0, "p", body)]))]

    assert found(transfer(8192)) == [7]
    assert found(transfer(1024)) == []
    assert found(looped(transfer(8192))) == []


def test_more_data_in_one_pass_weighs_more() -> None:
    weights = [SINGLE_SHOT.detect(subject([snapshot(0, "p", transfer(n))]))[0].weight for n in (4096, 8192, 65536)]
    assert weights == sorted(weights)
    assert weights[0] < weights[-1] <= 0.5


def test_only_loads_in_a_while_loop_with_one_slot_are_told() -> None:
    def found(name: str) -> list[int | None]:
        return [s.line for s in WHILE_LOOP.detect(subject([snapshot(0, "p", looped(transfer(512), name))]))]

    assert found("scf.while") == [7]
    assert found("scf.for") == []


def test_a_plain_store_in_a_loop_is_no_atomic_update() -> None:
    atomic = looped(transfer(64)).replace(
        '"hivm.hir.store"(%21, %23)', '"hivm.hir.store"(%21, %23) <{atomic_kind = #hivm.atomic_kind<add>}>'
    )
    assert [s.line for s in ATOMIC_IN_LOOP.detect(subject([snapshot(0, "hivm-decompose-op", atomic)]))] == [8]
    assert ATOMIC_IN_LOOP.detect(subject([snapshot(0, "hivm-decompose-op", looped(transfer(64)))])) == []


def with_cores(body: str, grid: int):
    made = subject([snapshot(0, "p", body, attributes="hacc.entry")], grid=(grid, 1, 1))
    counts = '#dlti.dl_entry<"CUBE_CORE_COUNT", 20 : i32>, #dlti.dl_entry<"VECTOR_CORE_COUNT", 40 : i32>'
    device = f"#hacc.target_device_spec<{counts}>"
    state = replace(made.compilation.snapshots[0], module_attributes={"dlti.target_system_spec": device})
    return replace(made, compilation=replace(made.compilation, snapshots=(state,), hivm=state))


def test_many_small_programs_are_told_from_the_launch() -> None:
    (found,) = MANY_PROGRAMS.detect(with_cores(transfer(256), 4096))
    assert (found.line, found.pass_argument) == (3, None)
    assert found.weight > 0.95


def test_few_programs_large_ones_and_those_that_loop_are_not_told() -> None:
    assert MANY_PROGRAMS.detect(with_cores(transfer(256), 80)) == []
    assert MANY_PROGRAMS.detect(with_cores(transfer(65536), 4096)) == []
    assert MANY_PROGRAMS.detect(with_cores(looped(transfer(256)), 4096)) == []


def test_an_overflow_is_told_by_its_largest_buffer() -> None:
    made = subject([])
    buffers = (BufferPlan("ub", 1000, 0, 1, 5, "memref<a>"), BufferPlan("ub", 900, 0, 2, 6, "memref<b>"))
    resources = Resources(300000, 196608, None, 524288, None, 131072, buffers)
    rejected = replace(made, compilation=replace(made.compilation, status="rejected", hivm=None, resources=resources))
    (found,) = UB_OVERFLOW.detect(rejected)
    assert found.line == 6
    assert found.excerpt.splitlines()[0] == "300000 bytes of 196608"
    assert UB_OVERFLOW.detect(made) == []


def test_no_detector_stumbles_over_a_kernel_without_any_module() -> None:
    made = subject([])
    assert [s.id for s in SYMPTOMS if s.detect(made)] == []


def test_the_line_of_an_operation_without_place_is_unknown() -> None:
    state = snapshot(0, "p", transfer(4))
    assert {line_of(op) for op in state.functions["kern"].walk()} == {None, 3, 7, 8}

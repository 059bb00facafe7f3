import pytest

from agent.symptoms.structure import Argument, Flow, destination
from indexer.ir.generic import parse_module
from indexer.ir.records import IrOp

TYPES = {
    "!whole": "memref<64xf32, #hivm.address_space<ub>>",
    "!part": "memref<?xf32, strided<[1]>, #hivm.address_space<ub>>",
    "!view": "memref<?xf32, strided<[1], offset: ?>, #hivm.address_space<gm>>",
    "!tensor": "memref<?xf32, #hivm.address_space<gm>>",
}
BODY = """
"func.func"() <{sym_name = "kern"}> ({
^bb0(%arg0: !tensor, %arg1: i1):
  %0 = "arith.constant"() <{value = 0 : i64}> : () -> i64
  %1 = "hivm.hir.pointer_cast"(%0) : (i64) -> !whole
  %2 = "hivm.hir.pointer_cast"(%0) : (i64) -> !whole
  "scf.for"(%0, %0, %0) ({
  ^bb0(%arg2: index):
    %7 = "arith.select"(%arg1, %2, %1) : (i1, !whole, !whole) -> !whole
    %8 = "memref.subview"(%7) : (!whole) -> !part
    %9 = "memref.reinterpret_cast"(%arg0, %arg2) : (!tensor, index) -> !view
    "hivm.hir.load"(%9, %8) : (!view, !part) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  "scf.for"(%0, %0, %0) ({
  ^bb0(%arg2: index):
    %7 = "memref.subview"(%1) : (!whole) -> !part
    "hivm.hir.vexp"(%7, %7) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!part, !part) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  "func.return"() : () -> ()
}) : () -> ()
"""


@pytest.fixture
def flow() -> Flow:
    text = BODY
    for short, full in TYPES.items():
        text = text.replace(short, full)
    return Flow(parse_module(text, "kernel.py").top)


def op(flow: Flow, name: str) -> IrOp:
    return next(o for o in flow.ops if o.name == name)


def test_a_name_used_again_in_another_region_means_the_other_definition(flow: Flow) -> None:
    made = flow.producer(op(flow, "hivm.hir.vexp"), 0)
    assert isinstance(made, IrOp)
    assert made.name == "memref.subview"
    assert flow.producer(made, 0) is next(o for o in flow.ops if o.name == "hivm.hir.pointer_cast")


def test_storage_is_found_behind_views_and_slot_selection(flow: Flow) -> None:
    load = op(flow, "hivm.hir.load")
    buffer, tensor = flow.storage(load, 1), flow.storage(load, 0)
    assert isinstance(buffer, IrOp)
    assert buffer.name == "hivm.hir.pointer_cast"
    assert isinstance(tensor, Argument)
    assert tensor.owner.name == "func.func"


def test_a_buffer_chosen_among_two_has_two_slots(flow: Flow) -> None:
    assert flow.slots(op(flow, "hivm.hir.load"), 1) == 2
    assert flow.slots(op(flow, "hivm.hir.vexp"), 1) == 1


def test_a_slice_ends_at_arguments(flow: Flow) -> None:
    found = list(flow.slice_back(op(flow, "hivm.hir.load"), 0))
    assert {p.value.name for p in found if isinstance(p, Argument)} == {"%arg0", "%arg2"}


def test_loops_are_counted_from_outside(flow: Flow) -> None:
    assert [p.name for p in flow.loops(op(flow, "hivm.hir.load"))] == ["scf.for"]
    assert flow.loops(op(flow, "hivm.hir.pointer_cast")) == ()


def test_the_destination_is_the_operand_that_is_written(flow: Flow) -> None:
    assert destination(op(flow, "hivm.hir.load")) == 1
    assert destination(op(flow, "hivm.hir.vexp")) == 1
    assert destination(op(flow, "arith.select")) is None

"""The plan of the on-chip memories is read from the IR and from the compiler's own record."""

from __future__ import annotations

import json

import pytest

from agent.records import BufferPlan
from agent.toolchain.resources import (
    largest,
    memref_bytes,
    planned_buffers,
    read_memory_record,
    stated_limits,
    sum_up,
)
from agent.toolchain.targets import find_target
from indexer.ir.snapshots import Dump, PassRun, compose

UB = "#hivm.address_space<ub>"


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (f"memref<1024x8xf32, {UB}>", 32768),
        (f"memref<f32, {UB}>", 4),
        (f"memref<100xi1, {UB}>", 13),
        (f"memref<16xf8E4M3FN, {UB}>", 16),
        (f"memref<4x8xf32, strided<[16, 1]>, {UB}>", 224),
        (f"memref<3xindex, {UB}>", 24),
        (f"memref<?x8xf32, {UB}>", None),
    ],
)
def test_a_memref_type_spans_its_bytes(kind, size):
    assert memref_bytes(kind) == size


def planned(*lines: str, name: str = "hivm-plan-memory"):
    body = "\n".join(lines)
    function = f'"func.func"() <{{sym_name = "k"}}> ({{\n{body}\n}}) : () -> () loc(unknown)\n'
    return tuple(compose([(Dump(PassRun(name), "bishengir", function), 0)], "k.py"))


def constant(name: str, value: int) -> str:
    return f'{name} = "arith.constant"() <{{value = {value} : i64}}> : () -> i64 loc(unknown)'


def test_the_peak_is_the_highest_end_of_a_buffer_copies_included():
    states = planned(
        constant("%0", 0),
        constant("%1", 4096),
        f'%2 = "hivm.hir.pointer_cast"(%0, %1) : (i64, i64) -> memref<1000xf32, {UB}> loc("k.py":6:1)',
        '%3 = "hivm.hir.pointer_cast"(%0) : (i64) -> memref<16x16xf32, #hivm.address_space<cc>> loc("k.py":7:1)',
    )
    buffers = planned_buffers(states)
    assert buffers == (
        BufferPlan("ub", 4000, 4096, 2, 6, f"memref<1000xf32, {UB}>"),
        BufferPlan("cc", 1024, 0, 1, 7, "memref<16x16xf32, #hivm.address_space<cc>>"),
    )
    got = sum_up(buffers, {"ub": 196608, "cbuf": 524288, "cc": 131072})
    assert (got.ub_bytes, got.l1_bytes, got.l0c_bytes) == (8096, 0, 1024)


def test_without_a_plan_nothing_is_claimed():
    assert planned_buffers(planned(name="cse")) is None
    assert sum_up(None, {"ub": 1, "cbuf": 2, "cc": 3}).ub_bytes is None


def test_the_limits_are_those_that_the_module_states():
    spec = '#dlti.dl_entry<"UB_SIZE", 8000 : i32>, #dlti.dl_entry<"L1_SIZE", 4194304 : i32>'
    got = stated_limits({"dlti.target_system_spec": spec}, find_target("ascend910b3"))
    assert got == {"ub": 1000, "cbuf": 524288, "cc": 131072}


def test_the_record_of_a_failed_plan_is_read(tmp_path):
    entry = {
        "buffer": f'%1 = "memref.alloc"() : () -> memref<64xf32, {UB}> loc("k.py":8:2)',
        "extent": 2048,
        "offset": [0, 512],
        "source_location": 'loc("k.py":8:2)',
    }
    record = {"Record": [{"scope": "ub", "status": "fail", "memory_info_array": [entry]}]}
    (tmp_path / "memory_info_aiv.json").write_text(json.dumps(record))
    assert read_memory_record(tmp_path, "k.py") == (BufferPlan("ub", 256, 512, 2, 8, f"memref<64xf32, {UB}>"),)


def test_the_largest_buffer_counts_its_copies():
    one, two = BufferPlan("ub", 300, 0, 1, 4, ""), BufferPlan("ub", 200, 0, 2, 5, "")
    assert largest([one, two, BufferPlan("cc", 999, 0, 1, 6, "")], "ub") == two
    assert largest([], "ub") is None

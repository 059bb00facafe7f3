"""The tree of dumps is read in the order of the passes."""

from __future__ import annotations

import os
from pathlib import Path

from agent.toolchain.dumps import failing_pass, last_attempt, parse_pass_ids, read_tree
from indexer.ir.snapshots import PassRun


def write(folder: Path, name: str, at: int, failed: str = "") -> Path:
    path = folder / "builtin_module_no-symbol-name" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"// -----// IR Dump After X{failed} (x) //----- //\n")
    os.utime(path, ns=(at, at))
    return path


def test_the_order_is_that_of_writing_since_counters_start_again(tmp_path):
    write(tmp_path, "7_hivm-plan-memory.mlir", 10)
    write(tmp_path, "0_canonicalize.mlir", 20)
    write(tmp_path, "func_func_kern_mix_aiv/0_1_combine-ave-ops.mlir", 30)
    assert [run for run, _ in read_tree(tmp_path)] == [
        PassRun("hivm-plan-memory"),
        PassRun("canonicalize"),
        PassRun("combine-ave-ops", "kern_mix_aiv"),
    ]


def test_only_the_last_attempt_counts():
    first = [PassRun("canonicalize-module"), PassRun("hacc-append-device-spec"), PassRun("hivm-plan-memory")]
    assert last_attempt([*first, *first]) == 3
    assert last_attempt(first[1:] * 2) == 2
    assert last_attempt([PassRun("cse")]) == 0


def test_pass_ids_are_read_without_the_adaptors():
    text = "[PassID] hacc-append-device-spec/module/0\n[PassID] mlir::detail::OpToOpPassAdaptor/module/0\nnoise\n"
    assert parse_pass_ids(text + "[PassID] canonicalize/kern/12\n") == [
        PassRun("hacc-append-device-spec"),
        PassRun("canonicalize", "kern"),
    ]


def test_the_failing_pass_is_that_of_the_last_dump(tmp_path):
    fine = write(tmp_path, "0_cse.mlir", 1)
    failed = write(tmp_path, "1_hivm-plan-memory.mlir", 2, " Failed")
    assert failing_pass([fine, failed], None) == "hivm-plan-memory"
    assert failing_pass([fine], None) is None
    assert failing_pass([fine, failed], {"cse"}) is None

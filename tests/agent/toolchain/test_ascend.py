"""TTIR goes through the real compilers; whatever happens to a kernel is a result with its cause."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from agent.records import Compilation, Launch
from agent.toolchain.ascend import compile_ttir
from agent.toolchain.install import AscendInstall, find_ascend
from agent.toolchain.resources import read_memory_record
from agent.toolchain.targets import find_target
from indexer.errors import BadInput, StoreError, ToolchainError
from indexer.ir.blame import trace
from indexer.ir.resolution import resolve

KERNELS = Path(__file__).parents[2] / "kernels" / "lowering"
TARGETS = ("ascend910b3", "ascend950")


def lower(
    name: str, target: str, out: Path | None = None, install: AscendInstall | None = None, **given
) -> Compilation:
    file = KERNELS / f"{name}.py"
    launch = Launch(name, file, 6, {}, {}, (1, 1, 1))
    ttir = (KERNELS / f"{name}.ttir").read_text()
    return compile_ttir(install or find_ascend(), ttir, launch, find_target(target), file.name, out, **given)


@cache
def lowered(name: str, target: str) -> Compilation:
    """Compile once for all tests that only look."""
    return lower(name, target)


def makers(name: str, target: str) -> dict[tuple[str, int], tuple[str | None, tuple[str, ...]]]:
    made = lowered(name, target)
    assert made.hivm is not None
    return {(b.op, b.line): (b.pass_argument, b.replaced) for b in trace(made.snapshots, made.hivm)}


@pytest.mark.toolchain
@pytest.mark.parametrize("target", TARGETS)
def test_every_stage_is_listed_and_the_changed_ones_have_a_snapshot(target):
    made = lowered("strided_softmax", target)
    assert made.status == "ok"
    assert made.diagnostics == ()
    assert [s.position for s in made.stages] == list(range(len(made.stages)))
    changed = [s for s in made.stages if s.changed]
    assert [(s.name, s.position) for s in changed] == [(s.pass_argument, s.position) for s in made.snapshots]
    assert all((s.ops is not None) == s.changed for s in made.stages)
    names = [s.name for s in made.stages]
    assert names[:2] == ["ttir", "discrete-mask-access-conversion"]
    assert names[8] == "triton-to-linalg"
    assert {"hacc-append-device-spec", "hivm-plan-memory", "convert-hivm-to-std"} <= set(names)
    assert len(names) > 2 * len(changed)


@pytest.mark.toolchain
def test_the_listed_stages_are_all_that_ran_on_a3():
    # 254 runs for a kernel of one function (docs of the toolchain run); the adapter adds its 8 passes and the source.
    assert len(lowered("strided_softmax", "ascend910b3").stages) == 254 + 9


@pytest.mark.toolchain
@pytest.mark.parametrize("target", TARGETS)
def test_the_state_before_library_calls_shows_loads_and_stores(target):
    made = lowered("strided_softmax", target)
    assert made.hivm is not None
    names = {op.name for f in made.hivm.functions.values() for op in f.walk()}
    assert {"hivm.hir.load", "hivm.hir.store", "hivm.hir.pointer_cast"} <= names
    assert ("func.call" in names) == (target == "ascend950")  # its vector functions


@pytest.mark.toolchain
@pytest.mark.parametrize("name", ["strided_softmax", "take", "matmul_epilogue", "best"])
def test_on_a3_every_hivm_operation_has_a_user_line(name):
    made = lowered(name, "ascend910b3")
    assert made.hivm is not None
    found = resolve(made.snapshots, made.hivm)
    assert (found.resolved_share, found.made_share) == (1.0, 0.0)


@pytest.mark.toolchain
@pytest.mark.parametrize("name", ["strided_softmax", "take", "matmul_epilogue"])
def test_on_950_lines_that_the_compiler_lost_are_carried(name):
    made = lowered(name, "ascend950")
    assert made.hivm is not None
    assert resolve(made.snapshots, made.hivm).resolved_share > 0.97


@pytest.mark.toolchain
def test_blame_of_a_strided_softmax_on_a3():
    made = makers("strided_softmax", "ascend910b3")
    assert made["hivm.hir.vdeinterleave", 9][0] == "hivm-recognize-deinterleave-op"
    assert made["hivm.hir.load", 9][0] == "convert-to-hivm-op"
    assert "memref.copy" in made["hivm.hir.load", 9][1]
    assert made["hivm.hir.vbrc", 9][0] == "hivm-aggregated-decompose-op"
    assert made["hivm.hir.pointer_cast", 9] == ("hivm-plan-memory", ("memref.alloc",))
    assert made["hivm.hir.vadd", 10] == ("hivm-decompose-op", ("hivm.hir.vsub",))
    assert made["hivm.hir.vreduce", 10][0] == "convert-hfusion-to-hivm"


@pytest.mark.toolchain
def test_blame_of_a_matmul_on_a3():
    made = makers("matmul_epilogue", "ascend910b3")
    assert made["hivm.hir.nd2nz", 13] == ("hivm-infer-data-layout", ("hivm.hir.load",))
    assert made["hivm.hir.sync_block_set", 11][0] == "hivm-cross-core-gss"
    assert made["scf.for", 11][0] is None


@pytest.mark.toolchain
@pytest.mark.parametrize("target", TARGETS)
def test_a_scalar_loop_is_blamed_on_the_adapter_pass_around_its_clean_ups(target):
    made = makers("take", target)
    assert made["scf.for", 9][0] == "triton-to-unstructure"


@pytest.mark.toolchain
def test_blame_of_a_vector_function_on_950():
    made = makers("strided_softmax", "ascend950")
    assert made["ave.hir.vexpdif", 11][0] == "combine-ave-ops"
    assert made["hivm.hir.load", 9][0] == "convert-to-hivm-op"


@pytest.mark.toolchain
def test_the_planned_peak_is_that_of_the_compilers_own_record(tmp_path):
    made = lower("matmul_epilogue", "ascend910b3", tmp_path)
    recorded = read_memory_record(tmp_path, "matmul_epilogue.py")
    for space, peak in (("ub", made.resources.ub_bytes), ("cbuf", made.resources.l1_bytes)):
        assert peak == max(b.offset_bytes + b.bytes for b in recorded if b.space == space)


@pytest.mark.toolchain
def test_a_stride_makes_the_buffer_eight_times_as_large():
    made = lowered("strided_softmax", "ascend910b3")
    assert made.resources.ub_limit_bytes == 192 * 1024
    assert (max(b.bytes for b in made.resources.buffers)) == 8 * 1024 * 4


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("name", "target", "memory", "needed", "available", "line"),
    [
        ("wide", "ascend910b3", "UB", 524288, 196608, 8),
        ("wide", "ascend950", "UB", 262144, 253952, 8),
        ("deep_dot", "ascend910b3", "L1", 1572864, 524288, 11),
        ("deep_dot", "ascend950", "L1", 1572864, 524288, 11),
        ("broad_dot", "ascend910b3", "L0C", 1048576, 131072, 12),
        ("broad_dot", "ascend950", "L0C", 1048576, 262144, 12),
    ],
)
def test_an_overflow_is_the_first_diagnostic(name, target, memory, needed, available, line):
    made = lowered(name, target)
    first = made.diagnostics[0]
    assert made.status == "rejected"
    assert first.message.startswith(
        f"{memory} overflow: the kernel needs {needed} bytes at once, the device has {available}"
    )
    assert (first.severity, first.line, first.stage, first.pass_argument) == (
        "error",
        line,
        "bishengir",
        "hivm-plan-memory",
    )
    used = {"UB": made.resources.ub_bytes, "L1": made.resources.l1_bytes, "L0C": made.resources.l0c_bytes}
    assert used[memory] == needed
    assert not any("Failed to run" in d.message for d in made.diagnostics)


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("name", "target", "words", "line", "blamed"),
    [
        ("square_fp64", "ascend910b3", "'hivm.hir.vmul' op failed to verify", 9, "convert-hfusion-to-hivm"),
        ("square_fp64", "ascend950", "'hivm.hir.load' op failed to verify", 8, "hivm-insert-load-store-for-mix-cv"),
        ("add_fp64", "ascend910b3", "'hivm.hir.atomic_rmw' op failed to verify", 9, "convert-hfusion-to-hivm"),
        ("add_fp64", "ascend950", "'hivm.hir.load' op failed to verify", 9, "hivm-insert-load-store-for-mix-cv"),
        ("best", "ascend950", "failed to legalize operation 'linalg.reduce'", 9, "convert-linalg-to-hfusion"),
    ],
)
def test_a_rejection_gives_the_compilers_reason_at_the_users_line(name, target, words, line, blamed):
    made = lowered(name, target)
    (only,) = made.diagnostics
    assert made.status == "rejected"
    assert only.message.startswith(words)
    assert (only.line, only.pass_argument) == (line, blamed)


@pytest.mark.toolchain
def test_what_was_switched_off_to_fit_is_said():
    made = lowered("loop_wide", "ascend910b3")
    assert made.status == "ok"
    assert made.retried_without == ("enable-code-motion", "enable-auto-multi-buffer")
    assert [d.severity for d in made.diagnostics] == ["warning", "warning"]
    assert sum(s.name == "hacc-append-device-spec" for s in made.stages) == 1


@pytest.mark.toolchain
def test_what_950_switched_off_is_found_by_its_attempts():
    made = lower("loop_wide", "ascend950", options={"multibuffer": True})
    assert made.status == "ok"
    assert made.retried_without == ("enable-vf-fusion", "vf-reachable-check")


@pytest.mark.toolchain
def test_launch_options_reach_the_compiler():
    on = lowered("loop_wide", "ascend950").resources
    flags = lower("take", "ascend910b3", flags=("--enable-hivm-inject-barrier-all-sync=true",))
    options = lower("take", "ascend910b3", options={"inject_barrier_all": True})

    def barriers(made: Compilation) -> int:
        assert made.hivm is not None
        return sum(op.name == "hivm.hir.pipe_barrier" for f in made.hivm.functions.values() for op in f.walk())

    assert barriers(flags) == barriers(options) > barriers(lowered("take", "ascend910b3"))
    assert on.ub_bytes


@pytest.mark.toolchain
def test_the_files_of_a_run_stay_in_the_folder_and_nothing_else(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    lower("take", "ascend910b3", tmp_path)
    made = lower("square_fp64", "ascend910b3", tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"mine.txt", "kernel.ttir", "linalg.mlir", "dumps"}
    assert all(Path(s.file).exists() for s in made.snapshots)
    assert len(list((tmp_path / "dumps").iterdir())) == len(made.snapshots)


@pytest.mark.toolchain
def test_without_a_folder_the_ir_files_last_as_long_as_the_process():
    files = lowered("take", "ascend910b3").files
    assert set(files) == {"ttir", "linalg", "final", "memory_aiv"}
    assert "linalg" in files["linalg"].read_text() or "memref.copy" in files["linalg"].read_text()
    assert "hivm" in files["final"].read_text()


@pytest.mark.toolchain
def test_a_full_disk_is_said_as_such(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", small], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.decode().strip()}")
    try:
        with pytest.raises(StoreError, match=f"no space left on the disk of {small}"):
            lower("strided_softmax", "ascend950", small)
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", small], check=True)


# What a compiler does that is broken in one way; `$OUT` is the file that it was asked to write.
Install = Callable[[str, str], AscendInstall]
WORKS = 'printf "module {\\n}\\n" > "$OUT"'


@pytest.fixture
def broken(tmp_path) -> Install:
    """Make an installation of scripts: one for the adapter, one for bishengir-compile."""

    def make(adapter: str, compiler: str) -> AscendInstall:
        install = AscendInstall(Path("python"), tmp_path / "site")
        for path, body in ((install.adapter, adapter), (install.bishengir("bishengir-compile"), compiler)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nOUT="$2"\n' + body + "\n")
            path.chmod(0o755)
        return install

    return make


def test_a_crash_is_tried_again_and_then_a_finding(tmp_path, broken):
    log = tmp_path / "log"
    made = lower(
        "take", "ascend910b3", install=broken(WORKS, f'case "$*" in *display*) echo x >> {log};; esac; kill -SEGV $$')
    )
    assert made.status == "rejected"
    assert "bishengir-compile crashed on this kernel, twice (signal 11)" in made.diagnostics[0].message
    assert log.read_text().split() == ["x", "x"]


def test_the_time_limit_is_a_result(broken):
    made = lower("take", "ascend910b3", install=broken(WORKS, "sleep 60"), seconds=0.5)
    assert made.status == "rejected"
    assert "bishengir-compile was stopped after 0.5 s" in made.diagnostics[0].message
    assert made.seconds < 10


def test_a_failure_without_a_reason_is_said_to_be_one(broken):
    made = lower("take", "ascend910b3", install=broken("echo odd >&2; exit 7", ""))
    (only,) = made.diagnostics
    assert only.stage == "adapter"
    assert "exited with code 7 and gave no reason; its last line: odd" in only.message


def test_a_compiler_that_reports_a_full_disk_is_believed(broken):
    with pytest.raises(StoreError, match="no space left"):
        lower("take", "ascend910b3", install=broken("echo 'LLVM ERROR: No space left on device' >&2; exit 1", ""))


def test_a_missing_compiler_says_how_to_get_it(tmp_path):
    with pytest.raises(ToolchainError, match="tritonkb toolchain install ascend"):
        lower("take", "ascend910b3", install=AscendInstall(Path("python"), tmp_path))


def test_a_folder_that_cannot_be_written_is_bad_input(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot write to"):
        lower("take", "ascend910b3", tmp_path / "file" / "out", install=AscendInstall(Path("python"), tmp_path))


def test_the_pure_simt_path_is_refused(tmp_path):
    with pytest.raises(BadInput, match="simt_only is not supported yet"):
        lower("take", "ascend950", install=AscendInstall(Path("p"), tmp_path), options={"compile_mode": "simt_only"})

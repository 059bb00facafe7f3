"""The CUDA symptoms on pairs of our own: found on the slow kernel, at its line and pass, not on the fast one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.diagnose import diagnose
from agent.records import Finding, KernelSource, Lowering
from agent.sandbox import SandboxPolicy
from agent.toolchain.cuda_install import find_cuda
from agent.toolchain.targets import find_device
from agent.workbench import Workbench, open_workbench
from indexer.errors import ToolchainError
from indexer.ir.blame import SOURCE

PAIRS = Path(__file__).parents[2] / "pairs_cuda"
TRUTH = json.loads((PAIRS / "truth.json").read_text(encoding="utf-8"))
# One for each level that is read: TTGIR's layouts, PTX's widths, ptxas; the others are slow tests.
QUICK = ("idle_warps",)


def has_cuda() -> bool:
    try:
        find_cuda()
    except ToolchainError:
        return False
    return True


pytestmark = [pytest.mark.toolchain_cuda, pytest.mark.skipif(not has_cuda(), reason="no CUDA toolchain: make setup")]


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with open_workbench(find_device("cuda:90"), SandboxPolicy(seconds=60)) as opened:
        yield opened


def source(name: str) -> KernelSource:
    path = PAIRS / f"{name}.py"
    return KernelSource(path, path.read_text(encoding="utf-8"))


def findings(bench: Workbench, name: str) -> tuple[Finding, ...]:
    return diagnose(bench, source(name), None, "en").findings


def check_pair(bench: Workbench, name: str) -> None:
    entry = TRUTH[name]
    own = [f for f in findings(bench, f"{name}_slow")[:3] if f.symptom == name]
    assert own, name
    if entry["line"] is not None:
        assert entry["line"] in {f.line for f in own}
    passes = {f.structure.pass_argument for f in own}
    assert passes & set(entry["passes"]) if entry["passes"] else passes == {None}
    assert name not in {f.symptom for f in findings(bench, f"{name}_fast")}


@pytest.mark.parametrize("name", QUICK)
def test_a_symptom_is_found_on_the_slow_kernel_only(bench: Workbench, name: str) -> None:
    check_pair(bench, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(TRUTH) - set(QUICK)))
def test_each_other_symptom_is_found_on_the_slow_kernel_only(bench: Workbench, name: str) -> None:
    check_pair(bench, name)


@pytest.fixture(scope="module")
def lowering(bench: Workbench) -> Lowering:
    return bench.lower(source("idle_warps_slow"))


def test_a_launch_is_specialised_as_the_jit_would(lowering: Lowering) -> None:
    launch = lowering.launches[0].launch
    assert launch.aligned == ("scores", "result", "classes"), "112 is a multiple of 16"
    assert launch.options["num_warps"] == 8


def test_every_state_says_which_pass_left_it(lowering: Lowering) -> None:
    made = lowering.launches[0].compilation
    names = [s.pass_argument for s in made.snapshots]
    assert names[0] == SOURCE
    assert {"tritongpu-coalesce", "convert-triton-to-tritongpu"} <= set(names)
    assert [s.position for s in made.snapshots] == sorted({s.position for s in made.snapshots})


def test_operations_are_blamed_on_a_line_and_a_pass(lowering: Lowering) -> None:
    blames = {(b.op, b.line): b.pass_argument for b in lowering.launches[0].blames}
    assert blames["tt.load", TRUTH["idle_warps"]["line"]] is None, "the source has it"


def test_what_a_program_holds_comes_from_the_assembler(lowering: Lowering) -> None:
    gpu = lowering.launches[0].compilation.gpu
    assert gpu is not None
    assert 8 <= gpu.registers <= 64
    assert (gpu.warps, gpu.spill_bytes) == (8, 0)
    assert 0 < gpu.occupancy <= 1


def test_the_predicted_cost_says_its_basis_and_a_wide_interval(lowering: Lowering) -> None:
    cost = lowering.cost
    assert cost is not None
    assert cost.basis == "predicted"
    assert cost.interval.high / cost.interval.low >= 4
    assert abs(sum(cost.terms.values()) - cost.value) < 0.01 * cost.value
    assert abs(sum(cost.by_line.values()) - cost.value) < 0.01 * cost.value

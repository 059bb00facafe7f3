"""A right candidate passes every case, and each way of being wrong is found, by running both for real."""

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent.records import Cost, Entry, Interval, KernelSource
from agent.toolchain.install import find_ascend
from agent.toolchain.targets import find_target
from agent.verify.builds import Builder
from agent.verify.check import Checks, Verifier
from agent.verify.kept import Kept
from agent.verify.linalg import NotBuilt
from agent.verify.llvm import find_llvm
from agent.verify.running import InterpreterRunner, LinalgRunner, Ran, make_inputs
from indexer.messages import LANGUAGES, render

pytestmark = [pytest.mark.toolchain, pytest.mark.skipif(find_llvm() is None, reason="LLVM 19 is not installed")]
SHARED = os.environ.get("TRITONKB_TEST_DATA")

HEAD = """
import torch
import triton
import triton.language as tl

SHAPES = [(64, 32), (1000, 7)]


@triton.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr + at, tl.maximum(x * 2, 0.0, propagate_nan=tl.PropagateNan.ALL), mask=at < n)


def make_inputs(seed, shape=SHAPES[0]):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)),)


"""
RETURNS = (
    HEAD
    + """
def reference(x):
    return torch.relu(x * 2)


def run(x):
    out = torch.empty_like(x)
    n = x.numel()
    scale[(triton.cdiv(n, 256),)](x, out, n, BLOCK=256)
    return out
"""
)
IN_PLACE = (
    HEAD.replace("return (torch.randn", "x = torch.randn").replace(
        "(seed)),)", "(seed))\n    return x, torch.zeros_like(x)"
    )
    + """
def run(x, out):
    n = x.numel()
    scale[(triton.cdiv(n, 256),)](x, out, n, BLOCK=256)
"""
)


@pytest.fixture(scope="module")
def bench(worker: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    scratch = tmp_path_factory.mktemp("scratch")
    return SimpleNamespace(worker=worker, install=find_ascend(), target=find_target("ascend910b3"), scratch=scratch)


@pytest.fixture(scope="module")
def verifier(bench: Any) -> Iterator[Verifier]:
    with Verifier(bench) as made:
        yield made


def source(text: str) -> KernelSource:
    return KernelSource(Path("/home/user/scale.py"), text)


def check(verifier: Verifier, *edits: tuple[str, str], text: str = RETURNS) -> Checks:
    candidate = text
    for old, new in edits:
        assert old in candidate, old
        candidate = candidate.replace(old, new)
    checks = verifier.check(source(text), source(candidate))
    for note in (*checks.reasons, *checks.not_covered):
        assert all(render(note, lang) for lang in LANGUAGES)
    return checks


def fault_keys(checks: Checks) -> set[str]:
    return {fault.key for note in checks.reasons for fault in [note.values.get("fault", note)]}


def test_another_block_size_is_right_on_every_shape_seed_and_odd_size(verifier):
    checks = check(verifier, ("256", "512"))
    assert (checks.verdict, checks.level) == ("right", "linalg_cpu")
    assert checks.shapes == ("1000x7", "64x32", "63x31")
    assert checks.seeds[:2] == (0, 1)
    assert len(checks.seeds) == 3  # one follows from the candidate's text
    assert checks.cases == 3 + 1 + 1 + 2 + 1  # seeds, the other shape, the odd size, NaN and infinity, a second call
    assert checks.max_error == 0
    assert "float32 0.0001" in checks.tolerance
    assert [note.key for note in checks.not_covered] == ["verify.level_linalg_cpu"]
    assert checks.sandbox == verifier.bench.worker.layers
    assert checks.sandbox


@pytest.mark.parametrize(
    ("edit", "fault"),
    [
        pytest.param(("x * 2, 0.0", "x * 2.01, 0.0"), "verify.wrong_value", id="wrong scale"),
        pytest.param(("mask=at < n)\n\n", "mask=at < n - 1)\n\n"), "verify.wrong_nan", id="off-by-one mask"),
        pytest.param(("(triton.cdiv(n, 256),)", "(n // 256,)"), "verify.wrong_nan", id="unwritten tail"),
        pytest.param(("tl.PropagateNan.ALL", "tl.PropagateNan.NONE"), "verify.wrong_nan", id="NaN dropped"),
        pytest.param(("    n = x.numel()\n", "    n = 0\n"), "verify.wrong_nan", id="nothing written"),
        pytest.param(("empty_like(x)", "empty_like(x, dtype=torch.float16)"), "verify.other_type", id="other type"),
        pytest.param(("    return out\n", "    return out.view(-1)\n"), "verify.other_type", id="other shape"),
        pytest.param(("    return out\n", "    return out, out\n"), "verify.other_form", id="other form"),
        pytest.param(("(x, out, n,", "(x, x, n,"), "verify.wrong_nan", id="writes to its input"),
        pytest.param(("    return out\n", "    raise ValueError(n)\n"), "verify.candidate_broke", id="raises"),
        pytest.param(("    scale[", "    if n < 0: scale["), "verify.nothing_launched", id="launches nothing"),
    ],
)
def test_a_wrong_candidate_is_found(verifier, edit, fault):
    checks = check(verifier, edit)
    assert checks.verdict == "wrong"
    assert fault in fault_keys(checks)


def test_a_kernel_that_relies_on_zeros_in_its_output_is_found_by_noise_there(verifier):
    right = check(verifier, ("256", "512"), text=IN_PLACE)
    assert (right.verdict, right.cases) == ("right", 3 + 1 + 1 + 3 + 2)  # seeds, shape, odd, altered, again and shared
    assert "verify.no_reference" in {note.key for note in right.not_covered}
    skips = (
        "tl.maximum(x * 2, 0.0, propagate_nan=tl.PropagateNan.ALL), mask=at < n)",
        "x * 2, mask=(at < n) & (x > 0))",
    )
    assert check(verifier, skips, text=IN_PLACE).verdict == "wrong"


def test_a_write_behind_the_output_is_found(verifier):
    for text in (RETURNS, IN_PLACE):
        checks = check(verifier, ("mask=at < n)\n\n", "mask=at < n + 3)\n\n"), ("256", "512"), text=text)
        assert fault_keys(checks) == {"verify.out_of_bounds"}


def test_a_crash_is_a_wrong_candidate_and_no_exception(verifier):
    far = ("out_ptr + at, tl", "out_ptr + at * 100000000, tl")
    assert fault_keys(check(verifier, far)) == {"verify.candidate_broke"}


def test_a_cheat_is_not_run(verifier):
    checks = check(verifier, ("    return out\n", "    return reference(x)\n"))
    assert (checks.verdict, checks.level, checks.cases) == ("cheating", "none", 0)


def test_an_original_that_raises_leaves_nothing_to_compare_with(verifier):
    checks = check(verifier, ("256", "512"), text=RETURNS.replace("    return out\n", "    raise ValueError(n)\n"))
    assert (checks.verdict, fault_keys(checks)) == ("unchecked", {"verify.original_broke"})


def test_a_script_is_compared_by_the_tensors_it_gave_to_its_kernels(verifier):
    script = HEAD.partition("def make_inputs")[0] + "x = torch.randn(1000)\nout = torch.empty_like(x)\n"
    script += "scale[(4,)](x, out, 1000, BLOCK=256)\n"
    right = check(verifier, ("(4,)", "(2,)"), ("256", "512"), text=script)
    assert (right.verdict, right.cases) == ("right", 3)  # the seeds; a script takes no shape, and no inputs
    assert check(verifier, ("x * 2", "x * 3"), text=script).verdict == "wrong"


def test_without_a_launch_or_a_result_nothing_counts_as_checked(verifier):
    silent = RETURNS.replace("    return out\n", "    return None\n")
    assert fault_keys(check(verifier, ("256", "512"), text=silent)) == {"verify.original_leaves_nothing"}
    idle = HEAD.partition("SHAPES")[0] + "x = 1\n"
    assert check(verifier, ("x = 1", "x = 2"), text=idle).verdict == "unchecked"


@pytest.mark.slow
def test_an_original_that_disagrees_with_its_reference_is_compared_with_itself(verifier):
    checks = check(verifier, ("256", "512"), text=RETURNS.replace("torch.relu(x * 2)", "x * 3"))
    assert checks.verdict == "right"
    assert "verify.original_off" in {note.key for note in checks.not_covered}


def test_the_interpreter_checks_the_same_policy(verifier, interpreter):
    runner = InterpreterRunner(interpreter, verifier.bench.target)
    small = RETURNS.replace("(64, 32), (1000, 7)", "(8, 6)")
    right = verifier.check_by(runner, source(small), source(small.replace("256", "64")))
    assert not isinstance(right, NotBuilt)
    assert (right.verdict, right.level) == ("right", "interpreter")
    assert "verify.level_interpreter" in {note.key for note in right.not_covered}
    wrong = verifier.check_by(runner, source(small), source(small.replace("x * 2,", "x * 3,")))
    assert not isinstance(wrong, NotBuilt)
    assert wrong.verdict == "wrong"


def test_what_the_scan_cannot_see_the_run_tells(verifier):
    hidden = RETURNS.replace("    return out\n", "    return x.mul(2).clamp_min(0)\n")
    remembered = RETURNS.replace(
        "def run(x):\n", "def run(x, known={}):\n    if x.shape in known: return known[x.shape]\n"
    )
    remembered = remembered.replace("    return out\n", "    known[x.shape] = out\n    return out\n")
    found = [
        verifier.check_by(verifier._linalg, source(RETURNS), source(text.replace("256", "512")))
        for text in (hidden, remembered)
    ]
    assert [checks.verdict for checks in found] == ["cheating", "wrong"]
    assert {note.key for note in found[0].reasons} == {"verify.cheat_torch_ran"}
    assert fault_keys(found[1]) == {"verify.reused_output"}


@pytest.mark.slow
def test_a_bare_kernel_is_checked_on_inputs_made_from_its_types(verifier):
    entry = Entry(signature=("*fp32", "*fp32", "i32"), constexprs={"BLOCK": 64}, grid=(5, 1, 1))
    bare = KernelSource(Path("/home/user/scale.py"), HEAD.partition("def make_inputs")[0], entry)
    other = dataclasses.replace(bare, text=bare.text.replace("x * 2, 0.0", "x + x, 0.0"))
    checks = verifier.check(bare, other)
    assert (checks.verdict, checks.level) == ("right", "linalg_cpu")
    assert len(checks.seeds) == 3
    assert len(checks.shapes) == 3  # sizes that the original was found to take
    wrong = dataclasses.replace(bare, text=bare.text.replace("mask=at < n)\n\n", "mask=at < n - 1)\n\n"))
    assert verifier.check(bare, wrong).verdict == "wrong"


def test_a_cost_below_what_the_work_takes_is_no_merit(verifier):
    candidate = source(RETURNS.replace("256", "512"))
    impossible = Cost(1e-6, "predicted", Interval(1e-6, 1e-6), "load")
    checks = verifier.check(source(RETURNS), candidate, impossible)
    assert (checks.verdict, {note.key for note in checks.reasons}) == ("cheating", {"verify.below_floor_predicted"})
    assert verifier.check(source(RETURNS), candidate, dataclasses.replace(impossible, value=9.0)).verdict == "right"


@pytest.mark.slow
@pytest.mark.skipif(SHARED is None, reason="TRITONKB_TEST_DATA is not set")
def test_fast_kernels_of_the_pairs_compute_what_the_slow_ones_do(verifier):
    folder = Path(SHARED or "") / "symptom_pairs"
    found = {}
    for path in sorted(folder.glob("*_slow.py")):
        name = path.name.removesuffix("_slow.py")
        slow, fast = (folder / f"{name}_{kind}.py" for kind in ("slow", "fast"))
        found[name] = verifier.check(KernelSource(slow, slow.read_text()), KernelSource(fast, fast.read_text()))
    other = {name: checks.verdict for name, checks in found.items() if checks.verdict != "right"}
    # One is an approximation that keeps three digits, one changes the type of its inputs.
    assert other == {"erf_poly": "wrong", "int8_math": "cheating"}
    assert {checks.level for name, checks in found.items() if name not in other} == {"linalg_cpu"}


def test_what_one_run_built_the_next_takes_from_disk_and_computes_the_same(bench, tmp_path):
    source, kept = KernelSource(Path("kernel.py"), RETURNS), Kept(tmp_path / "kept")
    inputs = make_inputs(bench.worker, source, bench.target, 0, 0)
    builders = [Builder(bench.install, bench.target, tmp_path / name, kept) for name in ("first", "second")]
    assert not builders[0].libraries(source)
    first, second = (LinalgRunner(bench.worker, builder).run(source, inputs, 0) for builder in builders)
    assert isinstance(first, Ran)
    assert first == second
    assert (tmp_path / "first").exists()
    assert not (tmp_path / "second").exists()  # nothing was lowered or linked there


def test_what_was_kept_for_a_source_is_not_taken_for_another(bench, tmp_path):
    source, kept = KernelSource(Path("kernel.py"), RETURNS), Kept(tmp_path / "kept")
    inputs = make_inputs(bench.worker, source, bench.target, 0, 0)
    LinalgRunner(bench.worker, Builder(bench.install, bench.target, tmp_path / "first", kept)).run(source, inputs, 0)
    fresh = Builder(bench.install, bench.target, tmp_path / "second", kept)
    assert fresh.libraries(source)
    assert not fresh.libraries(KernelSource(Path("kernel.py"), RETURNS.replace("x * 2, 0.0", "x * 3, 0.0")))

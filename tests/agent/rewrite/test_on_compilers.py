"""Rewrites through the real compilers: the structure goes, the cost falls, and the results stay."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.diagnose import subjects_of
from agent.records import KernelSource
from agent.rewrite.table import REWRITES
from agent.sandbox import SandboxPolicy
from agent.symptoms.base import Rewrite
from agent.symptoms.table import SYMPTOMS
from agent.toolchain.targets import find_target
from agent.verify.check import verify
from agent.workbench import Workbench, open_workbench

ROOT = Path(__file__).parents[3]
BY_ID = {symptom.id: symptom for symptom in SYMPTOMS}
# Symptom: a kernel that has it and that its first rule which fits repairs.
KERNELS = {
    "cumsum_last": "tests/pairs/cumsum_last_slow.py",
    "divmod_index": "tests/pairs/divmod_index_slow.py",
    "dot_acc_init": "tests/pairs/dot_acc_init_slow.py",
    "dot_mask_k": "tests/pairs/dot_mask_k_slow.py",
    "dot_scale_in_loop": "examples/matmul_epilogue.py",
    "dot_swapped_ptr": "tests/pairs/dot_swapped_ptr_slow.py",
    "gather_scalar": "tests/pairs/gather_scalar_slow.py",
    "i64_cmp": "examples/layer_norm_int64_mask.py",
    "many_programs": "tests/pairs/many_programs_slow.py",
    "mask_fill": "tests/pairs/mask_fill_slow.py",
    "relu_epilogue": "tests/pairs/relu_epilogue_slow.py",
    "static_stride": "examples/softmax_strided.py",
    "ub_overflow": "tests/pairs/ub_overflow_slow.py",
    "while_loop": "tests/pairs/while_loop_slow.py",
    "xor_expand": "tests/pairs/xor_expand_slow.py",
}
QUICK = ("i64_cmp", "static_stride")
# Told by a structure that the better form has too: a de-interleave, now of a contiguous range.
STILL_SEEN = frozenset({"static_stride"})
# What these save is overlap or filling, which a sum of times per resource does not show.
NOT_IN_THE_SUM = frozenset({"while_loop", "dot_mask_k"})

pytestmark = pytest.mark.toolchain


def names() -> list[object]:
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in KERNELS]


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with open_workbench(find_target("ascend910b3"), SandboxPolicy()) as opened:
        yield opened


def read(name: str) -> KernelSource:
    path = ROOT / KERNELS[name]
    return KernelSource(path, path.read_text(encoding="utf-8"))


def rewrite_of(bench: Workbench, name: str) -> Rewrite:
    for subject in subjects_of(bench.lower(read(name))):
        for structure in BY_ID[name].detect(subject):
            for rule in REWRITES[name]:
                found = rule(subject, structure)
                if found is not None:
                    return found
    raise AssertionError(name)


@pytest.mark.parametrize("name", names())
def test_the_rewritten_kernel_is_cheaper_and_the_structure_is_gone(bench: Workbench, name: str) -> None:
    before = bench.lower(read(name))
    after = bench.lower(dataclasses.replace(read(name), text=rewrite_of(bench, name).source))
    assert after.cost is not None
    assert before.cost is None or after.cost.value < before.cost.value or name in NOT_IN_THE_SUM
    left = [s for subject in subjects_of(after) for s in BY_ID[name].detect(subject)]
    assert left == [] or name in STILL_SEEN


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_the_rewritten_kernel_computes_the_same(bench: Workbench, name: str) -> None:
    candidate = dataclasses.replace(read(name), text=rewrite_of(bench, name).source)
    checks = verify(bench, read(name), candidate)
    assert (checks.verdict, checks.reasons) == ("right", ())


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_the_rewritten_kernel_compiles_for_950_too(bench: Workbench, name: str) -> None:
    source = rewrite_of(bench, name).source
    with open_workbench(find_target("ascend950"), SandboxPolicy()) as other:
        after = other.lower(dataclasses.replace(read(name), text=source))
    assert [item.compilation.status for item in after.launches] == ["ok"]

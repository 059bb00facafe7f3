"""Every pair of our own through the real compilers: found on the slow kernel, not on the fast one, and shown why."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.counterfactual import judge
from agent.diagnose import subjects_of
from agent.records import KernelSource, Structure
from agent.sandbox import SandboxPolicy
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.table import SYMPTOMS
from agent.toolchain.targets import find_target
from agent.workbench import Workbench, open_workbench

PAIRS = Path(__file__).parents[2] / "pairs"
TRUTH = json.loads((PAIRS / "truth.json").read_text(encoding="utf-8"))
BY_ID = {s.id: s for s in SYMPTOMS}
# One of each kind of reading; the others are as quick, but there are many.
QUICK = ("i64_cmp", "static_stride", "many_programs")
# What no small edit shows: the grid is the host's.
OPEN = frozenset({"many_programs"})

pytestmark = pytest.mark.toolchain


def names() -> list[object]:
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in TRUTH]


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with open_workbench(find_target("ascend910b3"), SandboxPolicy()) as opened:
        yield opened


def subject_of(bench: Workbench, source: KernelSource) -> Subject:
    return next(iter(subjects_of(bench.lower(source))))


def read(name: str, side: str) -> KernelSource:
    path = PAIRS / f"{name}_{side}.py"
    return KernelSource(path, path.read_text(encoding="utf-8"))


def own_findings(bench: Workbench, name: str, side: str) -> tuple[Subject, Symptom, list[Structure]]:
    symptom = BY_ID[TRUTH[name]["symptom"]]
    subject = subject_of(bench, read(name, side))
    return subject, symptom, symptom.detect(subject)


@pytest.mark.parametrize("name", names())
def test_the_slow_kernel_has_the_symptom_on_its_line_by_its_pass(bench: Workbench, name: str) -> None:
    _, _, found = own_findings(bench, name, "slow")
    accepted = TRUTH[name]["passes"] or [None]
    lines = [s.line for s in found if s.pass_argument in accepted]
    assert lines
    assert TRUTH[name]["line"] in {*lines, None}


@pytest.mark.parametrize("name", names())
def test_the_fast_kernel_does_not_have_the_symptom(bench: Workbench, name: str) -> None:
    assert own_findings(bench, name, "fast")[2] == []


@pytest.mark.parametrize("name", names())
def test_the_smallest_change_removes_the_structure(bench: Workbench, name: str) -> None:
    subject, symptom, found = own_findings(bench, name, "slow")

    def lower(variant: Variant) -> Subject | None:
        assert variant.source is not None
        return subject_of(bench, dataclasses.replace(read(name, "slow"), text=variant.source))

    verdict = judge(subject, found[0], symptom, lower)
    assert verdict.verdict == ("open" if name in OPEN else "confirmed")


SPLIT = """
import torch
import triton
import triton.language as tl


@triton.jit
def first_of_two(x_ptr, o_ptr, BLOCK: tl.constexpr):
    wide = tl.load(x_ptr + tl.arange(0, 2 * BLOCK))
    even, odd = tl.split(tl.reshape(wide, (BLOCK, 2)))
    tl.store(o_ptr + tl.arange(0, BLOCK), even)


KERNEL = first_of_two
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32"}
CONSTS = {"BLOCK": 512}
GRID = (1,)
"""


def test_a_split_that_the_kernel_itself_makes_is_no_stride(bench: Workbench) -> None:
    subject = subject_of(bench, KernelSource(Path("split.py"), SPLIT))
    assert "hivm.hir.vdeinterleave" in {blame.op for blame in subject.blames}
    assert BY_ID["static_stride"].detect(subject) == []


@pytest.mark.slow
def test_every_second_element_is_a_stride_though_the_adapter_loads_them_all(bench: Workbench) -> None:
    text = SPLIT.replace(
        "wide = tl.load(x_ptr + tl.arange(0, 2 * BLOCK))", "even = tl.load(x_ptr + 2 * tl.arange(0, BLOCK))"
    )
    text = "\n".join(line for line in text.splitlines() if "tl.split" not in line) + "\n"
    (found,) = BY_ID["static_stride"].detect(subject_of(bench, KernelSource(Path("half.py"), text)))
    assert (text.splitlines()[found.line - 1].split()[0], found.pass_argument) == ("even", "triton-to-linalg")

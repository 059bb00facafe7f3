"""A kernel is made smaller as long as it still shows what is reported."""

from __future__ import annotations

import ast
from pathlib import Path

from agent.bundle.reduce import reduce_kernel
from agent.bundle.standalone import standalone
from agent.records import KernelSource, Launch

KERNEL = """
import torch
import triton
import triton.language as tl

SECRET = "do not tell"
STEP = tl.constexpr(4)


@triton.jit
def half(v):
    return v * 0.5


@triton.jit
def unused(v):
    return v


@triton.autotune(configs=[], key=[])
@triton.jit
def kern(x_ptr, y_ptr, o_ptr, n, BLOCK: tl.constexpr):
    \"\"\"Our customer's secret sauce.\"\"\"
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for step in range(2, n, STEP):  # told by Alice
        x = tl.load(x_ptr + at + step, mask=at < n, other=0.0)
        y = tl.load(y_ptr + at)
        z = half(y)
        w = tl.erf(x)
        if n > 3:
            tl.store(o_ptr + at, z)
        tl.store(o_ptr + at + step, w, mask=at < n)


def run(x):
    kern[(4,)](x, x, x, 7, BLOCK=1024)
"""
TYPES = {"x_ptr": "*fp32", "y_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
LAUNCH = Launch("kern", Path("k.py"), 1, TYPES, {"BLOCK": 1024}, (4, 1, 1))


def alone() -> str:
    text = standalone(KernelSource(Path("k.py"), KERNEL), LAUNCH)
    assert text is not None
    return text


def test_a_kernel_stands_alone_without_its_host_and_what_people_wrote_about_it() -> None:
    text = alone()
    ast.parse(text)
    assert "CONSTS = {'BLOCK': 1024}" in text
    assert "STEP = tl.constexpr(4)" in text
    for word in ("SECRET", "secret", "Alice", "torch", "unused", "autotune", "def run"):
        assert word not in text


def test_a_launch_that_no_file_can_state_does_not_stand_alone() -> None:
    odd = Launch("kern", Path("k.py"), 1, {}, {"BLOCK": object()}, (1, 1, 1))
    assert standalone(KernelSource(Path("k.py"), KERNEL), odd) is None


def test_what_the_symptom_does_not_need_goes() -> None:
    def keeps(text: str) -> bool:
        ast.parse(text)
        return "tl.erf(x)" in text and "tl.store" in text

    found = reduce_kernel(alone(), "w = tl.erf(x)", keeps, most=60)
    assert found.tried <= 60
    body = found.text[found.text.index("def kern") : found.text.index("KERNEL")].strip().splitlines()
    assert body == [
        "def kern(x_ptr, o_ptr):",
        "    x = tl.load(x_ptr)",
        "    w = tl.erf(x)",
        "    tl.store(o_ptr, w)",
    ]
    assert "half" not in found.text
    assert "SIG = {'x_ptr': '*fp32', 'o_ptr': '*fp32'}" in found.text
    assert "CONSTS = {}" in found.text


def test_a_size_that_is_needed_is_made_as_small_as_can_be() -> None:
    def keeps(text: str) -> bool:
        return "tl.arange(0, BLOCK)" in text and any(f"'BLOCK': {size}}}" in text for size in (64, 128, 256, 512, 1024))

    assert "CONSTS = {'BLOCK': 64}" in reduce_kernel(alone(), "", keeps, most=60).text


def test_the_budget_is_kept_and_the_best_so_far_is_given() -> None:
    tried: list[str] = []

    def keeps(text: str) -> bool:
        tried.append(text)
        return "tl.erf(x)" in text

    found = reduce_kernel(alone(), "w = tl.erf(x)", keeps, most=3)
    assert len(tried) == found.tried == 3
    assert len(found.text) <= len(alone())


def test_nothing_is_taken_from_a_kernel_that_needs_all() -> None:
    found = reduce_kernel(alone(), "", lambda _: False, most=20)
    assert found.text == alone()

"""A bundle through the real compilers: the reduced kernel shows what the whole one does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.bundle.evidence import see
from agent.bundle.write import write_bundles
from agent.diagnose import diagnose
from agent.records import KernelSource
from agent.sandbox import SandboxPolicy
from agent.toolchain.targets import find_target
from agent.workbench import Workbench, open_workbench

pytestmark = [pytest.mark.toolchain, pytest.mark.slow]

HOST = """
import torch
import triton
import triton.language as tl

CUSTOMER = "Ann"


@triton.jit
def gelu_scaled(x_ptr, s_ptr, o_ptr, n, BLOCK: tl.constexpr):
    for lo in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = lo + tl.arange(0, BLOCK)
        inside = at < n
        x = tl.load(x_ptr + at, mask=inside, other=0.0)
        s = tl.load(s_ptr + at, mask=inside, other=0.0)
        y = 0.5 * x * (1.0 + tl.erf(x * 0.70710678))
        tl.store(o_ptr + at, y * s, mask=inside)


def make_inputs(seed):
    return torch.randn(8192), torch.randn(8192)


def run(x, s):
    out = torch.empty_like(x)
    gelu_scaled[(4,)](x, s, out, x.numel(), BLOCK=1024)
    return out
"""


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with open_workbench(find_target("ascend910b3"), SandboxPolicy()) as opened:
        yield opened


def test_a_bundle_holds_a_smaller_kernel_that_shows_the_same(bench: Workbench, tmp_path: Path) -> None:
    found = diagnose(bench, KernelSource(tmp_path / "host.py", HOST), None, "en", most=0)
    (bundle,) = (b for b in write_bundles(bench, found, tmp_path / "out") if b.finding.symptom == "erf_poly")
    assert bundle.tried <= 40
    names = {"kernel.py", "report.md", "report.zh.md", "bundle.json", "before.mlir", "after.mlir"}
    assert {path.name for path in bundle.folder.iterdir()} == names == set(bundle.files)
    texts = {path.name: path.read_text(encoding="utf-8") for path in bundle.folder.iterdir()}
    assert not any("Ann" in text or str(tmp_path) in text for text in texts.values())
    kernel = texts["kernel.py"]
    assert "s_ptr" not in kernel
    assert "mask" not in kernel
    assert "for lo" not in kernel
    again = see(bench.lower(KernelSource(tmp_path / "kernel.py", kernel)), bundle.finding)
    assert again is not None
    assert "tl.erf" in again.text
    assert "#hfusion.unary_fn<erf>" in texts["before.mlir"]
    assert "#hfusion.unary_fn<erf>" not in texts["after.mlir"]
    assert json.loads(texts["bundle.json"])["project"] == "AscendNPU-IR"


def test_what_is_the_kernels_own_makes_no_bundle(bench: Workbench, tmp_path: Path) -> None:
    text = HOST.replace("0.5 * x * (1.0 + tl.erf(x * 0.70710678))", "x + 1.0")
    found = diagnose(bench, KernelSource(tmp_path / "host.py", text), None, "en", most=0)
    assert write_bundles(bench, found, tmp_path / "out") == ()
    assert not (tmp_path / "out").exists()

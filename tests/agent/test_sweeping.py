from __future__ import annotations

from pathlib import Path

import pytest

from agent.records import KernelSource
from agent.sandbox import SandboxPolicy
from agent.sweeping import read_axes, sweep
from agent.toolchain.targets import find_target
from agent.workbench import open_workbench
from indexer.errors import BadInput

SOURCE = """
import torch
import triton
import triton.language as tl

SIZE = 4096


@triton.jit
def scale(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place, mask=place < n)
    tl.store(o_ptr + place, tl.exp(x) * 2, mask=place < n)


def make_inputs(seed):
    return (torch.rand(SIZE),)


def run(x):
    out = torch.empty_like(x)
    scale[(triton.cdiv(SIZE, 512),)](x, out, SIZE, BLOCK=512)
    return out
"""


def test_axes_are_combined() -> None:
    assert read_axes(["B=1,2", "K=x"]) == [{"B": 1, "K": "x"}, {"B": 2, "K": "x"}]


@pytest.mark.parametrize("text", ["B", "B=", "=3", "1=2"])
def test_an_axis_without_values_is_named(text: str) -> None:
    with pytest.raises(BadInput, match=text):
        read_axes([text])


def test_too_many_configurations_are_refused() -> None:
    with pytest.raises(BadInput, match="1000"):
        read_axes([f"{name}=" + ",".join(map(str, range(10))) for name in "ABC"])


@pytest.mark.toolchain
def test_a_sweep_costs_what_compiles_prunes_what_overflows_and_marks_what_to_measure(tmp_path: Path) -> None:
    source = KernelSource(tmp_path / "scale.py", SOURCE)
    with open_workbench(find_target("ascend910b4"), SandboxPolicy()) as bench:
        tried = sweep(bench, source, read_axes(["BLOCK=256,512,131072,262144"]))
        with pytest.raises(BadInput, match="TILE"):
            sweep(bench, source, [{"TILE": 3}])
    assert [item.status for item in tried] == ["ok", "ok", "rejected", "pruned"]
    assert [item.cost is not None for item in tried] == [True, True, False, False]
    assert any(item.measure for item in tried[:2])
    assert "131072" in tried[3].note

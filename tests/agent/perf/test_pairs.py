"""The model on real compilations: our own small kernels, and the slow and fast kernels of the symptom pairs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.capture import capture
from agent.perf.predict import predict
from agent.records import Cost, KernelSource
from agent.toolchain.ascend import compile_ttir
from agent.toolchain.client import Worker
from agent.toolchain.install import find_ascend
from agent.toolchain.targets import find_target
from indexer.messages import render

SHARED = os.environ.get("TRITONKB_TEST_DATA")
PAIRS = (
    sorted(p.name.removesuffix("_slow.py") for p in Path(SHARED, "symptom_pairs").glob("*_slow.py")) if SHARED else []
)
needs_pairs = pytest.mark.skipif(not SHARED, reason="TRITONKB_TEST_DATA does not name the folder of the pairs")
# Forms that move the cost at these sizes (docs/cost.md): the data of a load arrive later than its tile takes to move,
# and over few rounds the sums hide behind the loads.
NOT_SLOWER = {"single_shot", "dot_acc_init"}

ROWS = """
import torch
import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, o_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols * STEP, mask=cols < n, other=0.0)
    tl.store(o_ptr + row * n + cols, tl.exp(x), mask=cols < n)


def make_inputs(seed):
    return torch.rand((64, 2000 * STEP)), torch.empty((64, 1000))


def run(x, out):
    rows[(64,)](x, out, 1000, 2000 * STEP, BLOCK=1024)
    return out
"""


def price(worker: Worker, path: Path, text: str, target: str, folder: Path) -> Iterator[Cost]:
    chosen = find_target(target)
    found = capture(worker, KernelSource(path, text), target)
    for index, item in enumerate(found.launches):
        assert item.ttir is not None
        out = folder / f"{path.stem}-{target}-{index}"
        made = compile_ttir(find_ascend(), item.ttir, item.launch, chosen, found.printed_file, out)
        if made.hivm is not None:
            start = time.process_time()
            cost = predict(made, chosen)
            assert time.process_time() - start < 1
            assert sum(cost.by_line.values()) == pytest.approx(cost.value)
            assert all(render(note, lang) for note in cost.remarks for lang in ("en", "zh"))
            yield cost


@pytest.mark.toolchain
@pytest.mark.parametrize("target", ["ascend910b3", pytest.param("ascend950", marks=pytest.mark.slow)])
def test_a_strided_read_of_a_real_kernel_costs_more_at_its_line(worker: Worker, tmp_path: Path, target: str) -> None:
    (near,) = price(worker, tmp_path / "near.py", ROWS.replace("STEP", "1"), target, tmp_path)
    (far,) = price(worker, tmp_path / "far.py", ROWS.replace("STEP", "5"), target, tmp_path)
    line = ROWS.splitlines().index("    x = tl.load(x_ptr + row * stride + cols * STEP, mask=cols < n, other=0.0)") + 1
    assert far.value > near.value
    assert far.by_line[line] > 2 * near.by_line[line]
    assert far.terms["load"] > 2 * near.terms["load"]
    assert near.bytes_moved == 64 * 1000 * 4 * 2


@needs_pairs
@pytest.mark.slow
@pytest.mark.toolchain
@pytest.mark.parametrize("name", PAIRS)
def test_the_slow_kernel_of_a_pair_is_predicted_slower(worker: Worker, tmp_path: Path, name: str) -> None:
    costs = {}
    for speed in ("slow", "fast"):
        path = Path(str(SHARED), "symptom_pairs", f"{name}_{speed}.py")
        for target in ("ascend910b3", "ascend950"):  # the pairs were found on A2/A3; on 950 it only has to work
            costs[speed, target] = list(price(worker, path, path.read_text(), target, tmp_path))
    slow, fast = (sum(cost.value for cost in costs[speed, "ascend910b3"]) for speed in ("slow", "fast"))
    if slow and fast:  # a kernel that is rejected has no cost
        assert (slow > fast) != (name in NOT_SLOWER)

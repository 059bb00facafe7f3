"""What a diagnosis spends on proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.diagnose import LARGE_OPS, is_large
from agent.records import KernelSource, Lowered, Lowering
from tests.agent.symptoms.lowered import snapshot, subject

OP = '    "hivm.hir.vexp"() : () -> () loc(unknown)\n'


@pytest.mark.parametrize(("ops", "large"), [(3, False), (LARGE_OPS + 1, True)])
def test_a_kernel_that_the_compilers_need_long_for_is_large(ops: int, large: bool) -> None:  # noqa: FBT001
    made = subject([snapshot(0, "hivm-plan-memory", OP * ops)])
    item = Lowered(made.launch, made.compilation, (), None)
    assert is_large(Lowering(KernelSource(Path("k.py"), ""), "ascend910b3", (item,), None)) is large


def test_a_kernel_that_is_refused_is_not_large() -> None:
    made = subject([])
    item = Lowered(made.launch, made.compilation, (), None)
    assert not is_large(Lowering(KernelSource(Path("k.py"), ""), "ascend910b3", (item,), None))

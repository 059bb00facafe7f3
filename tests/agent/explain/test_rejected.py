"""Every refused kernel of our own is explained: what for, on which line, and the way out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.explain.explain import explain
from agent.explain.records import Explanation
from agent.records import KernelSource
from agent.sandbox import SandboxPolicy
from agent.toolchain.targets import find_target
from agent.workbench import Workbench, open_workbench
from indexer.messages import render
from indexer.toml import tomllib

pytestmark = pytest.mark.toolchain

FOLDER = Path(__file__).parents[2] / "rejected"
EXPECTED: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "expected.toml").read_text(encoding="utf-8"))
TARGETS = ("ascend910b3", "ascend950")
QUICK = [name for name, told in EXPECTED.items() if told.get("quick")]


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with open_workbench(find_target("ascend910b3"), SandboxPolicy()) as opened:
        yield opened


@pytest.fixture(scope="module")
def bench_950() -> Iterator[Workbench]:
    with open_workbench(find_target("ascend950"), SandboxPolicy()) as opened:
        yield opened


def explained(bench: Workbench, name: str) -> tuple[Explanation, ...]:
    path = FOLDER / f"{name}.py"
    return explain(bench.lower(KernelSource(path, path.read_text(encoding="utf-8"))), bench.lower)


def check(bench: Workbench, name: str) -> None:
    wanted = EXPECTED[name].get(bench.target.name)
    found = explained(bench, name)
    if wanted is None:
        assert [told for told in found if told.kind == "rejected"] == []
        return
    (told,) = found
    assert (told.cause, told.line or 0) == (wanted["cause"], wanted["line"])
    assert wanted["way"] in render(told.way_out, "en")
    assert render(told.way_out, "zh")


def test_every_kernel_has_its_expectation_and_every_memory_overflows() -> None:
    assert sorted(EXPECTED) == sorted(path.stem for path in FOLDER.glob("*.py"))
    assert len(EXPECTED) >= 20
    causes = {told[target]["cause"] for told in EXPECTED.values() for target in TARGETS if target in told}
    assert {"ub_overflow", "l1_overflow", "l0c_overflow", "compiler_crash", "verifier", "element_type"} <= causes


@pytest.mark.parametrize("name", QUICK)
def test_a_refused_kernel_is_explained(bench: Workbench, name: str) -> None:
    check(bench, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EXPECTED if name not in QUICK])
def test_a_kernel_that_the_passes_refuse_is_explained(bench: Workbench, name: str) -> None:
    check(bench, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_a_kernel_that_950_refuses_is_explained(bench_950: Workbench, name: str) -> None:
    check(bench_950, name)


def test_the_buffers_of_an_overflow_say_what_padding_added(bench: Workbench) -> None:
    (told,) = explained(bench, "ub_padded_rows")
    largest = told.buffers[0]
    assert (largest.tensor, largest.line, largest.bytes, largest.at_peak) == ("x", 10, 524_288, True)
    assert "from 65536 to 524288 bytes" in " ".join(render(note, "en") for note in largest.added)


def test_the_largest_tile_is_compiled_and_the_next_one_fails(bench: Workbench) -> None:
    (told,) = explained(bench, "ub_padded_rows")
    assert told.fit is not None
    assert (told.fit.fits, told.fit.too_large) == (4096, 8192)
    assert told.fit.used_bytes is not None
    assert told.fit.used_bytes <= 192 * 1024

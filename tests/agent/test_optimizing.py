"""Several files at once: on a Ray cluster as in processes of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.contract import OptimizeDoc
from agent.jobs import Failed
from agent.optimizing import optimize_kernels
from agent.records import KernelSource
from agent.request import Goal, RoundEnded, Run, RunEvent, Site, Started
from agent.sandbox import SandboxPolicy
from indexer.home import data_home
from tests.agent.test_loop import KERNEL

pytestmark = [pytest.mark.toolchain, pytest.mark.slow]


def runs_in(folder: Path) -> list[Run]:
    texts = {"good": KERNEL, "broken": "def broken(:\n"}
    return [Run(KernelSource(Path(f"{n}.py"), t), Goal(1), folder / n) for n, t in texts.items()]


def test_runs_on_a_ray_cluster_end_as_those_in_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'tritonkb[ray]'")
    monkeypatch.setenv("TRITONKB_HOME", str(data_home()))
    monkeypatch.setenv("HOME", str(tmp_path))  # ray keeps a token of its clusters there
    site = Site("ascend910b3", SandboxPolicy(), None, "en")
    ended = {}
    for jobs in ("ray", "2"):
        told: list[RunEvent] = []
        good, bad = optimize_kernels(site, runs_in(tmp_path / jobs), told.append, jobs)
        assert isinstance(good, OptimizeDoc)
        assert isinstance(bad, Failed)
        assert [type(event) for event in told].count(Started) == 2
        assert [type(event) for event in told].count(RoundEnded) == 1
        ended[jobs] = (good.best.round, good.best.speedup, [r.verdict for r in good.rounds], bad.error.note)
    assert ended["ray"] == ended["2"]

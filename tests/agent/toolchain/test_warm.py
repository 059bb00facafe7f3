"""Workers stay warm from one use to the next, and do not outlive their process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent.sandbox import SandboxPolicy
from agent.toolchain.client import Worker
from agent.toolchain.install import find_ascend
from agent.toolchain.warm import end_workers, lend_worker
from indexer.errors import BadInput

pytestmark = pytest.mark.toolchain
POLICY = SandboxPolicy(seconds=29)


@pytest.fixture(autouse=True)
def _none_waits() -> None:
    end_workers()


def lent() -> Worker:
    with lend_worker(find_ascend(), POLICY) as worker:
        return worker


def test_the_next_use_gets_the_worker_of_the_last_one() -> None:
    assert lent() is lent()


def test_uses_at_once_have_workers_of_their_own() -> None:
    with lend_worker(find_ascend(), POLICY) as one, lend_worker(find_ascend(), POLICY) as other:
        assert one is not other


def test_another_policy_gets_another_worker() -> None:
    first = lent()
    with lend_worker(find_ascend(), SandboxPolicy(seconds=28)) as other:
        assert first is not other


def test_a_use_that_fails_gives_its_worker_back_and_one_that_is_interrupted_ends_it() -> None:
    first = lent()
    with pytest.raises(BadInput), lend_worker(find_ascend(), POLICY):
        raise BadInput("capture.no_kernel", path="x.py")
    assert lent() is first
    with pytest.raises(KeyboardInterrupt), lend_worker(find_ascend(), POLICY):
        raise KeyboardInterrupt
    assert lent() is not first


def test_a_waiting_worker_ends_with_its_process(tmp_path: Path) -> None:
    kernel = tmp_path / "ends_with_it.py"
    kernel.write_text("import triton\nraise ValueError\n")
    program = (
        "import os, sys\nfrom agent.cli.main import run\n"
        f"assert run(['compile', {str(kernel)!r}]) == 2\n"
        "print(*[p for p in os.listdir('/proc') if p.isdigit() and p != str(os.getpid())"
        " and open(f'/proc/{p}/stat').read().rpartition(')')[2].split()[1] == str(os.getpid())])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=dict(os.environ), timeout=120, check=True
    )
    children = done.stdout.split()
    assert children, "a worker waits"
    end = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in children):
        assert time.monotonic() < end
        time.sleep(0.05)

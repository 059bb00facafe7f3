"""One warm worker for all tests that need host code run."""

from collections.abc import Iterator

import pytest

from agent.sandbox import SandboxPolicy
from agent.toolchain.client import Worker
from agent.toolchain.install import find_ascend


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    with Worker(find_ascend(), SandboxPolicy(seconds=30)) as running:
        yield running


@pytest.fixture(scope="session")
def interpreter() -> Iterator[Worker]:
    with Worker(find_ascend(), SandboxPolicy(seconds=30), interpreter=True) as running:
        yield running

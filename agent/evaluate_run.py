"""Diagnosis as the evaluation asks for it: many files, each target's compilers started once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from agent.diagnose import diagnose
from agent.records import Entry, Finding
from agent.request import read_source
from agent.sandbox import SandboxPolicy
from agent.toolchain.targets import find_device
from agent.workbench import Workbench, open_workbench
from retriever.search import Index


@contextmanager
def open_diagnoser(policy: SandboxPolicy, index: Index | None) -> Iterator[Callable[[Path, str], Sequence[Finding]]]:
    """Give a function from a kernel file and a target to its findings, with one workbench a target."""
    benches: dict[str, Workbench] = {}
    with ExitStack() as stack:

        def findings(file: Path, target: str) -> Sequence[Finding]:
            if target not in benches:
                benches[target] = stack.enter_context(open_workbench(find_device(target), policy))
            return diagnose(benches[target], read_source(file, Entry()), index, "en").findings

        yield findings

"""Candidates that lowering already tells to be useless: refused by the compiler, or spilling registers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from agent.configurations.candidates import Made
from agent.records import KernelSource
from agent.sandbox import is_limit
from agent.workbench import Workbench
from indexer.errors import BadInput, SandboxError

# Bytes a thread spills and takes back: some dozens cost nothing (measured on an H200 with 12 and 32 bytes).
SPILL_BYTES = 256


def prune(bench: Workbench, source: KernelSource, candidates: Iterable[Made]) -> Iterator[Made]:
    """Yield the candidates that compile for the bench's target and hold their values in registers."""
    for made in candidates:
        try:
            lowering = bench.lower(dataclasses.replace(source, text=made.text))
        except (BadInput, SandboxError) as error:
            if isinstance(error, SandboxError) and not is_limit(error):
                raise
            continue  # the host is refused with it: so it would be on the device
        compiled = [item.compilation for item in lowering.launches]
        spilled = [c.gpu.spill_bytes for c in compiled if c.gpu is not None]
        if all(c.status == "ok" for c in compiled) and max(spilled, default=0) <= SPILL_BYTES:
            yield made

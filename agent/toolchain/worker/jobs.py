"""The kinds of job, each run in a child of its own; see `main.py`."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import capturing
import executing
import launches
import torch
import triton
from devices import NeedsMeta
from recorder import TooManyLaunches
from rejection import Rejection

launches.line_info_on()


def versions() -> dict[str, str]:
    """Give the versions that results depend on."""
    return {"torch": torch.__version__, "triton": triton.__version__}


def warm_meta() -> None:
    """Import what the first operation on a meta tensor imports (2.6 s), so that children find it done."""
    torch.empty(2, device="meta") + 1


def run(header: dict[str, Any], blobs: list[bytes], folder: Path) -> tuple[dict[str, Any], list[bytes]]:
    """Run the job that `header` names; what host code does wrong comes back as a `rejected` answer."""
    _limit(header)
    try:
        return _KINDS[header["job"]](header, blobs, folder)
    except Rejection as error:
        return error.as_answer(), []
    except NeedsMeta:
        return {"status": "needs_meta"}, []
    except TooManyLaunches:
        return Rejection("too_many_launches").as_answer(), []


def _limit(header: dict[str, Any]) -> None:
    """Lower what the kernel enforces by itself; time and resident memory are watched by the parent."""
    cpu = int(header["seconds"]) + 1
    # Virtual size, beyond what torch already maps: a backstop behind the watched resident size.
    memory = int(header["memory_bytes"])
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    virtual = pages * resource.getpagesize() + 2 * memory + (1 << 30)
    for kind, limit in ((resource.RLIMIT_CPU, cpu * 4), (resource.RLIMIT_AS, virtual), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        wanted = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (wanted, wanted))


_KINDS = {
    "capture": capturing.capture,
    "inputs": executing.make_inputs,
    "execute": executing.execute,
    "reference": executing.reference,
}

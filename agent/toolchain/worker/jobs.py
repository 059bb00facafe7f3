"""The kinds of job, each run in a child of its own; see `main.py`."""

from __future__ import annotations

import re
import resource
from pathlib import Path
from typing import Any

import capturing
import executing
import launches
import torch
import triton
from devices import NeedsMeta
from flavour import IS_UPSTREAM
from recorder import TooManyLaunches
from rejection import Rejection

launches.line_info_on()
_KINDS = {
    "capture": capturing.capture,
    "inputs": executing.make_inputs,
    "execute": executing.execute,
    "reference": executing.reference,
}
if IS_UPSTREAM:
    import gpu_lowering

    _KINDS["lower"] = gpu_lowering.lower


def versions() -> dict[str, str]:
    """Give the versions that results depend on."""
    return {"torch": torch.__version__, "triton": triton.__version__}


def warm_meta() -> None:
    """Import what the first operation on a meta tensor imports (2.6 s), so that children find it done."""
    torch.empty(2, device="meta").add(1)


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
    """Lower what the kernel enforces by itself; time and resident memory are watched by the parent.

    RLIMIT_DATA counts private writable mappings, touched or not; what torch has of them already does not count, nor
    does the 1 GiB of local memory that each compiled kernel maps and hardly touches.
    """
    held = int(re.findall(r"VmData:\s*(\d+) kB", Path("/proc/self/status").read_text())[0]) << 10
    limits = {
        resource.RLIMIT_DATA: held + int(header["memory_bytes"]) + (2 << 30),
        resource.RLIMIT_CPU: 4 * (int(header["seconds"]) + 1),
        resource.RLIMIT_CORE: 0,
    }
    for kind, limit in limits.items():
        hard = resource.getrlimit(kind)[1]
        wanted = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (wanted, wanted))

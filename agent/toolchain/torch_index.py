"""Where torch's CPU build comes from: on x86-64, PyPI only has the CUDA build, several GB that nothing here uses.

`python -m agent.toolchain.torch_index` prints the options for pip, for the Makefile.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import urllib.error
import urllib.request

# PyTorch's own index of CPU builds (https://pytorch.org/get-started/locally).
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
VARIABLE = "TRITONKB_TORCH_INDEX"
NONE = "none"
ANSWER_SECONDS = 5


def choose_torch_index(named: str | None = None) -> str | None:
    """Choose a further index for torch: `named`, TRITONKB_TORCH_INDEX ("none": no other), else PyTorch's own.

    PyTorch's is only taken on x86-64, where it answers, and where the user's pip has no sources of its own configured:
    those know better what can be reached.
    """
    wanted = named or os.environ.get(VARIABLE)
    if wanted:
        return None if wanted == NONE else wanted
    if platform.machine() != "x86_64" or _own_sources() or not _answers(CPU_INDEX):
        return None
    return CPU_INDEX


def _own_sources() -> bool:
    """Tell whether pip's configuration (files and environment) names an index, a folder of wheels, or no index."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, timeout=600, check=False
    )
    names = {line.partition("=")[0].rpartition(".")[2] for line in done.stdout.splitlines()}
    return bool(names & {"index-url", "find-links", "no-index"})


def _answers(index: str) -> bool:
    try:
        head = urllib.request.Request(f"{index}/torch/", method="HEAD")  # noqa: S310 - a constant https address
        with urllib.request.urlopen(head, timeout=ANSWER_SECONDS):  # noqa: S310
            return True
    except (urllib.error.URLError, TimeoutError):
        return False


if __name__ == "__main__":
    index = choose_torch_index()
    print(f"--extra-index-url {index}" if index else "")

"""Run a kernel file's own inputs on a device, for a profiler: `python harness.py FILE DEVICE`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_TURNS = 3  # the first compiles


def main(file: Path, device: str) -> None:
    """Call `run(*make_inputs(0))` on the device a few times; a file without them runs as it is loaded."""
    import torch  # noqa: PLC0415 - what the profiled program has, not this package

    spec = importlib.util.spec_from_file_location("kernel", file)
    if spec is None or spec.loader is None:
        raise SystemExit(f"not a Python file: {file}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if hasattr(module, "make_inputs") and hasattr(module, "run"):
        inputs = [x.to(device) if isinstance(x, torch.Tensor) else x for x in module.make_inputs(0)]
        for _ in range(_TURNS):
            module.run(*inputs)
    getattr(torch, device).synchronize()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

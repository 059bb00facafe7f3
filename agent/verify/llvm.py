"""The tools that turn Linalg IR into native code, LLVM 19's and a linker: where they are, and running them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# The IR of triton-ascend 3.2.0 is LLVM 20 (git), which LLVM 19 reads but 18 does not; Debian's names carry the number.
LLVM_VERSION = "19"
_TOOLS = ("mlir-opt", "mlir-translate", "clang")
# clang needs it too; called directly it links in 6 ms, through clang in 60 ms.
_LINKER = "ld"
# A build takes 0.3-0.6 s; a tool that needs a hundred times that will not end.
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Llvm:
    """Paths of the tools."""

    mlir_opt: Path
    mlir_translate: Path
    clang: Path
    linker: Path


@dataclass(frozen=True, slots=True)
class ToolFailed:
    """A tool refused its input: its name and the first line it said."""

    tool: str
    output: str


@cache
def find_llvm() -> Llvm | None:
    """Find the tools on PATH or in Debian's own folder; None when one is missing (`missing_tools` says which)."""
    mlir_opt, mlir_translate, clang = (_which(tool) for tool in _TOOLS)
    linker = shutil.which(_LINKER)
    if mlir_opt is None or mlir_translate is None or clang is None or linker is None:
        return None
    return Llvm(mlir_opt, mlir_translate, clang, Path(linker))


def missing_tools() -> tuple[str, ...]:
    """Return the Debian names of the tools that are not here, and of the package of the linker."""
    missing = tuple(f"{tool}-{LLVM_VERSION}" for tool in _TOOLS if _which(tool) is None)
    return missing if shutil.which(_LINKER) else (*missing, "binutils")


def _which(tool: str) -> Path | None:
    path = os.pathsep.join([os.environ.get("PATH", ""), f"/usr/lib/llvm-{LLVM_VERSION}/bin"])
    found = shutil.which(f"{tool}-{LLVM_VERSION}", path=path)
    if found is None and (own := Path(f"/usr/lib/llvm-{LLVM_VERSION}/bin") / tool).exists():
        found = str(own)
    return None if found is None else Path(found)


def identify(program: Path) -> str:
    """Name a program as it is now: one that is replaced has another size or another time of change."""
    real = program.resolve()
    state = real.stat()
    return f"{real} {state.st_size} {state.st_mtime_ns}"


def run_tool(command: list[str | Path], folder: Path) -> ToolFailed | None:
    """Run one tool in `folder`, in a process group of its own; None when it succeeded."""
    tool = Path(command[0]).name
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            _, told = process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return ToolFailed(tool, f"no answer in {_SECONDS:.0f} s")
    if process.returncode == 0:
        return None
    if process.returncode < 0:
        return ToolFailed(tool, f"killed by signal {-process.returncode}")
    errors = [line for line in told.splitlines() if "error:" in line]
    return ToolFailed(tool, (errors or told.splitlines() or ["no message"])[0].strip()[:300])

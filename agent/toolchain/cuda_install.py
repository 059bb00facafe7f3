"""Upstream Triton for CUDA targets: where it is, and how it comes into an environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from packaging.version import InvalidVersion, Version

from agent.toolchain.commits import read_versions
from agent.toolchain.environments import Tell, folder_of_environments, locked, point, sweep, unlink
from agent.toolchain.install import RECORD, site_of
from agent.toolchain.pinned import pinned_versions
from agent.toolchain.pip import install_requirements, make_environment, run_step
from agent.toolchain.pythons import find_python
from agent.toolchain.torch_index import choose_torch_index
from indexer.errors import BadInput, ToolchainError
from indexer.home import data_home
from indexer.messages import message
from indexer.toml import parse_toml

# What the worker imports; the first import leaves the byte code that it starts from.
_IMPORTS = "import torch, numpy, triton.backends.nvidia.compiler; torch.empty(2, device='meta').add(1)"
ENVIRONMENT = "TRITONKB_CUDA_PYTHON"
_BACKEND = Path("triton/backends/nvidia")


@dataclass(frozen=True, slots=True)
class CudaInstall:
    """An environment that holds upstream Triton with its CUDA back end."""

    python: Path
    site: Path

    def tool(self, name: str) -> Path:
        """Return a program of the CUDA toolkit that comes with Triton (`ptxas`, `nvdisasm`)."""
        return self.site / _BACKEND / "bin" / name


@dataclass(frozen=True, slots=True)
class CudaPins:
    """What `pins.toml` pins for CUDA: Pythons, requirements beside Triton, Triton's version, and those tested."""

    pythons: tuple[str, ...]
    requirements: tuple[str, ...]
    triton: str
    tested: tuple[str, ...]
    sources: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CudaInstalled:
    """What the private environment holds: its Python, the Triton that was asked for, and all distributions."""

    python: str
    triton: str
    versions: Mapping[str, str]


def read_cuda_pins() -> CudaPins:
    """Read the CUDA part of `pins.toml`."""
    text = resources.files("agent.toolchain").joinpath("pins.toml").read_text(encoding="utf-8")
    table = parse_toml(text)["cuda"]
    return CudaPins(
        tuple(table["python"]), tuple(table["requirements"]), table["triton"], tuple(table["tested"]),
        table["sources"]["triton"],
    )  # fmt: skip


def cuda_environment() -> Path:
    """Return the folder of the private CUDA environment, installed or not."""
    return data_home() / "toolchain" / "cuda"


def find_cuda() -> CudaInstall:
    """Find upstream Triton: `TRITONKB_CUDA_PYTHON`, else the private environment.

    Raises `ToolchainError` when neither holds it.
    """
    named = os.environ.get(ENVIRONMENT)
    return inspect_cuda(Path(named) if named else cuda_environment() / "bin" / "python")


@cache
def inspect_cuda(python: Path) -> CudaInstall:
    """Check that the environment of `python` holds Triton's CUDA back end; raises `ToolchainError` when it does not."""
    if not python.exists():
        raise ToolchainError("toolchain.cuda_missing", python=python)
    install = CudaInstall(python, site_of(python))
    if not install.tool("ptxas").exists() or (install.site / "triton/backends/ascend").exists():
        raise ToolchainError("toolchain.cuda_incomplete", python=python)
    return install


def triton_version(install: CudaInstall) -> str:
    """Return the version of Triton in an environment, "?" where its record is gone."""
    return read_versions(install.site).get("triton", "?")


def install_cuda(
    tell: Tell, *, python: Path | None = None, torch_index: str | None = None, triton: str | None = None
) -> tuple[CudaInstalled, bool]:
    """Install Triton, by default the pinned version; returns what is there, and whether anything was made now.

    Raises `ToolchainError` (no Python, no network, pip failed), `StoreError` for a full disk, `BadInput` for `python`
    and a version that is none.
    """
    pins = read_cuda_pins()
    wanted = _checked(triton or pins.triton)
    link = cuda_environment()
    present = read_cuda_installed(link)
    if present is not None and present.triton == wanted:
        return present, False
    link.parent.mkdir(parents=True, exist_ok=True)
    with locked(link, tell):
        present = read_cuda_installed(link)
        if present is not None and present.triton == wanted:
            return present, False
        sweep(link)
        interpreter = find_python(pins.pythons, python)
        tell(message("toolchain.using_python", python=interpreter))
        return _make(link, interpreter, wanted, torch_index, tell), True


def _checked(version: str) -> str:
    try:
        return str(Version(version))
    except InvalidVersion as error:
        raise BadInput("toolchain.bad_version", version=version) from error


def _make(link: Path, interpreter: Path, triton: str, torch_index: str | None, tell: Tell) -> CudaInstalled:
    folder = folder_of_environments(link) / f"{int(time.time())}-{os.getpid()}"
    try:
        tell(message("toolchain.making", folder=link))
        make_environment(interpreter, folder)
        index = choose_torch_index(torch_index)
        if index:
            tell(message("toolchain.torch_index", index=index))
        python = folder / "bin" / "python"
        version = run_step([str(python), "-c", "import platform; print(platform.python_version())"]).strip()
        pins = pinned_versions(read_cuda_pins().requirements, version)
        install_requirements(python, [f"{name}=={pin}" for name, pin in pins.items()], index, tell)
        # Last and alone: a torch built for CUDA asks for a Triton of its own.
        install_requirements(python, [f"triton=={triton}"], None, tell)
        tell(message("toolchain.verifying"))
        install = inspect_cuda(python)
        run_step([str(python), "-c", _IMPORTS])
        installed = CudaInstalled(version, triton, read_versions(install.site))
        record = {"python": version, "triton": triton, "versions": installed.versions}
        (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        point(link, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    inspect_cuda.cache_clear()
    sweep(link)
    return installed


def read_cuda_installed(environment: Path) -> CudaInstalled | None:
    """Read the record inside `environment`; None where there is no finished environment."""
    try:
        table = json.loads((environment / RECORD).read_text(encoding="utf-8"))
        inspect_cuda(environment / "bin" / "python")
        return CudaInstalled(table["python"], table["triton"], table["versions"])
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, ToolchainError):
        return None


def remove_cuda(tell: Tell) -> bool:
    """Remove the private environment and leftovers; returns whether there was one."""
    link = cuda_environment()
    if not link.parent.exists():
        return False
    with locked(link, tell):
        was_there = link.exists()
        unlink(link)
        sweep(link)
    inspect_cuda.cache_clear()
    return was_there

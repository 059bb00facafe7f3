"""Where the Ascend toolchain is: the private environment, or one that the user names."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Protocol

from indexer.errors import ToolchainError
from indexer.home import data_home
from indexer.toml import parse_toml

# Lies in the private environment and says what it was made of.
RECORD = "tritonkb.json"
# Prints the site-packages folder of whatever interpreter runs it.
_ASK_SITE = "import sysconfig; print(sysconfig.get_paths()['platlib'])"


class PythonInstall(Protocol):
    """An environment that a worker can run in."""

    @property
    def python(self) -> Path:
        """Return its interpreter."""

    @property
    def site(self) -> Path:
        """Return its site-packages folder."""


@dataclass(frozen=True, slots=True)
class AscendInstall:
    """An environment that holds triton-ascend and ascendnpu-ir; `build` is a folder of compilers to use instead."""

    python: Path
    site: Path
    build: Path | None = None

    @property
    def adapter(self) -> Path:
        """Return triton-adapter-opt."""
        return self.site / "triton/backends/ascend/triton-adapter-opt"

    def bishengir(self, tool: str) -> Path:
        """Return a tool of AscendNPU-IR, such as `bishengir-compile-a5`: the user's build, else the wheel's."""
        if self.build is not None and (self.build / tool).exists():
            return self.build / tool
        return self.site / "ascendnpuir/bin" / tool


@dataclass(frozen=True, slots=True)
class Pins:
    """What `pins.toml` pins, and the commits of each corpus by the version of what was built from it."""

    pythons: tuple[str, ...]
    requirements: tuple[str, ...]
    sources: dict[str, dict[str, str]]


def read_pins() -> Pins:
    """Read `pins.toml`."""
    table = parse_toml(resources.files("agent.toolchain").joinpath("pins.toml").read_text(encoding="utf-8"))["ascend"]
    return Pins(tuple(table["python"]), tuple(table["requirements"]), table["sources"])


def private_environment() -> Path:
    """Return the folder of the private Ascend environment, installed or not."""
    return data_home() / "toolchain" / "ascend"


def find_ascend() -> AscendInstall:
    """Find the toolchain: `TRITONKB_TOOLCHAIN_PYTHON`, else the private environment.

    Raises `ToolchainError` when neither holds the compilers, or the user's own build of them went.
    """
    named = os.environ.get("TRITONKB_TOOLCHAIN_PYTHON")
    python = Path(named) if named else private_environment() / "bin" / "python"
    return replace(inspect_environment(python), build=_build_of(python))


@cache
def inspect_environment(python: Path) -> AscendInstall:
    """Check that the environment of `python` holds the compilers; raises `ToolchainError` when it does not."""
    if not python.exists():
        raise ToolchainError("toolchain.missing", python=python)
    site = site_of(python)
    install = AscendInstall(python, site)
    if not install.adapter.exists() or not install.bishengir("bishengir-compile").exists():
        raise ToolchainError("toolchain.incomplete", python=python)
    return install


def site_of(python: Path) -> Path:
    """Return the site-packages folder of an interpreter; raises `ToolchainError` when it does not run."""
    return _site_of_venv(python) or _ask_for_site(python)


def _build_of(python: Path) -> Path | None:
    """Return the user's own build that the environment was told to use; raises `ToolchainError` when it went."""
    try:
        named = json.loads((python.parent.parent / RECORD).read_text(encoding="utf-8")).get("build")
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    if not named:
        return None
    build = Path(named)
    if not (build / "bishengir-compile").exists():
        raise ToolchainError("toolchain.build_gone", folder=build)
    return build


def _site_of_venv(python: Path) -> Path | None:
    """Derive the site-packages folder from the layout of a virtual environment: no process is started."""
    environment = python.parent.parent
    if not (environment / "pyvenv.cfg").exists():
        return None
    return next(iter(sorted(environment.glob("lib/python3.*/site-packages"))), None)


def _ask_for_site(python: Path) -> Path:
    try:
        answer = subprocess.run([python, "-c", _ASK_SITE], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainError("toolchain.incomplete", python=python) from error
    return Path(answer.stdout.strip())

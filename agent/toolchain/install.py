"""Where the Ascend toolchain is: the private environment, or one that the user names."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from indexer.errors import ToolchainError
from indexer.home import data_home
from indexer.toml import parse_toml

# Prints the site-packages folder of whatever interpreter runs it.
_ASK_SITE = "import sysconfig; print(sysconfig.get_paths()['platlib'])"


@dataclass(frozen=True, slots=True)
class AscendInstall:
    """An environment that holds triton-ascend and ascendnpu-ir."""

    python: Path
    site: Path

    @property
    def adapter(self) -> Path:
        """Return triton-adapter-opt."""
        return self.site / "triton/backends/ascend/triton-adapter-opt"

    def bishengir(self, tool: str) -> Path:
        """Return a tool of the AscendNPU-IR wheel, such as `bishengir-compile-a5`."""
        return self.site / "ascendnpuir/bin" / tool


@dataclass(frozen=True, slots=True)
class Pins:
    """What `pins.toml` pins."""

    pythons: tuple[str, ...]
    requirements: tuple[str, ...]
    commits: dict[str, str]


def read_pins() -> Pins:
    """Read `pins.toml`."""
    table = parse_toml(resources.files("agent.toolchain").joinpath("pins.toml").read_text(encoding="utf-8"))["ascend"]
    return Pins(tuple(table["python"]), tuple(table["requirements"]), dict(table["commits"]))


def private_environment() -> Path:
    """Return the folder of the private Ascend environment, installed or not."""
    return data_home() / "toolchain" / "ascend"


def find_ascend() -> AscendInstall:
    """Find the toolchain: `TRITONKB_TOOLCHAIN_PYTHON`, else the private environment.

    Raises `ToolchainError` when neither holds the compilers.
    """
    named = os.environ.get("TRITONKB_TOOLCHAIN_PYTHON")
    return inspect_environment(Path(named) if named else private_environment() / "bin" / "python")


@cache
def inspect_environment(python: Path) -> AscendInstall:
    """Check that the environment of `python` holds the compilers; raises `ToolchainError` when it does not."""
    if not python.exists():
        raise ToolchainError("toolchain.missing", python=python)
    site = _site_of_venv(python) or _ask_for_site(python)
    install = AscendInstall(python, site)
    if not install.adapter.exists() or not install.bishengir("bishengir-compile").exists():
        raise ToolchainError("toolchain.incomplete", python=python)
    return install


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

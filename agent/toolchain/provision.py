"""Make the private Ascend environment from the pinned wheels, all or nothing.

The environment is a folder `ascend.d/<id>`; `ascend` is a link to it, replaced in one step when the new one has been
verified. A killed or failed install therefore leaves the old one, or nothing; its folder is swept by the next install.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from filelock import FileLock, Timeout

from agent.toolchain.install import AscendInstall, Pins, inspect_environment, private_environment, read_pins
from agent.toolchain.pinned import pinned_versions
from agent.toolchain.pip import install_requirements, make_environment, run_step
from agent.toolchain.pythons import find_python
from agent.toolchain.torch_index import choose_torch_index
from indexer.errors import ToolchainError
from indexer.messages import Message, message

RECORD = "tritonkb.json"
# `bishengir-opt 1.2.0 (/path/bishengir 8796a8ac1508 2026-07-29)`
_VERSION_LINE = re.compile(r"bishengir\S* (?P<version>\S+) \(\S+ (?P<commit>[0-9a-f]{12}) ")

Tell = Callable[[Message], None]


@dataclass(frozen=True, slots=True)
class Installed:
    """What an environment holds: all distributions, and the commits that its compilers name themselves.

    `requirements` are the pins it was made from, those for its Python and without markers.
    """

    python: str
    requirements: tuple[str, ...]
    versions: Mapping[str, str]
    commits: Mapping[str, str]


def install_ascend(tell: Tell, *, python: Path | None = None, torch_index: str | None = None) -> tuple[Installed, bool]:
    """Install what the pins name; returns what is there, and whether it was made now (False: it was there).

    `torch_index` is a further package index, instead of the one that `choose_torch_index` chooses. Raises
    `ToolchainError` (no Python, no network, pip failed, the compilers do not answer), `StoreError` for a full disk,
    `BadInput` for `python`.
    """
    pins = read_pins()
    link = private_environment()
    present = read_installed(link)
    if present is not None and present.requirements == exact_requirements(pins, present.python):
        return present, False
    link.parent.mkdir(parents=True, exist_ok=True)
    with _locked(link, tell):
        present = read_installed(link)
        if present is not None and present.requirements == exact_requirements(pins, present.python):
            return present, False
        _sweep(link)
        interpreter = find_python(pins.pythons, python)
        tell(message("toolchain.using_python", python=interpreter))
        installed = _make(link, interpreter, pins, torch_index, tell)
    return installed, True


def remove_ascend(tell: Tell) -> bool:
    """Remove the private environment and leftovers; returns whether there was one."""
    link = private_environment()
    if not link.parent.exists():
        return False
    with _locked(link, tell):
        was_there = link.exists()
        _unlink(link)
        _sweep(link)
    return was_there


def read_installed(environment: Path) -> Installed | None:
    """Read the record inside `environment`; None where there is no finished environment."""
    try:
        table = json.loads((environment / RECORD).read_text(encoding="utf-8"))
        inspect_environment(environment / "bin" / "python")
    except (FileNotFoundError, NotADirectoryError, ValueError, ToolchainError):
        return None
    return Installed(table["python"], tuple(table["requirements"]), table["versions"], table["commits"])


def exact_requirements(pins: Pins, python: str) -> tuple[str, ...]:
    """Give what the pins ask of an environment with `python` ("3.11.7"), without markers."""
    return tuple(f"{name}=={version}" for name, version in pinned_versions(pins.requirements, python).items())


def read_versions(site: Path) -> dict[str, str]:
    """Read the versions of all distributions in a site-packages folder, by normalised name."""
    found = metadata.distributions(path=[str(site)])
    return {re.sub(r"[-_.]+", "-", item.name).lower(): item.version for item in found}


def read_commits(install: AscendInstall) -> dict[str, str]:
    """Ask the compilers for the commits they were built from; raises `ToolchainError` when one does not answer."""
    tools = {"ascendnpu-ir": "bishengir-opt", "ascendnpu-ir-a5": "bishengir-opt-a5"}
    return {corpus: _commit_of(install.bishengir(tool)) for corpus, tool in tools.items()}


def _make(link: Path, interpreter: Path, pins: Pins, torch_index: str | None, tell: Tell) -> Installed:
    folder = _folder_of_environments(link) / f"{int(time.time())}-{os.getpid()}"
    try:
        tell(message("toolchain.making", folder=link))
        make_environment(interpreter, folder)
        index = choose_torch_index(torch_index)
        if index:
            tell(message("toolchain.torch_index", index=index))
        python = folder / "bin" / "python"
        version = run_step([str(python), "-c", "import platform; print(platform.python_version())"]).strip()
        requirements = exact_requirements(pins, version)
        install_requirements(python, requirements, index, tell)
        tell(message("toolchain.verifying"))
        installed = _verify(folder, version, requirements)
        (folder / RECORD).write_text(json.dumps(asdict(installed), indent=2) + "\n", encoding="utf-8")
        _point(link, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    inspect_environment.cache_clear()
    _sweep(link)
    return installed


def _verify(folder: Path, python: str, requirements: tuple[str, ...]) -> Installed:
    install = inspect_environment(folder / "bin" / "python")
    run_step(
        [str(install.python), "-c", "import triton, torch, numpy, pybind11; import triton.backends.ascend.compiler"]
    )
    run_step([str(install.adapter), "--version"])
    return Installed(python, requirements, read_versions(install.site), read_commits(install))


def _commit_of(tool: Path) -> str:
    answer = _VERSION_LINE.search(run_step([str(tool), "--version"]))
    if answer is None:
        raise ToolchainError("toolchain.no_version", tool=tool)
    return answer["commit"]


def _locked(link: Path, tell: Tell) -> FileLock:
    """Give the lock that keeps two installs apart, waiting for the other one; say so before waiting."""
    lock = FileLock(link.parent / "ascend.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        tell(message("toolchain.waiting", lock=lock.lock_file))
        lock.acquire()
    return lock


def _folder_of_environments(link: Path) -> Path:
    return link.with_name(f"{link.name}.d")


def _point(link: Path, folder: Path) -> None:
    """Let `link` name `folder` in one step."""
    fresh = link.with_name(f"{link.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(folder.relative_to(link.parent))
    if link.is_dir() and not link.is_symlink():
        _unlink(link)
    fresh.replace(link)


def _unlink(link: Path) -> None:
    if link.is_symlink():
        link.unlink()
    elif link.exists():
        shutil.rmtree(link)


def _sweep(link: Path) -> None:
    """Delete environments that nothing points at: those of killed installs, and the one just replaced."""
    folder = _folder_of_environments(link)
    for environment in folder.iterdir() if folder.exists() else ():
        if not link.exists() or environment.resolve() != link.resolve():
            shutil.rmtree(environment)

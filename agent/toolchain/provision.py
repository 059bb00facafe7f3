"""Make the private Ascend environment from the pinned wheels, all or nothing.

The environment is a folder `ascend.d/<id>`; `ascend` is a link to it, replaced in one step when the new one has been
verified. A killed or failed install therefore leaves the old one, or nothing; its folder is swept by the next install.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from agent.toolchain.commits import ask_version, read_commits, read_versions
from agent.toolchain.environments import Tell, folder_of_environments, locked, point, sweep, unlink
from agent.toolchain.install import RECORD, Pins, inspect_environment, private_environment, read_pins
from agent.toolchain.pinned import pinned_versions
from agent.toolchain.pip import install_requirements, make_environment, run_step
from agent.toolchain.pythons import find_python
from agent.toolchain.torch_index import choose_torch_index
from indexer.errors import BadInput, ToolchainError
from indexer.messages import message

# What a build of AscendNPU-IR must have; what it lacks of the others comes from the wheel.
BUILD_TOOLS = ("bishengir-compile", "bishengir-opt")
# What the worker imports, at its start and for its first tensor without data.
_IMPORTS = (
    "import triton, torch, numpy, pybind11, triton.backends.ascend.compiler; torch.empty(2, device='meta').add(1)"
)


@dataclass(frozen=True, slots=True)
class Installed:
    """What an environment holds: all distributions, and the commits that its compilers name themselves.

    `requirements` are the pins it was made from, those for its Python and without markers. `chosen` is the version of
    the ascendnpu-ir wheel that the user asked for, `build` the folder of compilers used instead (empty: as pinned).
    """

    python: str
    requirements: tuple[str, ...]
    versions: Mapping[str, str]
    commits: Mapping[str, str]
    chosen: str = ""
    build: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a user wants otherwise than pinned: another version of the ascendnpu-ir wheel, or compilers of their own."""

    ascendnpu_ir: str | None = None
    build: Path | None = None


def install_ascend(
    tell: Tell, *, python: Path | None = None, torch_index: str | None = None, choice: Choice = Choice()
) -> tuple[Installed, bool]:
    """Install what the pins and the choice name; returns what is there, and whether anything was made now.

    `torch_index` is a further package index, instead of the one that `choose_torch_index` chooses. Raises
    `ToolchainError` (no Python, no network, pip failed, the compilers do not answer), `StoreError` for a full disk,
    `BadInput` for `python` and the choice.
    """
    pins = chosen_pins(read_pins(), choice)
    build = str(check_build(choice.build)) if choice.build is not None else ""
    wanted = (choice.ascendnpu_ir or "", build)
    link = private_environment()
    present = _fitting(link, pins)
    if present is not None and (present.chosen, present.build) == wanted:
        return present, False
    link.parent.mkdir(parents=True, exist_ok=True)
    with locked(link, tell):
        present = _fitting(link, pins)
        if present is None:
            sweep(link)
            interpreter = find_python(pins.pythons, python)
            tell(message("toolchain.using_python", python=interpreter))
            present = _make(link, interpreter, pins, torch_index, tell)
        return _choose(link, present, *wanted), True


def chosen_pins(pins: Pins, choice: Choice) -> Pins:
    """Return the pins with the wheel that is chosen; raises `BadInput` for what is no version."""
    if choice.ascendnpu_ir is None:
        return pins
    try:
        version = Version(choice.ascendnpu_ir)
    except InvalidVersion as error:
        raise BadInput("toolchain.bad_version", version=choice.ascendnpu_ir) from error
    others = [requirement for requirement in pins.requirements if not requirement.startswith("ascendnpu-ir==")]
    return replace(pins, requirements=(*others, f"ascendnpu-ir=={version}"))


def check_build(folder: Path) -> Path:
    """Return the full path of a folder of compilers; raises `BadInput` when one is missing or does not run."""
    build = folder.expanduser().resolve()
    for tool in BUILD_TOOLS:
        if not (build / tool).is_file():
            raise BadInput("toolchain.no_build", folder=build, tool=tool)
        try:
            ask_version(build / tool)
        except ToolchainError as error:
            reason = error.note.values.get("reason", error)
            raise BadInput("toolchain.bad_build", tool=build / tool, reason=reason) from error
    return build


def remove_ascend(tell: Tell) -> bool:
    """Remove the private environment and leftovers; returns whether there was one."""
    link = private_environment()
    if not link.parent.exists():
        return False
    with locked(link, tell):
        was_there = link.exists()
        unlink(link)
        sweep(link)
    return was_there


def read_installed(environment: Path) -> Installed | None:
    """Read the record inside `environment`; None where there is no finished environment."""
    try:
        table = json.loads((environment / RECORD).read_text(encoding="utf-8"))
        inspect_environment(environment / "bin" / "python")
    except (FileNotFoundError, NotADirectoryError, ValueError, ToolchainError):
        return None
    return Installed(
        table["python"], tuple(table["requirements"]), table["versions"], table["commits"],
        table.get("chosen", ""), table.get("build", ""),
    )  # fmt: skip


def exact_requirements(pins: Pins, python: str) -> tuple[str, ...]:
    """Give what the pins ask of an environment with `python` ("3.11.7"), without markers."""
    return tuple(f"{name}=={version}" for name, version in pinned_versions(pins.requirements, python).items())


def _fitting(link: Path, pins: Pins) -> Installed | None:
    """Return the environment that is there, if it was made of just these pins."""
    present = read_installed(link)
    fits = present is not None and set(present.requirements) == set(exact_requirements(pins, present.python))
    return present if fits else None


def _choose(link: Path, present: Installed, chosen: str, build: str) -> Installed:
    """Note in the environment what the user chose, and what those compilers say of themselves."""
    install = replace(inspect_environment(link / "bin" / "python"), build=Path(build) if build else None)
    installed = replace(present, chosen=chosen, build=build, commits=read_commits(install))
    _write_record(link, installed)
    return installed


def _write_record(folder: Path, installed: Installed) -> None:
    fresh = folder / f"{RECORD}.new"
    fresh.write_text(json.dumps(asdict(installed), indent=2) + "\n", encoding="utf-8")
    fresh.replace(folder / RECORD)


def _make(link: Path, interpreter: Path, pins: Pins, torch_index: str | None, tell: Tell) -> Installed:
    folder = folder_of_environments(link) / f"{int(time.time())}-{os.getpid()}"
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
        _write_record(folder, installed)
        point(link, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    inspect_environment.cache_clear()
    sweep(link)
    return installed


def _verify(folder: Path, python: str, requirements: tuple[str, ...]) -> Installed:
    """Import what the worker imports, which also leaves the byte code that it starts from; then ask the compilers."""
    install = inspect_environment(folder / "bin" / "python")
    run_step([str(install.python), "-c", _IMPORTS])
    run_step([str(install.adapter), "--version"])
    return Installed(python, requirements, read_versions(install.site), read_commits(install))

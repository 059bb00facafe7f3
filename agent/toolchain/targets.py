"""The devices that can be compiled for, with the limits their compiler states."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from agent.toolchain.cuda_targets import CudaTarget, cuda_targets, find_cuda_target
from indexer.errors import BadInput

Arch = Literal["a3", "a5"]

_SPEC = "bishengir/include/bishengir/Dialect/HACC/Targets/NPUTargetSpec.td"
# The commits that the two compilers of ascendnpu-ir 1.2.0 print with --version.
_A3 = f"AscendNPU-IR@8796a8ac:{_SPEC}"
_A5 = f"AscendNPU-IR@f9d978b1:{_SPEC}"


@dataclass(frozen=True, slots=True)
class Target:
    """A device model: `chip` is the compiler's `--target`, `arch` the compiler that serves it (`a3`: A2 and A3).

    On-chip limits are in bytes; a program instance runs on one cube core with its two vector cores, or on one vector
    core. `sources` says where each number is from.
    """

    name: str
    arch: Arch
    chip: str
    ub_bytes: int
    l1_bytes: int
    l0c_bytes: int
    cube_cores: int
    vector_cores: int
    sources: Mapping[str, str]


Device = Target | CudaTarget


@dataclass(frozen=True, slots=True)
class _Family:
    """Models of one TableGen base class: their memories, and `memory_line`, where the file states them in bits."""

    arch: Arch
    file: str
    memory_line: int
    ub_bytes: int
    l1_bytes: int
    l0c_bytes: int


_B910 = _Family("a3", _A3, 64, 192 << 10, 512 << 10, 128 << 10)
_C910 = _Family("a3", _A3, 115, 192 << 10, 512 << 10, 128 << 10)
_D950 = _Family("a5", _A5, 196, 248 << 10, 512 << 10, 256 << 10)

# chip: (family, cube cores, line of its definition); every model has two vector cores a cube core.
_CHIPS: dict[str, tuple[_Family, int, int]] = {
    "Ascend910B1": (_B910, 24, 75), "Ascend910B2": (_B910, 24, 81), "Ascend910B3": (_B910, 20, 87),
    "Ascend910B4": (_B910, 20, 93), "Ascend910B4-1": (_B910, 20, 99), "Ascend910B2C": (_B910, 24, 105),
    "Ascend910_9362": (_C910, 20, 126), "Ascend910_9372": (_C910, 20, 132), "Ascend910_9381": (_C910, 24, 138),
    "Ascend910_9382": (_C910, 24, 144), "Ascend910_9391": (_C910, 24, 150), "Ascend910_9392": (_C910, 24, 156),
    "Ascend950PR_950z": (_D950, 4, 264), "Ascend950PR_9579": (_D950, 28, 270), "Ascend950PR_957a": (_D950, 28, 276),
    "Ascend950PR_957b": (_D950, 28, 282), "Ascend950PR_957c": (_D950, 28, 288), "Ascend950PR_957d": (_D950, 28, 294),
    "Ascend950PR_9589": (_D950, 32, 300), "Ascend950PR_958a": (_D950, 32, 306), "Ascend950PR_958b": (_D950, 32, 312),
    "Ascend950PR_958c": (_D950, 32, 318), "Ascend950PR_958d": (_D950, 32, 324), "Ascend950PR_9599": (_D950, 36, 330),
    "Ascend950PR_959a": (_D950, 36, 336), "Ascend950PR_959b": (_D950, 36, 342), "Ascend950DT_950x": (_D950, 8, 348),
    "Ascend950DT_950y": (_D950, 8, 354), "Ascend950DT_9571": (_D950, 28, 360), "Ascend950DT_9572": (_D950, 28, 366),
    "Ascend950DT_9573": (_D950, 28, 372), "Ascend950DT_9574": (_D950, 28, 378), "Ascend950DT_9575": (_D950, 28, 384),
    "Ascend950DT_9576": (_D950, 28, 390), "Ascend950DT_9577": (_D950, 28, 396), "Ascend950DT_9578": (_D950, 28, 402),
    "Ascend950DT_9581": (_D950, 32, 408), "Ascend950DT_9582": (_D950, 32, 414), "Ascend950DT_9583": (_D950, 32, 420),
    "Ascend950DT_9584": (_D950, 32, 426), "Ascend950DT_9585": (_D950, 32, 432), "Ascend950DT_9586": (_D950, 32, 438),
    "Ascend950DT_9587": (_D950, 32, 444), "Ascend950DT_9588": (_D950, 32, 450), "Ascend950DT_9591": (_D950, 36, 456),
    "Ascend950DT_9592": (_D950, 36, 462), "Ascend950DT_9595": (_D950, 36, 468), "Ascend950DT_9596": (_D950, 36, 474),
    "Ascend950DT_95A1": (_D950, 36, 480), "Ascend950DT_95A2": (_D950, 36, 486),
}  # fmt: skip
_ALIASES = {"ascend950": "Ascend950PR_9589"}


def find_target(name: str) -> Target:
    """Return the target called `name` (case does not matter).

    Raises `BadInput` for an unknown name, with near matches, and for CUDA targets, which are no Ascend devices.
    """
    wanted = name.strip().lower()
    if find_cuda_target(wanted) is not None:
        raise BadInput("targets.cuda", target=name, known=", ".join(_short_list()))
    for target in all_targets():
        if target.name == wanted:
            return target
    names = [*(t.name for t in all_targets()), *(t.name for t in cuda_targets())]
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.7)
    key = "targets.unknown_near" if near else "targets.unknown"
    known = [*_short_list(), *(t.name for t in cuda_targets())]
    raise BadInput(key, target=name, near=", ".join(near), known=", ".join(known))


def find_device(name: str) -> Device:
    """Return the target called `name`, of whichever kind; raises `BadInput` for an unknown name."""
    return find_cuda_target(name) or find_target(name)


def all_targets() -> Iterator[Target]:
    """Yield every target; an alias comes as a target of its own name."""
    for alias, chip in _ALIASES.items():
        yield _target(alias, chip)
    for chip in _CHIPS:
        yield _target(chip.lower(), chip)


def _short_list() -> list[str]:
    """Name the targets as a person wants to read them: all of A2 and A3, the models of 950 as one pattern."""
    a3 = [chip.lower() for chip, (family, _, _) in _CHIPS.items() if family.arch == "a3"]
    return [*a3, *_ALIASES, "ascend950pr_…", "ascend950dt_…"]


def _target(name: str, chip: str) -> Target:
    family, cubes, line = _CHIPS[chip]
    memory, cores = f"{family.file}:{family.memory_line}", f"{family.file}:{line}"
    sources = {"ub_bytes": memory, "l1_bytes": memory, "l0c_bytes": memory, "cube_cores": cores, "vector_cores": cores}
    return Target(
        name, family.arch, chip, family.ub_bytes, family.l1_bytes, family.l0c_bytes, cubes, 2 * cubes, sources
    )

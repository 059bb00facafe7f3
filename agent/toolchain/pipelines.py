"""The passes that the installed compilers really run: a kernel of ours is lowered once, every pass is listed.

It multiplies matrices and works on the product's elements, so that both kinds of cores have work: a reduction alone
runs the same passes. The lists are kept in the data folder until a compiler changes.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Literal

from agent.toolchain.ascend import without_mix_mode
from agent.toolchain.backend_stub import write_stub
from agent.toolchain.dumps import NAMES_ONLY, TREE_FLAGS, read_tree
from agent.toolchain.flags import adapter_passes, bishengir_flags, compiler_for
from agent.toolchain.install import AscendInstall
from agent.toolchain.programs import Program, TimedOut
from agent.toolchain.targets import Target, find_target
from indexer.errors import ToolchainError
from indexer.home import data_home

Toolchain = Literal["a3", "a5", "adapter"]
TOOLCHAINS: tuple[Toolchain, ...] = ("a3", "a5", "adapter")
_TARGETS = ("ascend910b3", "ascend950")
_PROBE = "matmul_epilogue.ttir"
_SECONDS = 120.0


def seen_passes(install: AscendInstall) -> dict[Toolchain, tuple[str, ...]]:
    """Return the distinct passes of each compiler's pipeline, in the order they first ran.

    Raises `ToolchainError` when a compiler does not take the kernel.
    """
    kept = data_home() / "toolchain" / "passes.json"
    key = _key(install)
    known = _read(kept)
    if known.get("key") != key:
        known = {"key": key, **{name: list(found) for name, found in _run(install).items()}}
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(known), encoding="utf-8")
    return {name: tuple(known[name]) for name in TOOLCHAINS}  # type: ignore[arg-type]


def _read(kept: Path) -> dict[str, object]:
    try:
        table = json.loads(kept.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # none yet, or half-written: it only saves time
        return {}
    return table if isinstance(table, dict) else {}


def _key(install: AscendInstall) -> str:
    """Return what changes when a compiler or a probe does."""
    tools = [install.adapter, *(install.bishengir(compiler_for(find_target(name))) for name in _TARGETS)]
    marks = [(str(tool), (stat := tool.stat()).st_size, stat.st_mtime_ns) for tool in tools]
    return hashlib.sha256(repr([marks, _probe()]).encode()).hexdigest()


def _probe() -> str:
    return resources.files("agent.toolchain").joinpath("probes").joinpath(_PROBE).read_text(encoding="utf-8")


def _run(install: AscendInstall) -> Mapping[Toolchain, tuple[str, ...]]:
    found: dict[Toolchain, dict[str, None]] = {name: {} for name in TOOLCHAINS}
    with tempfile.TemporaryDirectory(prefix="tritonkb-") as scratch, ThreadPoolExecutor(len(_TARGETS)) as pool:
        targets = [find_target(name) for name in _TARGETS]
        for lists in pool.map(lambda target: list(_lower(install, target, Path(scratch) / target.name)), targets):
            for toolchain, passes in lists:
                found[toolchain] |= dict.fromkeys(passes)
    return {name: tuple(passes) for name, passes in found.items()}


def _lower(install: AscendInstall, target: Target, work: Path) -> Iterator[tuple[Toolchain, list[str]]]:
    env = write_stub(work / "stub")
    (work / "kernel.ttir").write_text(_probe(), encoding="utf-8")
    adapt = [p.flag for p in adapter_passes(target, {})]
    yield "adapter", _listed([install.adapter, work / "kernel.ttir", *adapt, "-o", "linalg.mlir"], work, env)
    linalg = (work / "linalg.mlir").read_text(encoding="utf-8")
    (work / "kernel.mlir").write_text(without_mix_mode(linalg), encoding="utf-8")
    compiler = install.bishengir(compiler_for(target))
    flags = [*bishengir_flags(target, {}), *NAMES_ONLY]
    yield target.arch, _listed([compiler, work / "kernel.mlir", *flags, "-o", "kernel.o"], work, env)


def _listed(command: list[str | Path], work: Path, env: Mapping[str, str]) -> list[str]:
    tool = Path(command[0])
    tree = work / f"{tool.name}-passes"
    listing = [*command, *TREE_FLAGS, f"--mlir-print-ir-tree-dir={tree}"]
    with Program(listing, cwd=work, log=work / "log" / tool.name, env=env) as program:
        outcome = program.finish(_SECONDS)
    if isinstance(outcome, TimedOut) or outcome.returncode != 0:
        said = "timeout" if isinstance(outcome, TimedOut) else outcome.stderr.strip()[-500:] or str(outcome.returncode)
        raise ToolchainError("knowledge.probe_rejected", tool=tool.name, reason=said)
    return [run.argument for run, _ in read_tree(tree)]

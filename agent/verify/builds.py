"""The libraries that a source's launches need: built when they are first met, in this run or an earlier one."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from agent.capture import CapturedLaunch, job_of, read_launch
from agent.records import KernelSource, Launch
from agent.toolchain.flags import adapter_passes
from agent.toolchain.install import AscendInstall
from agent.toolchain.targets import Target
from agent.verify.kept import Kept
from agent.verify.linalg import NotBuilt, build_library, builder_identity
from agent.verify.llvm import identify, run_tool
from indexer.messages import message


class Builder:
    """Builds in `folder`; what it built, and which launches of a source need what, stays in `kept`."""

    def __init__(self, install: AscendInstall, target: Target, folder: Path, kept: Kept) -> None:
        self.install, self.target, self.folder, self.kept = install, target, folder, kept
        self._libraries: dict[str, dict[str, bytes]] = {}
        self._names: dict[str, dict[str, str]] = {}

    def libraries(self, source: KernelSource) -> Mapping[str, bytes]:
        """Return the libraries by launch key that the hosts' runs so far have asked for."""
        known = self._libraries.get(source.text)
        if known is None:
            names = self._names[source.text] = self._remembered(source)
            read = {key: self.kept.read(name) for key, name in names.items()}
            known = self._libraries[source.text] = {key: found for key, found in read.items() if found is not None}
        return known

    def build(self, source: KernelSource, launches: Sequence[dict[str, Any]]) -> NotBuilt | None:
        """Build what launches, in the worker's words, need; None when all are there."""
        self.libraries(source)
        for item in launches:
            captured = read_launch(item, source.path, "")
            name = self._name(captured)
            built = self.kept.read(name) or self._build(captured)
            if isinstance(built, NotBuilt):
                return built
            self.kept.keep(name, built)
            self._libraries[source.text][captured.launch.key] = built
            self._names[source.text][captured.launch.key] = name
        self.kept.keep(self._source_name(source), json.dumps(self._names[source.text]).encode())
        return None

    def _build(self, captured: CapturedLaunch) -> bytes | NotBuilt:
        """Lower one launch to Linalg IR and build it; returns the library's bytes."""
        if captured.ttir is None:
            said = captured.diagnostic.message if captured.diagnostic else ""
            return NotBuilt(message("verify.front_end", kernel=captured.launch.kernel, said=said))
        text = self._lower(captured.ttir, captured.launch)
        built = text if isinstance(text, NotBuilt) else build_library(text, captured.launch, self.folder)
        return built if isinstance(built, NotBuilt) else built.path.read_bytes()

    def _lower(self, ttir: str, launch: Launch) -> str | NotBuilt:
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            Path(scratch, "kernel.ttir").write_text(ttir, encoding="utf-8")
            command: list[str | Path] = [self.install.adapter, "kernel.ttir", *self._flags(launch)]
            failed = run_tool([*command, "--mlir-disable-threading", "-o", "kernel.mlir"], Path(scratch))
            if failed is not None:
                return NotBuilt(
                    message("verify.tool_failed", kernel=launch.kernel, tool=failed.tool, said=failed.output)
                )
            return Path(scratch, "kernel.mlir").read_text(encoding="utf-8")

    def _flags(self, launch: Launch) -> list[str]:
        return [step.flag for step in adapter_passes(self.target, launch.options)]

    def _name(self, captured: CapturedLaunch) -> str:
        """Name a build by all that decides it: the IR, the signature, the compilers and how they are called."""
        launch = captured.launch
        return _digest("library", captured.ttir or "", repr(launch.signature), *self._flags(launch), *self._compilers())

    def _source_name(self, source: KernelSource) -> str:
        """Name what a source's launches need by what decides it: the source, what it imports, and Triton itself."""
        fields, companions = job_of(source, self.target.name)
        contents = (hashlib.sha256(content).hexdigest() for content in companions)
        return _digest(
            "launches", json.dumps(fields, sort_keys=True), *contents, *self._compilers(), front_end(self.install)
        )

    def _compilers(self) -> tuple[str, ...]:
        return (identify(self.install.adapter), *builder_identity())

    def _remembered(self, source: KernelSource) -> dict[str, str]:
        content = self.kept.read(self._source_name(source))
        return {} if content is None else dict(json.loads(content))


@cache
def front_end(install: AscendInstall) -> str:
    """Name Triton as it is installed, edits in place included: size and time of each of its files."""
    folder = install.site / "triton"
    files = sorted(path for pattern in ("*.py", "*.so") for path in folder.rglob(pattern))
    return _digest(identify(install.python), *map(identify, files))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()

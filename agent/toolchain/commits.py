"""The commits of the installed compilers' sources: what the compilers say, else what is known of their wheel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from agent.toolchain.install import AscendInstall, find_ascend, read_pins
from agent.toolchain.pip import run_step
from indexer.errors import ToolchainError

# `bishengir-opt 1.2.0 (/path/bishengir 8796a8ac1508 2026-07-29)`, and below it `llvm 19.1.7 cd708029e0b2`
_VERSION_LINE = re.compile(r"bishengir\S* (?P<version>\S+) \(\S+ (?P<commit>[0-9a-f]{7,40}) ")
_LLVM_LINE = re.compile(r"^llvm (?P<version>\S+)", re.MULTILINE)
# The tool that is built from a corpus.
TOOLS: Mapping[str, str] = {"ascendnpu-ir": "bishengir-opt", "ascendnpu-ir-a5": "bishengir-opt-a5"}


@dataclass(frozen=True, slots=True)
class Expected:
    """The commit that a corpus should have: all of its digits, or those that a compiler says.

    `is_public` is False where the commit of a released compiler is known not to be in the public repository.
    """

    commit: str
    is_whole: bool
    is_public: bool = True

    def fits(self, commit: str) -> bool:
        """Tell whether `commit` is this one."""
        return commit.startswith(self.commit)


def read_versions(site: Path) -> dict[str, str]:
    """Read the versions of all distributions in a site-packages folder, by normalised name."""
    found = metadata.distributions(path=[str(site)])
    return {re.sub(r"[-_.]+", "-", item.name).lower(): item.version for item in found}


def read_commits(install: AscendInstall) -> dict[str, str]:
    """Ask the compilers for the commits they were built from; a build that does not say is left out.

    Raises `ToolchainError` when one does not run.
    """
    found = {corpus: _VERSION_LINE.search(ask_version(install.bishengir(tool))) for corpus, tool in TOOLS.items()}
    return {corpus: answer["commit"] for corpus, answer in found.items() if answer is not None}


def ask_version(tool: Path) -> str:
    """Return what a compiler says of itself; raises `ToolchainError` when it does not run."""
    return run_step([str(tool), "--version"])


def expected_commit(corpus: str) -> Expected | None:
    """Return the commit that `corpus` has for the installed compilers; None where none are, or nobody knows."""
    try:
        install = find_ascend()
        return expected_commits(install).get(corpus)
    except ToolchainError:
        return None


def expected_commits(install: AscendInstall) -> dict[str, Expected]:
    """Return the commits that the corpora have for these compilers, as far as they are known.

    Raises `ToolchainError` when a compiler does not run.
    """
    known = read_pins().sources
    expected = {corpus: _whole(commit, known.get(corpus, {})) for corpus, commit in read_commits(install).items()}
    version = read_versions(install.site).get("triton-ascend", "")
    if commit := known["triton-ascend"].get(version):
        expected["triton-ascend"] = Expected(commit, is_whole=True)
    llvm = _LLVM_LINE.search(ask_version(install.bishengir(TOOLS["ascendnpu-ir"])))
    if llvm is not None and (commit := known["mlir"].get(llvm["version"])):
        expected["mlir"] = Expected(commit, is_whole=True)
    return expected


def _whole(said: str, known: Mapping[str, str]) -> Expected:
    """Complete the digits that a compiler says by those of the releases."""
    whole = next((commit for commit in known.values() if commit.startswith(said)), said)
    is_whole = len(whole) == 40
    return Expected(whole, is_whole=is_whole, is_public=is_whole or said not in known.values())

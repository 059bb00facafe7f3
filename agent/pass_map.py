"""How well the index covers the passes that the installed compilers run: `tritonkb index status --passes`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from agent.contract import Doc
from agent.toolchain.install import find_ascend
from agent.toolchain.pipelines import TOOLCHAINS, Toolchain, seen_passes
from indexer.records import Passage
from indexer.shelf import Shelf
from indexer.store import open_generation

# The corpus that holds the source of each compiler, and the one that all take passes from.
SOURCES: Mapping[Toolchain, str] = {"a3": "ascendnpu-ir", "a5": "ascendnpu-ir-a5", "adapter": "triton-ascend"}
UPSTREAM = "mlir"
_ENTRY = "runOnOperation("

Standing = Literal["own", "upstream", "upstream_not_indexed", "unmapped"]


class MappedPassDoc(Doc):
    """A pass that ran: where it is from, the passages that define and implement it (null: none found)."""

    name: str
    standing: Standing
    definition: str | None
    implementation: str | None


class CoverageDoc(Doc):
    """The passes of one compiler; the lists name those that count less than fully.

    `defined` have a TableGen definition in the compiler's own corpus or the upstream one, `implemented` an own source
    with their entry point.
    """

    toolchain: str
    corpus: str
    seen: int
    own: int
    defined: int
    implemented: int
    upstream: int
    upstream_not_indexed: list[str]
    unimplemented: list[str]
    unmapped: list[str]
    passes: list[MappedPassDoc]


def map_passes(store: Path) -> list[CoverageDoc]:
    """Look up every pass that the installed compilers run.

    The first call after a compiler changed lowers a kernel. Raises `StoreError` without an index, `ToolchainError`
    without the compilers.
    """
    generation = open_generation(store)
    indexed = frozenset(mark.name for mark in generation.manifest.corpora)
    seen = seen_passes(find_ascend())
    return [cover(toolchain, seen[toolchain], generation.shelf, indexed) for toolchain in TOOLCHAINS]


def cover(toolchain: Toolchain, seen: Sequence[str], shelf: Shelf, indexed: frozenset[str]) -> CoverageDoc:
    """Look up the passes `seen` in one compiler's pipeline; `indexed` are the corpora of the index."""
    passes = [_mapped(name, SOURCES[toolchain], shelf, indexed) for name in seen]
    own = [p for p in passes if p.standing == "own"]
    return CoverageDoc(
        toolchain=toolchain, corpus=SOURCES[toolchain], seen=len(passes), own=len(own),
        defined=sum(p.definition is not None for p in passes),
        implemented=sum(p.implementation is not None for p in own),
        upstream=sum(p.standing == "upstream" for p in passes),
        upstream_not_indexed=[p.name for p in passes if p.standing == "upstream_not_indexed"],
        unimplemented=[p.name for p in own if p.implementation is None],
        unmapped=[p.name for p in passes if p.standing == "unmapped"], passes=passes,
    )  # fmt: skip


def _mapped(name: str, corpus: str, shelf: Shelf, indexed: frozenset[str]) -> MappedPassDoc:
    named = shelf.named(name, "pass")
    relations = dict.fromkeys(row for row, relation in named if relation in {"defines", "implements"})
    passages = [found.passage for found in shelf.rows(list(relations))]
    definition = next((p for p in passages if p.corpus == corpus and p.kind == "pass_def"), None)
    entry = next((p for p in passages if p.corpus == corpus and p.language == "cpp" and _ENTRY in p.text), None)
    if definition is not None or entry is not None:
        return _doc(name, "own", definition, entry)
    above = next((p for p in passages if p.corpus == UPSTREAM and p.kind == "pass_def"), None)
    if above is not None:
        return _doc(name, "upstream", above, None)
    # A compiler registers its own passes and MLIR's: what its own source does not define is MLIR's.
    return _doc(name, "upstream_not_indexed" if corpus in indexed and UPSTREAM not in indexed else "unmapped")


def _doc(
    name: str, standing: Standing, definition: Passage | None = None, implementation: Passage | None = None
) -> MappedPassDoc:
    return MappedPassDoc(
        name=name, standing=standing, definition=definition.id if definition else None,
        implementation=implementation.id if implementation else None,
    )  # fmt: skip

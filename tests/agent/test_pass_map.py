"""The coverage of the passes that the compilers run: of a small tree, and of the real sources."""

import json
import os
import time
from pathlib import Path

import pytest

from agent.cli.main import run
from agent.pass_map import CoverageDoc, cover
from agent.toolchain.install import find_ascend
from agent.toolchain.pipelines import TOOLCHAINS, seen_passes
from indexer.build import build_index
from indexer.chunk import chunk_file
from indexer.corpus import MAX_FILE_BYTES, FolderTree, Manifest, read_manifest
from indexer.embed import HashEmbedder
from indexer.git import GitTree
from indexer.graph.links import link_passages
from indexer.reading import Job
from indexer.records import Passage
from indexer.shelf import Shelf, begin_shelf, editing
from indexer.store import open_generation
from indexer.symbols import name_passages

SAMPLES = Path(__file__).parents[1] / "samples"
SOURCES = os.environ.get("TRITONKB_SOURCES")
NO_SOURCES = "TRITONKB_SOURCES names no folder with the compilers' repositories"
# The commits of the wheels of the pinned compilers, and in which repository each is.
PINNED = {
    "ascendnpu-ir": ("ascendnpu-ir", "8796a8ac1508"),
    "ascendnpu-ir-a5": ("ascendnpu-ir", "f9d978b14443"),
    "triton-ascend": ("triton-ascend", "23ac2717c0a3"),
}
UPSTREAM_TD = 'def CSE : Pass<"cse"> {\n  let summary = "Eliminate common sub-expressions";\n}\n'


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weave") / "index"
    manifest = Manifest("ascendnpu-ir", "a3", "Apache-2.0", tests=("test/**",))
    tree = FolderTree(manifest.name, manifest.target, SAMPLES / "weave")
    build_index(folder, [Job(tree, manifest, f"{manifest.name}={SAMPLES / 'weave'}")], HashEmbedder(), lambda *_: None)
    return folder


def coverage(store: Path, seen: tuple[str, ...]) -> CoverageDoc:
    generation = open_generation(store)
    return cover("a3", seen, generation.shelf, frozenset(m.name for m in generation.manifest.corpora))


def test_an_own_pass_is_mapped_to_its_definition_and_to_the_source_of_its_entry_point(store: Path) -> None:
    found = coverage(store, ("weave-sum-tree", "lower-to-weave"))
    assert (found.seen, found.own, found.defined, found.implemented) == (2, 2, 2, 2)
    (sum_tree, _) = found.passes
    assert sum_tree.definition is not None
    assert "include/Weave/Passes.td#L" in sum_tree.definition
    assert sum_tree.implementation is not None
    assert "lib/Weave/Transforms/SumTree.cpp#L" in sum_tree.implementation


def test_a_pass_of_upstream_says_that_upstream_is_not_indexed(store: Path) -> None:
    found = coverage(store, ("weave-sum-tree", "cse"))
    assert found.upstream_not_indexed == ["cse"]
    assert (found.own, found.upstream, found.unmapped) == (1, 0, [])


def test_a_pass_of_upstream_is_mapped_to_the_indexed_definition(store: Path, tmp_path: Path) -> None:
    source, copy = tmp_path / "llvm", tmp_path / "index"
    (source / "mlir/include/mlir/Transforms").mkdir(parents=True)
    (source / "mlir/include/mlir/Transforms/Passes.td").write_text(UPSTREAM_TD)
    own = Manifest("ascendnpu-ir", "a3", "Apache-2.0", tests=("test/**",))
    mlir = read_manifest("mlir")
    jobs = [
        Job(FolderTree(own.name, own.target, SAMPLES / "weave"), own, "weave"),
        Job(FolderTree(mlir.name, mlir.target, source), mlir, "mlir"),
    ]
    build_index(copy, jobs, HashEmbedder(), lambda *_: None)
    found = coverage(copy, ("cse", "no-such-pass"))
    assert (found.upstream, found.upstream_not_indexed, found.unmapped) == (1, [], ["no-such-pass"])
    assert (found.defined, found.passes[0].standing) == (1, "upstream")


def test_without_the_compilers_own_source_nothing_is_called_upstream(store: Path) -> None:
    generation = open_generation(store)
    found = cover("a5", ("weave-sum-tree", "cse"), generation.shelf, frozenset({"ascendnpu-ir"}))
    assert found.unmapped == ["weave-sum-tree", "cse"]


@pytest.mark.toolchain
def test_status_lists_the_passes_of_the_installed_compilers_once_and_tells_their_coverage(
    store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = find_ascend().python
    monkeypatch.setenv("TRITONKB_HOME", str(tmp_path))
    monkeypatch.setenv("TRITONKB_TOOLCHAIN_PYTHON", str(python))
    assert run(["index", "status", "--passes", "--json", "--store", str(store)]) == 0
    told = {c["toolchain"]: c for c in json.loads(capsys.readouterr().out)["passes"]}
    # Of triton-ascend 3.2.0 and ascendnpu-ir 1.2.0, as counted over several kernels.
    assert {name: c["seen"] for name, c in told.items()} == {"a3": 106, "a5": 169, "adapter": 10}
    assert (told["a3"]["own"], len(told["a3"]["upstream_not_indexed"])) == (0, 106)
    assert len(told["a5"]["unmapped"]) == 169
    kept = tmp_path / "toolchain" / "passes.json"
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "adapter": ["kept"]}))
    assert run(["index", "status", "--passes", "--lang", "en", "--store", str(store)]) == 0
    out = capsys.readouterr().out
    assert "upstream MLIR (corpus mlir not indexed): " in out
    assert "unmapped: kept" in out


@pytest.fixture(scope="module")
def passages() -> list[Passage]:
    """Cut the sources of the pinned compilers, in the order in which a shelf numbers them."""
    found: list[Passage] = []
    for name, (folder, commit) in sorted(PINNED.items()):
        manifest = read_manifest(name)
        tree = GitTree(name, manifest.target, Path(SOURCES or "") / folder, commit)
        for entry, content in tree.read([e for e in tree.entries() if manifest.takes(e.path)]):
            grammar, text = manifest.grammar(entry.path), content.decode("utf-8", errors="replace")
            if grammar is not None and len(content) <= MAX_FILE_BYTES:
                found += chunk_file(tree.corpus, entry.path, text, grammar, manifest.kind(entry.path)).passages
    return sorted(found, key=lambda p: (p.corpus, p.path, p.start_line))


@pytest.mark.slow
@pytest.mark.skipif(SOURCES is None, reason=NO_SOURCES)
def test_the_graph_of_two_trees_takes_less_than_eight_seconds_of_cpu(passages: list[Passage]) -> None:
    both = [p for p in passages if p.corpus != "ascendnpu-ir-a5"]
    begin = time.process_time()
    assert len(link_passages(both, name_passages(both))) > 10_000
    assert time.process_time() - begin < 8


@pytest.mark.slow
@pytest.mark.skipif(SOURCES is None, reason=NO_SOURCES)
@pytest.mark.toolchain
def test_every_pass_that_the_compilers_run_is_mapped_to_the_real_sources(
    passages: list[Passage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install = find_ascend()
    monkeypatch.setenv("TRITONKB_HOME", str(tmp_path))
    seen = seen_passes(install)
    namings = name_passages(passages)
    begin_shelf(tmp_path / "passages.sqlite", None)
    with editing(tmp_path / "passages.sqlite") as writer:
        writer.add(enumerate(passages))
        writer.number_rows()
        for name, (_, commit) in PINNED.items():
            writer.set_commit(name, 1, commit, kept=1)
        writer.set_names(namings, link_passages(passages, namings))
    shelf = Shelf(tmp_path / "passages.sqlite")
    found = {toolchain: cover(toolchain, seen[toolchain], shelf, frozenset(PINNED)) for toolchain in TOOLCHAINS}
    counts = {name: (c.seen, c.own, c.defined, c.implemented) for name, c in found.items()}
    assert counts == {"a3": (106, 99, 99, 99), "a5": (169, 155, 155, 155), "adapter": (10, 8, 8, 8)}
    assert {name: len(c.upstream_not_indexed) for name, c in found.items()} == {"a3": 7, "a5": 14, "adapter": 2}
    assert not any(c.unmapped or c.unimplemented for c in found.values())

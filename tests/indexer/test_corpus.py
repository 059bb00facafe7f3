from pathlib import Path

import pytest

from indexer.corpus import FolderTree, TextTree, known_corpora, read_manifest
from indexer.errors import BadInput


def test_the_fixed_corpora_have_manifests() -> None:
    assert set(known_corpora()) == {
        "ascendnpu-ir", "ascendnpu-ir-a5", "triton-ascend", "mlir", "triton", "toolchain", "notes",
    }  # fmt: skip
    assert all(read_manifest(name).licence for name in known_corpora())


def test_an_alias_is_found_whatever_its_case() -> None:
    assert read_manifest("AscendNPU-IR").name == "ascendnpu-ir"


def test_an_unknown_corpus_is_told_with_the_known_ones() -> None:
    with pytest.raises(BadInput, match=r"no corpus named cuda-docs; known: .*toolchain"):
        read_manifest("cuda-docs")


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("bishengir/lib/Dialect/HIVM/Transforms/PlanMemory.cpp", True),
        ("bishengir/triton/lib/Analysis/Utility.cpp", False),
        ("third-party/shmem/a.cpp", False),
        ("bishengir/lib/third_party/a.cpp", False),
        ("docs/source/en/index.md", True),
        ("bishengir/lib/CMakeLists.cmake", False),
        ("README.md", True),
        ("build-tools/patches/a.patch", False),
    ],
)
def test_globs_leave_out_vendored_and_foreign_files(path: str, *, taken: bool) -> None:
    assert read_manifest("ascendnpu-ir").takes(path) is taken


def test_lit_tests_are_kept_as_tests() -> None:
    manifest = read_manifest("ascendnpu-ir")
    assert manifest.kind("bishengir/test/Dialect/HIVM/a.mlir") == "test"
    assert manifest.kind("bishengir/lib/Dialect/HIVM/IR/HIVM.cpp") is None


def test_a_link_cannot_bring_in_what_is_outside(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# outside")
    inside = tmp_path / "tree"
    inside.mkdir()
    (inside / "a.md").write_text("# inside")
    (inside / "b.md").symlink_to(tmp_path / "secret.md")
    (inside / "up").symlink_to(tmp_path)
    assert [e.path for e in FolderTree("notes", "all", inside).entries()] == ["a.md"]


def test_the_commit_of_a_folder_is_the_hash_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# one")
    before = FolderTree("notes", "all", tmp_path).corpus.commit
    assert before == TextTree("notes", "all", "elsewhere", {"a.md": "# one"}).corpus.commit
    (tmp_path / "a.md").write_text("# two")
    assert FolderTree("notes", "all", tmp_path).corpus.commit != before


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no folder .*nowhere"):
        FolderTree("notes", "all", tmp_path / "nowhere")

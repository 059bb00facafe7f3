import os
from pathlib import Path

import pytest

from indexer.corpus import MAX_FILE_BYTES, FolderTree, TextTree, known_corpora, read_manifest
from indexer.errors import BadInput, StoreError


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


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("mlir/include/mlir/Transforms/Passes.td", True),  # llvm-project
        ("mlir/Transforms/Passes.td", True),  # Debian's headers, from /usr/lib/llvm-19/include
        ("include/mlir/Transforms/Passes.td", True),  # the same from a folder above
        ("mlir/lib/Dialect/SCF/Transforms/LoopCanonicalization.cpp", True),
        ("mlir/docs/Passes.md", True),
        ("mlir/test/lib/Dialect/Test/TestOps.td", False),
        ("mlir/Dialect/SPIRV/IR/SPIRVOps.td", False),
        ("llvm/lib/IR/Core.cpp", False),
        ("clang/include/clang/Driver/Options.td", False),
    ],
)
def test_mlir_is_taken_from_the_repository_and_from_the_package(path: str, *, taken: bool) -> None:
    assert read_manifest("mlir").takes(path) is taken


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# one")
    (tmp_path / "a.md").chmod(0)
    if os.access(tmp_path / "a.md", os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(StoreError, match=r"cannot read .*a\.md: Permission denied"):
        FolderTree("notes", "all", tmp_path)


def test_a_name_that_is_no_utf_8_is_read_all_the_same(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md")).write_text("# one")
    tree = FolderTree("notes", "all", tmp_path)
    assert [(entry.path, data) for entry, data in tree.read(tree.entries())] == [("\ufffd.md", b"# one")]


def test_a_pipe_or_a_huge_file_stops_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")
    with (tmp_path / "b.md").open("wb") as sparse:
        sparse.truncate(1 << 40)
    tree = FolderTree("notes", "all", tmp_path)
    assert [(entry.path, len(data)) for entry, data in tree.read(tree.entries())] == [("b.md", MAX_FILE_BYTES + 1)]

"""Archives are read in memory, as forges make them, and can neither leave their folder nor fill the machine."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from indexer import archive
from indexer.archive import ArchiveTree, is_archive
from indexer.corpus import MAX_FILE_BYTES, read_manifest
from indexer.errors import BadInput, StoreError

FORMATS = ("tar", "tar.gz", "tgz", "tar.xz", "zip")


def everything(path: str) -> bool:
    return bool(path)


def texts(path: Path) -> dict[str, str]:
    tree = ArchiveTree("notes", "all", path, everything)
    return {entry.path: data.decode() for entry, data in tree.read(tree.entries())}


def tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as made:
        for member, data in members:
            member.size = len(data)
            made.addfile(member, io.BytesIO(data))
    return path


def named(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "lib").mkdir(parents=True)
    (folder / "a.md").write_text("# first\n")
    (folder / "lib/名.md").write_text("# second\n")
    (folder / "link.md").symlink_to("a.md")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("form", FORMATS)
def test_what_a_forge_makes_is_its_commit_without_the_top_folder(repository: Path, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"repo-v1.{form}"
    plain = tmp_path / "plain.tar"
    git_form = "zip" if form == "zip" else "tar"
    command = ["git", "archive", f"--format={git_form}", "--prefix=repo-v1/", "-o", plain, "HEAD"]
    subprocess.run(command, cwd=repository, check=True)
    packer = {"tar.gz": ["gzip", "-c"], "tgz": ["gzip", "-c"], "tar.xz": ["xz", "-c"]}.get(form, ["cat"])
    path.write_bytes(subprocess.run([*packer, plain], check=True, capture_output=True).stdout)
    assert is_archive(path)
    assert texts(path) == {"a.md": "# first\n", "lib/名.md": "# second\n"}
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, check=True, capture_output=True, text=True)
    assert ArchiveTree("notes", "all", path, everything).corpus.commit == head.stdout.strip()


def test_another_archive_has_the_hash_of_its_files(tmp_path: Path) -> None:
    def commit(content: bytes) -> str:
        path = tar(tmp_path / "x.tgz", (named("a.md"), content))
        return ArchiveTree("notes", "all", path, everything).corpus.commit

    assert len(commit(b"# one\n")) == 64
    assert commit(b"# one\n") == commit(b"# one\n") != commit(b"# two\n")


def test_the_only_folder_stays_where_the_corpus_needs_it(tmp_path: Path) -> None:
    path = tar(tmp_path / "headers.tgz", (named("mlir/Transforms/Passes.td"), b"def A;\n"))
    tree = ArchiveTree("mlir", "a3", path, read_manifest("mlir").takes)
    assert [entry.path for entry in tree.entries()] == ["mlir/Transforms/Passes.td"]
    path = tar(tmp_path / "forge.tgz", (named("llvm-19/mlir/include/mlir/Transforms/Passes.td"), b"def A;\n"))
    tree = ArchiveTree("mlir", "a3", path, read_manifest("mlir").takes)
    assert [entry.path for entry in tree.entries()] == ["mlir/include/mlir/Transforms/Passes.td"]


@pytest.mark.parametrize("name", ["../up.md", "a/../../up.md", "/etc/up.md", "C:\\up.md", "..\\up.md", "a/.."])
def test_an_archive_that_leaves_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="would leave its folder"):
        texts(tar(tmp_path / "x.tgz", (named("a.md"), b"#\n"), (named(name), b"#\n")))
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as made:
        made.writestr(name, "#\n")
    with pytest.raises(BadInput, match="would leave its folder"):
        texts(tmp_path / "x.zip")


def test_links_and_devices_are_no_files(tmp_path: Path) -> None:
    others = (
        named("b.md", tarfile.SYMTYPE, "/etc/hostname"), named("c.md", tarfile.LNKTYPE, "a.md"),
        named("d.md", tarfile.FIFOTYPE), named("e.md", tarfile.CHRTYPE), named("f", tarfile.DIRTYPE),
    )  # fmt: skip
    path = tar(tmp_path / "x.tgz", (named("a.md"), b"#\n"), *((other, b"") for other in others))
    assert texts(path) == {"a.md": "#\n"}
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as made:
        made.writestr("a.md", "#\n")
        link = zipfile.ZipInfo("b.md")
        link.external_attr = 0o120777 << 16
        made.writestr(link, "/etc/hostname")
    assert texts(tmp_path / "x.zip") == {"a.md": "#\n"}


def test_a_bomb_is_refused_before_it_fills_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 10 << 20)
    zeros = bytes(20 << 20)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a.bin", zeros)
    for path in (tar(tmp_path / "x.tgz", (named("a.bin"), zeros)), tmp_path / "x.zip"):
        assert path.stat().st_size < 1 << 20
        with pytest.raises(BadInput, match="has more than 0 GiB"):
            texts(path)


def test_too_many_and_too_much_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tar(tmp_path / "x.tgz", *((named(f"{number}.md"), b"12345678") for number in range(10)))
    monkeypatch.setattr(archive, "MAX_MEMBERS", 9)
    with pytest.raises(BadInput, match="more than 9 files"):
        texts(path)
    monkeypatch.setattr(archive, "MAX_MEMBERS", 10)
    monkeypatch.setattr(archive, "MAX_TAKEN_BYTES", 79)
    with pytest.raises(BadInput, match="which no source tree has"):
        texts(path)


def test_a_header_that_claims_to_be_huge_is_refused(tmp_path: Path) -> None:
    path = tar(tmp_path / "x.tgz", (named("././@LongLink", tarfile.GNUTYPE_LONGNAME), bytes(2 << 20)))
    with pytest.raises(BadInput, match="a header of 2097152 bytes"):
        texts(path)


def test_a_file_over_the_limit_is_only_known_to_be_over_it(tmp_path: Path) -> None:
    path = tar(tmp_path / "x.tgz", (named("a.md"), b"x" * (MAX_FILE_BYTES + 1000)))
    assert len(texts(path)["a.md"]) == MAX_FILE_BYTES + 1


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_that_is_no_archive_or_is_cut_off_is_told(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"x.{form}"
    path.write_bytes(b"no archive at all, however long it goes on " * 100)
    with pytest.raises(BadInput, match="cannot be unpacked"):
        texts(path)


def test_a_download_that_was_cut_off_is_told(tmp_path: Path) -> None:
    path = tar(tmp_path / "x.tgz", (named("a.md"), bytes(range(256)) * 400))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadInput, match="cannot be unpacked"):
        texts(path)


def test_an_archive_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        texts(tmp_path / "x.tgz")

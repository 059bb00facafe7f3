"""Repositories are read from their objects, whatever their work tree says."""

import subprocess
from pathlib import Path

import pytest

from indexer.errors import BadInput, StoreError
from indexer.git import GitTree, fetch, is_repository, is_url


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.md").write_text("# first\n")
    (folder / "sub").mkdir()
    (folder / "sub" / "名 b.md").write_text("# second\n")
    (folder / "link.md").symlink_to("/etc/hostname")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    return folder


def texts(tree: GitTree) -> dict[str, str]:
    return {entry.path: data.decode() for entry, data in tree.read(tree.entries())}


def test_a_commit_is_read_and_links_are_not(repository: Path) -> None:
    tree = GitTree("notes", "all", repository, "")
    assert texts(tree) == {"a.md": "# first\n", "sub/名 b.md": "# second\n"}
    assert tree.corpus.commit == git(repository, "rev-parse", "HEAD")


def test_the_work_tree_does_not_matter(repository: Path) -> None:
    (repository / "a.md").write_text("# changed but not committed\n")
    assert texts(GitTree("notes", "all", repository, "HEAD"))["a.md"] == "# first\n"


def test_an_older_revision_and_a_bare_repository_are_read(repository: Path, tmp_path: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    (repository / "a.md").write_text("# later\n")
    git(repository, "commit", "-q", "-am", "two")
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    assert is_repository(bare)
    assert texts(GitTree("notes", "all", bare, first[:12]))["a.md"] == "# first\n"
    assert texts(GitTree("notes", "all", bare, "main"))["a.md"] == "# later\n"


@pytest.mark.parametrize("revision", ["no-such-branch", "--upload-pack=touch x", "0" * 40])
def test_an_unknown_revision_is_told_and_is_never_an_option(repository: Path, revision: str) -> None:
    with pytest.raises(BadInput, match="no commit"):
        GitTree("notes", "all", repository, revision)


def test_one_commit_is_fetched_from_the_first_address_that_answers(repository: Path, tmp_path: Path) -> None:
    commit = fetch([f"file://{tmp_path}/gone", f"file://{repository}"], "HEAD", tmp_path / "kept.git")
    assert texts(GitTree("notes", "all", tmp_path / "kept.git", commit))["a.md"] == "# first\n"


def test_no_address_answering_is_told_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="give a local one with --corpus"):
        fetch([f"file://{tmp_path}/gone"], "HEAD", tmp_path / "kept.git")


@pytest.mark.parametrize("url", ["http://example.org/a.git", "ext::sh -c true", "-u", "git://example.org/a", "/tmp/a"])
def test_only_safe_addresses_are_fetched_from(url: str, tmp_path: Path) -> None:
    assert not is_url(url)
    with pytest.raises(BadInput, match="only https, ssh and file"):
        fetch([url], "HEAD", tmp_path / "kept.git")

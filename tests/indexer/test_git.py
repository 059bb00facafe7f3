"""Repositories are read from their objects, whatever their work tree says."""

import subprocess
from pathlib import Path

import pytest

from indexer.checkout import open_checkout
from indexer.corpus import MAX_FILE_BYTES, Tree
from indexer.errors import BadInput, StoreError
from indexer.git import GitTree, is_repository, is_url


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


def texts(tree: Tree) -> dict[str, str]:
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


@pytest.mark.parametrize("url", ["https://a.org/b.git", "ssh://git@a.org/b", "git@a.org:b/c.git", "file:///srv/b"])
def test_these_are_addresses(url: str) -> None:
    assert is_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://a.org/b", "ext::sh -c true", "-u", "--upload-pack=x", "git://a.org/b", "/tmp/a", "ssh://-oProxyCommand=x/",
        "-oProxyCommand=x@a.org:b", "git@-oProxyCommand=x:b", "https://a.org/b c",
    ],
)  # fmt: skip
def test_these_are_not(url: str) -> None:
    assert not is_url(url)


def test_a_clone_that_lacks_contents_is_told_and_nothing_is_fetched(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial.git"
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", f"file://{repository}", str(partial))
    tree = GitTree("notes", "all", partial, "")
    assert [entry.path for entry in tree.entries()] == ["a.md", "sub/名 b.md"]
    with pytest.raises(StoreError, match=r"lacks the content of .*partial clone"):
        texts(tree)


def test_a_content_too_large_to_be_source_is_not_unpacked(repository: Path) -> None:
    (repository / "b.md").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    (repository / "c.md").write_text("# small\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    contents = texts(GitTree("notes", "all", repository, ""))
    assert contents["b.md"] == "\0" * (MAX_FILE_BYTES + 1)
    assert contents["c.md"] == "# small\n"


def test_objects_that_stand_in_for_others_are_not_read(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    (repository / "a.md").write_text("# forged\n")
    git(repository, "commit", "-q", "-am", "two")
    git(repository, "replace", first, "HEAD")
    assert texts(GitTree("notes", "all", repository, first))["a.md"] == "# first\n"


def test_a_shell_inside_another_repository_does_not_mislead(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    assert texts(GitTree("notes", "all", repository, ""))["a.md"] == "# first\n"


def test_a_linked_work_tree_and_a_submodule_are_repositories(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    outer = tmp_path / "outer"
    git(tmp_path, "init", "-q", str(outer))
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repository), "inner")
    for checkout in (tmp_path / "linked", outer / "inner"):
        assert (checkout / ".git").is_file()
        assert is_repository(checkout)
        assert texts(GitTree("notes", "all", checkout, ""))["a.md"] == "# first\n"
        (checkout / "a.md").write_text("# changed\n")
        assert texts(open_checkout("notes", "all", checkout, everything))["a.md"] == "# changed\n"


class TestCheckout:
    """A checkout without a revision."""

    def test_an_unchanged_one_is_its_commit(self, repository: Path) -> None:
        (repository / "build.log").write_text("not of the corpus")
        tree = open_checkout("notes", "all", repository, lambda path: path.endswith(".md"))
        assert tree.corpus.commit == git(repository, "rev-parse", "HEAD")

    def test_a_changed_one_is_read_as_it_lies_there(self, repository: Path) -> None:
        (repository / ".gitignore").write_text("ignored.md\n")
        git(repository, "add", ".")
        git(repository, "commit", "-q", "-m", "two")
        (repository / "a.md").write_text("# changed\n")
        (repository / "sub/名 b.md").unlink()
        (repository / "new.md").write_text("# new\n")
        (repository / "ignored.md").write_text("# ignored\n")
        (repository / "outside.md").symlink_to("/etc/hostname")
        tree = open_checkout("notes", "all", repository, lambda path: path.endswith(".md"))
        assert texts(tree) == {"a.md": "# changed\n", "new.md": "# new\n"}

    def test_its_commit_is_the_hash_of_what_is_taken(self, repository: Path) -> None:
        def commit() -> str:
            return open_checkout("notes", "all", repository, lambda path: path.endswith(".md")).corpus.commit

        (repository / "a.md").write_text("# changed\n")
        changed = commit()
        assert len(changed) == 64
        (repository / "b.log").write_text("not of the corpus")
        assert commit() == changed
        (repository / "a.md").write_text("# changed again\n")
        assert commit() != changed

    def test_a_file_has_the_same_digest_before_and_after_its_commit(self, repository: Path) -> None:
        (repository / "a.md").write_text("# changed\n")
        before = open_checkout("notes", "all", repository, everything).entries()
        git(repository, "commit", "-q", "-am", "two")
        assert {(e.path, e.digest) for e in before} == {
            (e.path, e.digest) for e in open_checkout("notes", "all", repository, everything).entries()
        }

    def test_no_program_of_the_repository_is_run(self, repository: Path, tmp_path: Path) -> None:
        ran = tmp_path / "ran"
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
        program.chmod(0o755)
        (repository / ".gitattributes").write_text("*.md filter=evil=x\n")
        git(repository, "add", ".")
        git(repository, "commit", "-q", "-m", "two")
        for hook in ("post-index-change", "post-checkout"):
            (repository / ".git/hooks" / hook).symlink_to(program)
        for key in (
            "filter.evil=x.clean",
            "filter.evil=x.process",
            "core.fsmonitor",
            "core.sshCommand",
            "pager.status",
        ):
            section, _, name = key.rpartition(".")
            with (repository / ".git/config").open("a") as config:
                head, _, sub = section.partition(".")
                config.write(f"[{head}{f' {chr(34)}{sub}{chr(34)}' if sub else ''}]\n{name} = {program}\n")
        # As large and as old as before: git must compare the contents, which is what runs a filter.
        (repository / "a.md").write_text("# other\n")
        assert texts(open_checkout("notes", "all", repository, everything))["a.md"] == "# other\n"
        assert not ran.exists()
        subprocess.run(["git", "status"], cwd=repository, check=False, capture_output=True)
        assert ran.exists(), "the trap works for a git that is not careful"

    def test_a_work_tree_elsewhere_is_not_read(self, repository: Path, tmp_path: Path) -> None:
        (tmp_path / "home").mkdir()
        (tmp_path / "home/secret.md").write_text("# secret\n")
        git(repository, "config", "core.worktree", str(tmp_path / "home"))
        assert "secret.md" not in texts(open_checkout("notes", "all", repository, everything))


def everything(path: str) -> bool:
    return bool(path)

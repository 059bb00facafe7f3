"""One commit from the first address that answers: real repositories over file and ssh, and what goes wrong."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from indexer import fetch as fetching
from indexer.errors import BadInput, StoreError
from indexer.fetch import fetch
from indexer.git import GitTree


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "lib").mkdir(parents=True)
    git(folder, "init", "-q")
    for number in range(2):
        (folder / "a.md").write_text(f"# {number}\n")
        (folder / "lib/large.md").write_text(f"# large {number}\n")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", str(number))
    git(folder, "tag", "v1", "HEAD~1")
    return folder


def quiet(_done: int, _total: int) -> None:
    """Say nothing."""


def texts(folder: Path, commit: str) -> dict[str, str]:
    tree = GitTree("notes", "all", folder, commit)
    return {entry.path: data.decode() for entry, data in tree.read(tree.entries())}


def test_the_pinned_commit_comes_alone_from_the_first_address_that_answers(repository: Path, tmp_path: Path) -> None:
    first = git(repository, "rev-parse", "HEAD~1")
    kept = tmp_path / "kept.git"
    assert fetch([f"file://{tmp_path}/gone", f"file://{repository}"], first, kept, quiet) == first
    assert texts(kept, first)["a.md"] == "# 0\n"
    assert git(kept, "rev-list", "--count", first) == "1"


@pytest.mark.parametrize(("revision", "content"), [("v1", "# 0\n"), ("main", "# 1\n"), ("", "# 1\n")])
def test_a_tag_a_branch_or_the_default_is_fetched(
    repository: Path, tmp_path: Path, revision: str, content: str
) -> None:
    commit = fetch([f"file://{repository}"], revision, tmp_path / "kept.git", quiet)
    assert texts(tmp_path / "kept.git", commit)["a.md"] == content


def test_a_commit_that_is_here_needs_no_address(repository: Path, tmp_path: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    fetch([f"file://{repository}"], head, tmp_path / "kept.git", quiet)
    repository.rename(tmp_path / "moved")
    assert fetch([f"file://{repository}"], head, tmp_path / "kept.git", quiet) == head
    with pytest.raises(StoreError):
        fetch([f"file://{repository}"], "main", tmp_path / "kept.git", quiet)


def test_commits_fetched_before_stay(repository: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.git"
    old = fetch([f"file://{repository}"], "v1", kept, quiet)
    fetch([f"file://{repository}"], "main", kept, quiet)
    git(kept, "gc", "-q", "--prune=now")
    assert texts(kept, old)["a.md"] == "# 0\n"


def test_every_address_is_named_with_what_went_wrong(tmp_path: Path) -> None:
    urls = [f"file://{tmp_path}/gone", "https://127.0.0.1:9/x.git"]
    with pytest.raises(StoreError, match="give a local one with --corpus NAME=PATH") as caught:
        fetch(urls, "main", tmp_path / "kept.git", quiet)
    said = str(caught.value)
    assert f"file://{tmp_path}/gone: fatal: '{tmp_path}/gone' does not appear to be a git repository" in said
    assert "https://127.0.0.1:9/x.git: fatal: unable to access" in said


def test_a_commit_that_no_address_has_is_told(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not our ref 1111"):
        fetch([f"file://{repository}"], "1" * 40, tmp_path / "kept.git", quiet)


@pytest.mark.parametrize("url", ["http://example.org/a.git", "ext::sh -c true", "-u", "git://example.org/a", "/tmp/a"])
def test_only_safe_addresses_are_fetched_from(url: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="only https, ssh and file"):
        fetch([url], "HEAD", tmp_path / "kept.git", quiet)


def test_the_users_configuration_cannot_lead_to_another_transport(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gitconfig").write_text(f'[url "ext::touch {tmp_path}/ran "]\n\tinsteadOf = https://a.org/\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    with pytest.raises(StoreError, match="transport 'ext' not allowed"):
        fetch(["https://a.org/b.git"], "HEAD", tmp_path / "kept.git", quiet)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "revision", ["--upload-pack=touch x", "+refs/heads/*:refs/heads/*", "a:b", "a..b", "HEAD~1", "a b", "@{-1}"]
)
def test_what_means_more_than_a_revision_is_refused(repository: Path, tmp_path: Path, revision: str) -> None:
    with pytest.raises(BadInput, match="not a revision to fetch"):
        fetch([f"file://{repository}"], revision, tmp_path / "kept.git", quiet)


def test_a_part_of_a_commit_is_refused_with_what_to_give(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="give all 40 digits"):
        fetch([f"file://{repository}"], "abc1234", tmp_path / "kept.git", quiet)


def test_an_ssh_address_never_asks(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in for ssh runs the command here, as the far end would, after it has looked for a terminal."""
    ssh = tmp_path / "ssh"
    ssh.write_text(
        '#!/bin/sh\n(: < /dev/tty) 2>/dev/null && touch "$(dirname "$0")/asked"\n'
        'for last; do :; done; exec sh -c "$last"\n'
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    commit = fetch([f"ssh://git@example.org{repository}"], "main", tmp_path / "kept.git", quiet)
    assert texts(tmp_path / "kept.git", commit)["a.md"] == "# 1\n"
    assert not (tmp_path / "asked").exists()


def test_only_the_contents_that_the_corpus_takes_are_fetched(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    kept, url = tmp_path / "kept.git", f"file://{repository}"
    commit = fetch([url], "main", kept, quiet, lambda path: path == "a.md")
    tree = GitTree("notes", "all", kept, commit)
    by_path = {entry.path: entry for entry in tree.entries()}
    assert [data for _, data in tree.read([by_path["a.md"]])] == [b"# 1\n"]
    with pytest.raises(StoreError, match=r"lacks the content of lib/large\.md"):
        list(tree.read([by_path["lib/large.md"]]))
    fetch([url], commit, kept, quiet, lambda path: path.endswith(".md"))
    assert texts(kept, commit) == {"a.md": "# 1\n", "lib/large.md": "# large 1\n"}


def test_an_address_that_cannot_leave_contents_out_sends_all(repository: Path, tmp_path: Path) -> None:
    commit = fetch([f"file://{repository}"], "main", tmp_path / "kept.git", quiet, lambda path: path == "a.md")
    assert texts(tmp_path / "kept.git", commit)["lib/large.md"] == "# large 1\n"


def test_progress_is_told(repository: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    fetch([f"file://{repository}"], "main", tmp_path / "kept.git", lambda done, total: told.append((done, total)))
    done, total = told[-1]
    assert done == total > 0


def test_what_a_killed_git_left_does_not_stop_the_next(repository: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.git"
    fetch([f"file://{repository}"], "v1", kept, quiet)
    (kept / "shallow.lock").touch()
    (kept / "objects/pack/tmp_pack_x").touch()
    fetch([f"file://{repository}"], "main", kept, quiet)
    assert not list(kept.glob("objects/pack/tmp_*"))


@pytest.fixture
def silent() -> socket.socket:
    """A server that takes connections and never answers."""
    server = socket.create_server(("127.0.0.1", 0))
    yield server
    server.close()


def test_a_silent_address_is_given_up(
    silent: socket.socket, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "SILENT_SECONDS", 0.3)
    slow = f"https://127.0.0.1:{silent.getsockname()[1]}/x.git"
    with pytest.raises(StoreError, match="no answer for 0 s"):
        fetch([slow], "main", tmp_path / "kept.git", quiet)


def test_ctrl_c_ends_git_too(silent: socket.socket, tmp_path: Path) -> None:
    url = f"https://127.0.0.1:{silent.getsockname()[1]}/x.git"
    code = (
        "import sys; from pathlib import Path; from indexer.fetch import fetch\n"
        "fetch([sys.argv[1]], 'main', Path(sys.argv[2]), lambda *_: None)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, url, tmp_path / "kept.git"], stderr=subprocess.PIPE)
    silent.settimeout(60)
    connection, _ = silent.accept()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    connection.settimeout(10)
    while connection.recv(4096):  # ends when git's end of the connection is closed
        pass
    assert b"KeyboardInterrupt" in said


def test_two_at_once_wait_for_each_other(repository: Path, tmp_path: Path) -> None:
    made: list[str] = []

    def one() -> None:
        made.append(fetch([f"file://{repository}"], "main", tmp_path / "kept.git", quiet))

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [git(repository, "rev-parse", "HEAD")] * 3

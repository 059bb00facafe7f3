"""What commits say of a file is told of it, by histories that are whole, cut short, or not there."""

from pathlib import Path

import pytest

from indexer.build import build_index
from indexer.corpus import TextTree, read_manifest
from indexer.embed import HashEmbedder
from indexer.git import GitTree
from indexer.history import MAX_TOUCHED, history_of
from indexer.reading import Job
from indexer.store import open_generation
from retriever.records import Query
from retriever.search import open_knowledge_base
from tests.indexer.test_git import git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    commit(
        folder,
        "[sync] Add the planner\n\nIt plans.\n\nSigned-off-by: t <t@example.org>",
        "plan.md",
        "# Rows\n\nA row.\n",
    )
    commit(folder, "Add the others", "other.md", "# Rows\n\nA row.\n")
    commit(folder, "Stop the planner from deadlocking", "plan.md", "# Rows\n\nA row!\n")
    return folder


def commit(folder: Path, message: str, path: str, text: str) -> None:
    (folder / path).write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", message)


def job(repository: Path) -> Job:
    return Job(GitTree("notes", "all", repository, ""), read_manifest("notes"), f"notes={repository}")


def build(store: Path, repository: Path) -> None:
    build_index(store, [job(repository)], HashEmbedder(), lambda *_: None)


def told(repository: Path) -> dict[str, str]:
    return history_of(GitTree("notes", "all", repository, ""), {"plan.md", "other.md"})


def test_a_file_is_told_its_messages_newest_first_without_tags_and_trailers(repository: Path) -> None:
    assert told(repository) == {
        "plan.md": "Stop the planner from deadlocking\nAdd the planner\n\nIt plans.", "other.md": "Add the others",
    }  # fmt: skip


def test_a_commit_that_touches_much_says_nothing(repository: Path) -> None:
    for number in range(MAX_TOUCHED):
        (repository / f"{number}.md").write_text("x")
    commit(repository, "Reformat everything", "plan.md", "# Rows\n")
    assert "Reformat" not in told(repository)["plan.md"]


def test_a_history_that_breaks_off_is_told_as_far_as_it_goes(repository: Path) -> None:
    tree = git(repository, "rev-parse", "HEAD~2^{tree}")
    (repository / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert told(repository)["plan.md"] == "Stop the planner from deadlocking"


def test_no_program_that_the_repository_names_checks_a_signature(repository: Path, tmp_path: Path) -> None:
    program, ran = tmp_path / "check", tmp_path / "ran"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    git(repository, "config", "gpg.program", str(program))
    git(repository, "config", "log.showSignature", "true")
    head, _, message = git(repository, "cat-file", "commit", "HEAD").partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    signed = tmp_path / "signed"
    signed.write_text(f"{head}\n{signature}\n\n{message}\n")
    git(repository, "update-ref", "HEAD", git(repository, "hash-object", "-t", "commit", "-w", str(signed)))
    git(repository, "log", "-1")
    assert ran.exists(), "git itself would run it"
    ran.unlink()
    assert "deadlocking" in told(repository)["plan.md"]
    assert not ran.exists()


def test_a_tree_without_commits_has_no_history() -> None:
    assert history_of(TextTree("notes", "all", "tritonkb", {"plan.md": "# Rows\n"}), {"plan.md"}) == {}


def test_what_commits_say_ranks_files_that_say_the_same(repository: Path, tmp_path: Path) -> None:
    build(tmp_path / "store", repository)
    first, second = open_knowledge_base(tmp_path / "store").search(Query("row deadlock"))
    assert (first.passage.path, second.passage.path) == ("plan.md", "other.md")
    assert any(reason.startswith("history ") for reason in first.why)


def test_an_update_tells_new_commits_and_gives_an_older_index_its_history(repository: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    build(store, repository)
    manifest = open_generation(store).folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"history": 1', '"history": 0'))
    build(store, repository)
    assert open_generation(store).manifest.parts["history"] == 1
    commit(repository, "Forbid quokkas", "other.md", "# Rows\n\nA row?\n")
    build(store, repository)
    index = open_generation(store)
    assert index.history is not None
    assert [index.places[n][1] for n in index.history.rows("quokka")] == ["other.md"]
    assert [index.places[n][1] for n in index.history.rows("deadlock")] == ["plan.md"]

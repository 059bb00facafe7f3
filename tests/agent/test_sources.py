"""What the user writes of a corpus, opened; and whether it is the source of the installed compilers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent.cli.main import run
from agent.knowledge import build
from agent.matching import CorpusStatus, compare, mending_command
from agent.sources import open_tree, parse_spec
from agent.toolchain.install import inspect_environment, private_environment
from indexer.errors import BadInput, StoreError
from indexer.store import CorpusMark

OLD, NEW, OURS = "428ab8fdab46a879c7349caba4cde705bc8c9bb6", "8796a8ac1508380d78128427c61ab47d03f05739", "0123456789ab"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs/a.md").write_text("# One\n\nText.\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    return folder


@pytest.fixture
def compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment of our own whose compilers say what the file `commit` holds (a3), and one nobody has (a5)."""
    monkeypatch.setenv("TRITONKB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRITONKB_TOOLCHAIN_PYTHON", raising=False)
    environment = private_environment()
    site = environment / f"lib/python3.{sys.version_info.minor}/site-packages"
    bin_folder = site / "ascendnpuir/bin"
    bin_folder.mkdir(parents=True)
    said = tmp_path / "commit"
    said.write_text(NEW[:12])
    for tool, commit in (
        ("bishengir-opt", f"$(cat {said})"),
        ("bishengir-opt-a5", "3e0b63879707"),
        ("bishengir-compile", ""),
    ):
        program = bin_folder / tool
        program.write_text(
            f'#!/bin/sh\necho "bishengir-opt 1.2.0 (/src/bishengir {commit} 2026-07-29)"\necho "llvm 19.1.7 x"\n'
        )
        program.chmod(0o755)
    (site / "triton/backends/ascend").mkdir(parents=True)
    (site / "triton/backends/ascend/triton-adapter-opt").touch()
    (site / "triton_ascend-3.2.0.dist-info").mkdir()
    (site / "triton_ascend-3.2.0.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: triton-ascend\nVersion: 3.2.0\n"
    )
    (environment / "bin").mkdir()
    (environment / "bin/python").touch()
    (environment / "pyvenv.cfg").touch()
    inspect_environment.cache_clear()
    return said


def status_of(name: str, commit: str, source: str) -> CorpusStatus:
    (status,) = compare([CorpusMark(name, source, commit, "a3", source, 1, 1, "")])
    return status


def test_a_changed_checkout_is_told_with_the_way_to_its_commit(repository: Path) -> None:
    (repository / "docs/a.md").write_text("# Two\n")
    (repository / "build.log").write_text("not of the corpus")
    tree, note = open_tree(parse_spec(f"ascendnpu-ir={repository}"))
    assert note is not None
    assert (note.key, note.values["count"]) == ("knowledge.changed_checkout", 1)
    assert [data for _, data in tree.read(tree.entries())] == [b"# Two\n"]
    head, note = open_tree(parse_spec(f"ascendnpu-ir={repository}@HEAD"))
    assert (head.corpus.commit, note) == (git(repository, "rev-parse", "HEAD"), None)


def test_an_archive_is_read_without_unpacking_it(repository: Path, tmp_path: Path) -> None:
    git(repository, "archive", "--prefix=repo/", "-o", str(tmp_path / "x.tar.gz"), "HEAD")
    tree, _ = open_tree(parse_spec(f"ascendnpu-ir={tmp_path}/x.tar.gz"))
    assert ([e.path for e in tree.entries()], tree.corpus.commit) == (
        ["docs/a.md"],
        git(repository, "rev-parse", "HEAD"),
    )


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("{folder}/x.tar.gz@v1", "is not a git repository"),
        ("{folder}/x.rar", "not one of these archives: .tar"),
        ("{folder}/gone", "no folder"),
        ("{folder}/gone@v1", "no folder .*/gone;"),
        ("https://a.org/b/archive/main.tar.gz", "download it and give its path: --corpus notes=PATH"),
        ("git://a.org/b.git", "only https, ssh and file addresses"),
        ("ext::sh -c id", "only https, ssh and file addresses"),
    ],
)
def test_a_place_that_cannot_be_used_is_told(tmp_path: Path, place: str, said: str) -> None:
    (tmp_path / "x.rar").touch()
    (tmp_path / "x.tar.gz").touch()
    with pytest.raises(BadInput, match=said):
        open_tree(parse_spec(f"notes={place.format(folder=tmp_path)}"))


def test_no_mirror_answering_names_each_and_the_package_that_has_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITONKB_HOME", str(tmp_path))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    with pytest.raises(StoreError, match=r"libmlir-19-dev and give --corpus mlir=/usr/lib/llvm-19/include") as caught:
        open_tree(parse_spec("mlir"))
    assert all(
        f"{url}: fatal: unable to access" in str(caught.value) for url in parse_spec("mlir").manifest.repositories
    )


def test_a_corpus_by_name_is_fetched_at_the_commit_of_the_installed_compiler(
    compilers: Path, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = "".join(f"\tinsteadOf = {url}\n" for url in parse_spec("ascendnpu-ir").manifest.repositories)
    (tmp_path / "gitconfig").write_text(f'[url "file://{repository}"]\n{rules}')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    compilers.write_text(OLD[:12])
    with pytest.raises(StoreError, match=f"not our ref {OLD}"):
        open_tree(parse_spec("ascendnpu-ir"))


def test_the_commit_of_the_installed_compiler_matches(compilers: Path) -> None:
    assert status_of("ascendnpu-ir", NEW, "ascendnpu-ir") == CorpusStatus(
        CorpusMark("ascendnpu-ir", "ascendnpu-ir", NEW, "a3", "ascendnpu-ir", 1, 1, ""),
        matches_toolchain=True,
        expected=NEW,
    )
    compilers.write_text(OLD[:12])
    status = status_of("ascendnpu-ir", NEW, "ascendnpu-ir")
    assert (status.matches_toolchain, status.expected) == (False, OLD)
    assert mending_command([status]) == "tritonkb index build --corpus ascendnpu-ir"


def test_the_command_that_mends_names_the_place_the_corpus_came_from(compilers: Path, repository: Path) -> None:
    source = f"ascendnpu-ir={repository}@main"
    assert mending_command([status_of("ascendnpu-ir", OLD, source)]) == (
        f"git -C {repository} fetch --all --tags && tritonkb index build --corpus ascendnpu-ir={repository}@{NEW[:12]}"
    )
    head = git(repository, "rev-parse", "HEAD")
    compilers.write_text(head[:12])
    assert mending_command([status_of("ascendnpu-ir", OLD, source)]) == (
        f"tritonkb index build --corpus ascendnpu-ir={repository}@{head[:12]}"
    )
    compilers.write_text(NEW[:12])
    remote = status_of("ascendnpu-ir", OLD, "ascendnpu-ir=https://a.org/b.git@v1")
    assert mending_command([remote]) == f"tritonkb index build --corpus ascendnpu-ir=https://a.org/b.git@{NEW}"


def test_a_users_own_build_is_asked_for_where_its_source_is(compilers: Path) -> None:
    compilers.write_text(OURS)
    status = status_of("ascendnpu-ir", NEW, "ascendnpu-ir")
    assert mending_command([status]) == f"tritonkb index build --corpus ascendnpu-ir=PATH@{OURS}"


def test_a_compiler_whose_source_is_not_public_has_no_command(compilers: Path) -> None:
    status = status_of("ascendnpu-ir-a5", "f9d978b144433ff121048601f315733610c8525d", "ascendnpu-ir-a5")
    assert (status.matches_toolchain, status.expected, mending_command([status])) == (False, "3e0b63879707", "")


def test_the_content_of_a_folder_has_no_commit_to_compare(compilers: Path, tmp_path: Path) -> None:
    status = status_of("ascendnpu-ir", "a" * 64, f"ascendnpu-ir={tmp_path}")
    assert (status.matches_toolchain, status.expected) == (None, NEW)


def test_without_compilers_nothing_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITONKB_HOME", str(tmp_path))
    monkeypatch.delenv("TRITONKB_TOOLCHAIN_PYTHON", raising=False)
    assert status_of("ascendnpu-ir", NEW, "ascendnpu-ir").matches_toolchain is None


def test_an_update_of_the_compiler_is_told_and_mended(
    compilers: Path, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The story of `docs/index.md`, on a small repository; the compilers are stand-ins that name a commit."""
    first = git(repository, "rev-parse", "HEAD")
    (repository / "docs/b.md").write_text("# New\n\nText.\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    second = git(repository, "rev-parse", "HEAD")
    compilers.write_text(first[:12])
    store = tmp_path / "home/index"
    build(store, [parse_spec(f"ascendnpu-ir={repository}@{first}")], "hash", lambda *_: None)

    def seen() -> tuple[dict[str, object], dict[str, object]]:
        assert run(["index", "status", "--json"]) == 0
        corpus = json.loads(capsys.readouterr().out)["corpora"][0]
        run(["doctor", "--json"])
        checks = json.loads(capsys.readouterr().out)["checks"]
        return corpus, next(check for check in checks if check["name"] == "index")

    corpus, check = seen()
    assert (corpus["matches_toolchain"], check["ok"]) == (True, True)
    compilers.write_text(second[:12])
    corpus, check = seen()
    assert (corpus["matches_toolchain"], corpus["expected_commit"]) == (False, second[:12])
    assert check["detail"] == f"not of the installed compilers: ascendnpu-ir {first[:12]} != {second[:12]}"
    command = f"tritonkb index build --corpus ascendnpu-ir={repository}@{second[:12]}"
    assert (corpus["fix"], check["fix"]) == (command, command)
    assert run(command.split()[1:]) == 0
    capsys.readouterr()
    corpus, check = seen()
    assert (corpus["matches_toolchain"], check["ok"]) == (True, True)
    shutil.rmtree(repository)
    assert run(["index", "update"]) == StoreError.exit_code
    assert f"no folder {repository}" in capsys.readouterr().err

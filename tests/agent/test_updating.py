"""`index update` and `index build` where not all is as it was: sources that are gone, corpora that are dropped."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent.cli.main import run
from agent.knowledge import build, status, update
from agent.sources import parse_spec
from indexer.build import Manner
from indexer.chroma import query_chroma
from indexer.errors import BadInput
from indexer.store import current_folder, open_generation

SAMPLE = Path(__file__).parents[1] / "samples" / "compiler"


def quiet(*_: object) -> None:
    """Say nothing of the progress."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Index a compiler, and a card from a folder of its own."""
    shutil.copytree(SAMPLE, tmp_path / "compiler")
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "one.md").write_text("# One\n\nRows are padded to whole blocks.\n")
    specs = [parse_spec(f"triton-ascend={tmp_path}/compiler"), parse_spec(f"notes={tmp_path}/cards")]
    build(tmp_path / "store", specs, "hash", quiet)
    return tmp_path / "store"


def passages(store: Path) -> dict[str, int]:
    return {found.mark.name: found.mark.passages for found in status(store)}


def test_a_corpus_whose_source_is_gone_does_not_keep_the_others_from_being_updated(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = passages(store)
    shutil.rmtree(tmp_path / "compiler")
    (tmp_path / "cards" / "two.md").write_text("# Two\n\nColumns are split into bursts.\n")
    assert run(["index", "update", "--store", str(store), "--json"]) == 3
    out, err = capsys.readouterr()
    assert json.loads(out)["kept"] == ["triton-ascend"]
    assert "triton-ascend was not updated and stays as it is: no folder" in err
    assert f"tritonkb index build --store {store} --corpus triton-ascend=PATH" in err
    assert f"tritonkb index build --store {store} --drop triton-ascend" in err
    assert passages(store) == {**before, "notes": before["notes"] + 1}


def test_an_emptied_folder_keeps_its_corpus(store: Path, tmp_path: Path) -> None:
    before = passages(store)
    shutil.rmtree(tmp_path / "cards")
    (tmp_path / "cards").mkdir()
    report = update(store, None, quiet)
    assert ([kept.name for kept in report.kept], report.unchanged) == (["notes"], True)
    assert passages(store) == before


def test_a_corpus_is_dropped_with_all_that_was_made_of_it(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = passages(store)
    assert run(["index", "build", "--store", str(store), "--drop", "triton-ascend"]) == 0
    assert passages(store) == {"notes": before["notes"]}
    generation, folder = open_generation(store), current_folder(store)
    assert folder is not None
    assert len(generation.vectors) == generation.body.count == generation.shelf.count() == before["notes"]
    assert generation.shelf.files("triton-ascend") == {}
    assert generation.shelf.newest_number("triton-ascend") == 0
    assert len(query_chroma(folder / "chroma", generation.vectors[0], 100)) == before["notes"]
    capsys.readouterr()


@pytest.mark.parametrize(
    ("corpora", "drop", "said"),
    [
        ([], ["mlir"], "does not hold mlir, so it cannot be dropped; it holds notes, triton-ascend"),
        (["notes"], ["notes"], "is given to --corpus and to --drop"),
        ([], ["notes", "triton-ascend"], "holds nothing else"),
    ],
)
def test_what_cannot_be_dropped_is_told(store: Path, corpora: list[str], drop: list[str], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        build(store, [parse_spec(name) for name in corpora], None, quiet, Manner(drop=tuple(drop)))


@pytest.mark.parametrize(
    "name", ["vectors.npy", "columns.npy", "body/words.json", "natural/scores.npy", "body/counts.npy"]
)
def test_an_unchanged_index_with_a_file_cut_short_is_damaged(
    store: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = current_folder(store)
    assert folder is not None
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) - 1])
    assert run(["index", "update", "--store", str(store)]) == 3
    out, err = capsys.readouterr()
    assert "nothing has changed" not in out
    assert "is damaged" in err
    assert f"index build --fresh --store {store} --corpus notes={store.parent}/cards --corpus triton-ascend=" in err


def test_an_update_without_a_change_loads_nothing_that_makes_an_index(store: Path) -> None:
    code = """
import sys
from agent.cli.main import run
assert run(["index", "update", "--store", sys.argv[1]]) == 0
heavy = {"indexer.making", "indexer.naming", "indexer.server", "retriever.search", "agent.contract", "asyncio"}
assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
"""
    ran = subprocess.run(
        [sys.executable, "-c", code, str(store)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "nothing has changed" in ran.stdout


def test_what_to_index_more_is_told_with_the_store(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "zzyzx", "--store", str(store)]) == 1
    assert f"tritonkb index build --store {store} --corpus NAME" in capsys.readouterr().err
    run(["ask", "how many zzyzx does a zzyzx have", "--store", str(store)])
    assert f"tritonkb index build --store {store} --corpus " in capsys.readouterr().out

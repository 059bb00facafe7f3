"""The way out of an index that cannot be used names all that it held, and where it is."""

import json
import shlex
from pathlib import Path

import pytest

from agent.cli.main import run
from agent.knowledge import build, status
from agent.sources import parse_spec
from indexer.errors import StoreError
from indexer.repair import ADDRESS, damaged, no_index, store_option
from indexer.store import current_folder, open_generation

SAMPLE = Path(__file__).parents[1] / "samples" / "compiler"


def quiet(*_: object) -> None:
    """Say nothing of the progress."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Index two corpora, one of them from a folder with a space in its name."""
    folder = tmp_path / "a tree"
    folder.symlink_to(SAMPLE)
    specs = [parse_spec("notes"), parse_spec(f"triton-ascend={folder}")]
    build(tmp_path / "my store", specs, "hash", quiet)
    return tmp_path / "my store"


def test_the_way_out_of_damage_brings_back_every_corpus(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = current_folder(store)
    assert folder is not None
    (folder / "passages.sqlite").write_bytes(b"garbage")
    with pytest.raises(StoreError) as caught:
        open_generation(store)
    command = shlex.split(str(caught.value.note.values["command"]))
    assert "dropped" not in str(caught.value)
    assert run(command[1:]) == 0
    assert {found.mark.name for found in status(store)} == {"notes", "triton-ascend"}
    capsys.readouterr()


def test_the_way_out_of_another_format_names_every_corpus(store: Path) -> None:
    folder = current_folder(store)
    assert folder is not None
    made = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**made, "version": 1}))
    with pytest.raises(StoreError, match=r"run: tritonkb index build --fresh --store .* --corpus notes --corpus "):
        open_generation(store)


def test_what_cannot_be_named_is_said_to_be_dropped(store: Path) -> None:
    folder = current_folder(store)
    assert folder is not None
    (folder / "manifest.json").write_text("garbage")
    with pytest.raises(StoreError, match="corpora that you do not name with --corpus are dropped"):
        open_generation(store)


def test_a_command_names_the_store_unless_it_is_the_one_of_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITONKB_HOME", str(tmp_path))
    assert str(no_index(tmp_path / "index")).endswith("run: tritonkb index build")
    assert str(no_index(tmp_path / "a b")).endswith(f"run: tritonkb index build --store '{tmp_path}/a b'")
    mirror = tmp_path / "servers" / "0"
    mirror.mkdir(parents=True)
    (mirror / ADDRESS).write_text("http://127.0.0.1:8000")
    assert store_option(mirror) == " --store http://127.0.0.1:8000"
    assert "--store http://127.0.0.1:8000" in str(damaged("http://127.0.0.1:8000", "x"))


def test_status_and_doctor_name_the_store_in_their_commands(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = ["--store", str(store), "--json"]
    folder = current_folder(store)
    assert folder is not None
    made = json.loads((folder / "manifest.json").read_text())
    made["corpora"][0]["commit"] = "0" * 64
    (folder / "manifest.json").write_text(json.dumps(made))
    option = f" --store '{store}' --corpus notes"
    assert run(["index", "status", *named]) == 0
    document = json.loads(capsys.readouterr().out)
    assert option in document["fix"]  # with a toolchain, another corpus is not its own either
    assert document["corpora"][0]["fix"].endswith(option)
    run(["doctor", *named])
    (check,) = [c for c in json.loads(capsys.readouterr().out)["checks"] if c["name"] == "index"]
    assert option in check["fix"]
    (folder / "manifest.json").write_text("garbage")
    run(["doctor", *named])
    (check,) = [c for c in json.loads(capsys.readouterr().out)["checks"] if c["name"] == "index"]
    assert check["fix"] == f"tritonkb index build --fresh --store '{store}'"

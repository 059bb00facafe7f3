from pathlib import Path

import pytest

from indexer import naming
from indexer.build import build_index
from indexer.embed import HashEmbedder
from indexer.errors import StoreError
from indexer.store import open_generation
from tests.conftest import sample_job


def test_names_made_in_a_process_of_their_own_are_the_same(
    sample_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(naming, "PROCESS_PASSAGES", 1)
    build_index(tmp_path, [sample_job()], HashEmbedder(), lambda *_: None)
    made, wanted = open_generation(tmp_path).shelf, open_generation(sample_store).shelf
    for sort in ("pass", "op", "option"):
        assert set(made.names(sort)) >= {n for n in wanted.names(sort) if n.startswith("toy")}
        assert all(made.named(name, sort) for name in made.names(sort))


def test_what_stops_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "PROCESS_PASSAGES", 1)
    (tmp_path / "passages.sqlite").write_bytes(b"no database")
    with naming.Naming(tmp_path / "passages.sqlite", 2) as made, pytest.raises(StoreError, match="is damaged"):
        made.result()

"""Libraries kept on disk: what is read back is what was written, or nothing."""

import os
from pathlib import Path

import pytest

from agent.verify.kept import Kept


def test_what_is_kept_is_read_back_by_its_name_only(tmp_path):
    kept = Kept(tmp_path / "libraries")
    assert kept.read("first") is None
    kept.keep("first", b"code")
    kept.keep("second", b"")
    assert (kept.read("first"), kept.read("second"), kept.read("third")) == (b"code", b"", None)


@pytest.mark.parametrize("damage", [b"", b"short", bytes(32) + b"code", None])
def test_a_damaged_or_half_written_entry_is_never_used(tmp_path: Path, damage: bytes | None):
    kept = Kept(tmp_path)
    kept.keep("name", b"a library of some length")
    whole = (tmp_path / "name").read_bytes()
    (tmp_path / "name").write_bytes(whole[:-1] if damage is None else damage)
    assert kept.read("name") is None
    kept.keep("name", b"built again")
    assert kept.read("name") == b"built again"


def test_those_that_were_not_used_for_longest_go_first(tmp_path):
    kept = Kept(tmp_path, limit_bytes=3 * (32 + 10))
    for age, name in enumerate(("used", "idle", "young")):
        kept.keep(name, bytes(10))
        os.utime(tmp_path / name, (age, age))
    assert kept.read("used") == bytes(10)
    kept.keep("new", bytes(10))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "used", "young"]


def test_a_folder_that_cannot_be_written_keeps_nothing_and_harms_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    kept = Kept(tmp_path / "file")
    kept.keep("name", b"code")
    assert kept.read("name") is None

"""A kernel file is read, and what is none is refused with the way out."""

import os
from pathlib import Path

import pytest

from agent.records import Entry
from agent.request import read_source
from indexer.errors import BadInput


def test_a_pipe_or_a_device_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "kernel.py"
    os.mkfifo(pipe)
    for path in (pipe, Path(os.devnull)):
        with pytest.raises(BadInput) as refused:
            read_source(path, Entry())
        assert refused.value.note.key == "app.not_regular"


def test_a_link_to_a_file_is_read_and_a_folder_is_told_as_one(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import triton\n")
    (tmp_path / "b.py").symlink_to(tmp_path / "a.py")
    assert read_source(tmp_path / "b.py", Entry()).text == "import triton\n"
    with pytest.raises(BadInput) as refused:
        read_source(tmp_path, Entry())
    assert refused.value.note.key == "app.is_folder"

"""`tritonkb index build` by what it says of files that it could not read, and of ways to work that there are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.cli.main import run
from indexer.corpus import MAX_FILE_BYTES


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "good.md").write_text("# A card\n\nRows are padded.\n")
    (folder / "image.md").write_bytes(b"\0\1\2")
    (folder / "large.md").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    return folder


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", ("image.md: not text; left out", "large.md: larger than 2 MB; left out")),
        ("zh", ("image.md: 不是文本，已跳过", "large.md: 大于 2 MB，已跳过")),
    ],
)
def test_a_file_that_is_left_out_is_named_with_the_reason(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], lang: str, said: tuple[str, ...]
) -> None:
    store = str(tmp_path / "store")
    corpus = f"notes={tree}"
    assert run(["index", "build", "--corpus", corpus, "--store", store, "--embedder", "hash", "--lang", lang]) == 0
    out = capsys.readouterr().out
    assert [line for line in said if line not in out] == []


def test_a_way_to_work_that_there_is_not_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["index", "build", "--jobs", "many", "--store", str(tmp_path), "--lang", "en"]) == 2
    assert "give a number of processes, ray, or ray://HOST:PORT" in capsys.readouterr().err

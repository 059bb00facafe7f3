"""Fixtures that several folders of tests use: a small source tree of our own, and an index of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.build import build_index
from indexer.corpus import FolderTree, Manifest, TextTree, read_manifest
from indexer.embed import HashEmbedder
from indexer.reading import Job

SAMPLE = Path(__file__).parent / "samples" / "compiler"
NOTE = """# Columns copied one element at a time

## What is seen

`toy-split-columns` leaves a loop around `toy.ir.copy_row` where a column of a row-major tile is read.

## 症状

按列读取行主序的数据块时，每个元素单独搬运，带宽利用率很低。
"""


def sample_manifest() -> Manifest:
    return Manifest("ascendnpu-ir", "a3", "Apache-2.0", tests=("test/**",))


def notes_job(cards: dict[str, str] | None = None) -> Job:
    texts = {"split_columns.md": NOTE} if cards is None else cards
    return Job(TextTree("notes", "all", "tritonkb", texts), read_manifest("notes"), "notes")


def sample_job(folder: Path = SAMPLE) -> Job:
    manifest = sample_manifest()
    return Job(FolderTree(manifest.name, manifest.target, folder), manifest, f"{manifest.name}={folder}")


@pytest.fixture(scope="session")
def sample_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the sample tree and one note, made with the hash embedder; nobody may write to it."""
    store = tmp_path_factory.mktemp("sample") / "index"
    build_index(store, [sample_job(), notes_job()], HashEmbedder(), lambda *_: None)
    return store


@pytest.fixture
def sample_tree() -> Path:
    return SAMPLE


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_is_heard() -> None:
    """Hear SIGINT again, also in the programs that tests start: a shell starts background jobs deaf to it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _environment_stays() -> Iterator[None]:
    """Put the environment back: a command hands `--toolchain-python` on to its children through it."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)

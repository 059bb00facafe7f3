"""The index on disk: generations of which one is current; one writer at a time; readers never wait.

STORE/current                 the name of the generation that readers open, replaced in one step
STORE/generations/NAME/       manifest.json, passages.sqlite, vectors.npy, columns.npy, body/, natural/, chroma/
STORE/vectors.sqlite          vectors by (model, text), so that nothing is embedded twice
STORE/lock                    held by the one writer
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.embed import Vectors
from indexer.errors import StoreError
from indexer.lexical import LexicalField
from indexer.shelf import Shelf

STORE_VERSION = 1
COLUMNS = np.dtype([("file", np.int32), ("corpus", np.int16), ("kind", np.int16), ("damped", np.bool_)])


@dataclass(frozen=True, slots=True)
class CorpusMark:
    """A corpus as it stands in a generation; `source` is what `--corpus` said, so that an update asks again."""

    name: str
    origin: str
    commit: str
    target: str
    source: str
    files: int
    passages: int
    updated_at: str


@dataclass(frozen=True, slots=True)
class StoreManifest:
    """What a generation holds and with what it was made."""

    model: str
    dimension: int
    versions: dict[str, str]
    kinds: tuple[str, ...]
    corpora: tuple[CorpusMark, ...]
    created_at: str
    version: int = STORE_VERSION

    def write(self, folder: Path) -> None:
        """Write `manifest.json`."""
        (folder / "manifest.json").write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False), encoding="utf-8")


class Generation:
    """One finished generation, opened for reading; everything large is mapped, not loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = read_store_manifest(folder)
        self.shelf = Shelf(folder / "passages.sqlite")
        try:
            self.vectors: Vectors = np.asarray(np.load(folder / "vectors.npy", mmap_mode="r"))
            self.columns: npt.NDArray[Any] = np.asarray(np.load(folder / "columns.npy", mmap_mode="r"))
            self.body = LexicalField(folder / "body")
            self.natural = LexicalField(folder / "natural")
        except (OSError, ValueError, EOFError) as error:
            raise StoreError("index.damaged", path=folder, reason=error) from error
        counts = {len(self.vectors), len(self.columns), self.body.count, self.natural.count}
        if len(counts) != 1:
            raise StoreError("index.damaged", path=folder, reason=f"{sorted(counts)}")


def read_store_manifest(folder: Path) -> StoreManifest:
    """Read a generation's manifest; raises `StoreError` for one that is damaged or of another version."""
    try:
        table = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        found = table.get("version")
        if found != STORE_VERSION:
            raise StoreError("index.other_version", path=folder, found=found, wanted=STORE_VERSION)
        marks = tuple(CorpusMark(**mark) for mark in table.pop("corpora"))
        return StoreManifest(**{**table, "kinds": tuple(table["kinds"]), "corpora": marks})
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError("index.damaged", path=folder, reason=error) from error


def current_folder(store: Path) -> Path | None:
    """Return the current generation's folder, None where nothing was built yet."""
    try:
        name = (store / "current").read_text(encoding="utf-8").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise StoreError("index.damaged", path=store, reason=error) from error
    if not name or "/" in name:
        raise StoreError("index.damaged", path=store / "current", reason=repr(name))
    return store / "generations" / name


def open_generation(store: Path) -> Generation:
    """Open what is current; raises `StoreError` where there is no index, or it is damaged."""
    for _ in range(3):  # the generation may be replaced and removed between the two steps
        folder = current_folder(store)
        if folder is None:
            raise StoreError("index.no_index", path=store)
        try:
            return Generation(folder)
        except StoreError:
            if current_folder(store) == folder:
                raise
    raise StoreError("index.damaged", path=store, reason="current")


@contextmanager
def writing(store: Path, *, wait_seconds: float) -> Iterator[None]:
    """Hold the writer's lock; raises `StoreError` when another process keeps it, or the folder cannot be written."""
    from filelock import FileLock, Timeout  # noqa: PLC0415 - readers need no lock

    try:
        store.mkdir(parents=True, exist_ok=True)
        lock = FileLock(store / "lock", timeout=wait_seconds)
        lock.acquire()
    except Timeout as error:
        raise StoreError("index.locked", path=store) from error
    except OSError as error:
        raise StoreError("index.cannot_write", path=store, reason=error) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def new_generation(store: Path) -> Iterator[Path]:
    """Give a folder for a new generation; made current when the block ends well, removed when it does not.

    The lock must be held. Raises `StoreError` when the disk refuses.
    """
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:8]}"
    folder = store / "generations" / name
    try:
        _remove_others(store, keep=current_folder(store))
        folder.mkdir(parents=True)
        yield folder
        _point_to(store, name)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, (OSError, sqlite3.Error)):
            raise StoreError("index.cannot_write", path=store, reason=error) from error
        raise
    _remove_others(store, keep=folder)


def _point_to(store: Path, name: str) -> None:
    made = store / f"current.{os.getpid()}"
    try:
        with made.open("w", encoding="utf-8") as file:
            file.write(name)
            file.flush()
            os.fsync(file.fileno())
        made.replace(store / "current")
    finally:
        made.unlink(missing_ok=True)


def _remove_others(store: Path, keep: Path | None) -> None:
    """Remove generations that no reader will open again: older ones, and what a killed build left."""
    folder = store / "generations"
    if folder.is_dir():
        for other in folder.iterdir():
            if other != keep:
                shutil.rmtree(other, ignore_errors=True)


class VectorCache:
    """Vectors by (model, text) in one SQLite file."""

    def __init__(self, path: Path, model: str) -> None:
        try:
            self._database = sqlite3.connect(path)
            self._open(model)
        except sqlite3.OperationalError:  # the disk refuses
            raise
        except sqlite3.DatabaseError:  # damaged: it only saves time, so it is begun anew
            self._database.close()
            path.unlink()
            self._database = sqlite3.connect(path)
            self._open(model)

    def _open(self, model: str) -> None:
        with self._database:
            self._database.execute("CREATE TABLE IF NOT EXISTS models(id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
            self._database.execute("INSERT OR IGNORE INTO models(name) VALUES (?)", (model,))
            (self._model,) = self._database.execute("SELECT id FROM models WHERE name=?", (model,)).fetchone()
            self._database.execute("CREATE TABLE IF NOT EXISTS vectors(model INTEGER, hash BLOB, vector BLOB)")
            self._database.execute("CREATE UNIQUE INDEX IF NOT EXISTS vectors_hash ON vectors(hash, model)")

    def get(self, hashes: Sequence[bytes]) -> list[npt.NDArray[np.float32] | None]:
        """Return the vector of each text hash, None for one that was never embedded."""
        found: dict[bytes, bytes] = {}
        for first in range(0, len(hashes), 500):
            part = hashes[first : first + 500]
            marks = ",".join("?" * len(part))
            sql = f"SELECT hash, vector FROM vectors WHERE model=? AND hash IN ({marks})"  # noqa: S608 - marks only
            found.update(self._database.execute(sql, (self._model, *part)).fetchall())
        return [np.frombuffer(found[h], np.float32) if h in found else None for h in hashes]

    def put(self, hashes: Sequence[bytes], vectors: Vectors) -> None:
        """Keep vectors at once, so that a killed build need not embed them again."""
        with self._database:
            self._database.executemany(
                "INSERT OR IGNORE INTO vectors VALUES (?,?,?)",
                [(self._model, h, v.tobytes()) for h, v in zip(hashes, vectors, strict=True)],
            )

    def close(self) -> None:
        """Close the file."""
        self._database.close()

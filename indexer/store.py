"""The index on disk: generations of which one is current; one writer at a time; readers never wait.

STORE/current                 the name of the generation that readers open, replaced in one step
STORE/generations/NAME/       passages.sqlite, vectors.npy, columns.npy, body/, natural/, history/, chroma/;
                              at last manifest.json
STORE/vectors.sqlite          vectors by (model, text), so that nothing is embedded twice
STORE/lock                    held by the one writer, whose process stands in STORE/writer.json
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.arrays import mapped, read_array
from indexer.embed import Vectors
from indexer.errors import StoreError, not_written
from indexer.lexical import LexicalField
from indexer.records import Link, Relation
from indexer.repair import damaged, no_index, other_version
from indexer.shelf import Shelf

STORE_VERSION = 2
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
    # What decided the passages besides the commit: a build skips a corpus whose stamp and commit are those it has.
    stamp: str = ""


@dataclass(frozen=True, slots=True)
class StoreManifest:
    """What a generation holds and with what it was made."""

    model: str
    dimension: int
    versions: dict[str, str]
    kinds: tuple[str, ...]
    corpora: tuple[CorpusMark, ...]
    created_at: str
    # Versions of what was derived from the passages.
    parts: dict[str, int] = field(default_factory=dict)
    version: int = STORE_VERSION

    def write(self, folder: Path) -> None:
        """Write `manifest.json`."""
        (folder / "manifest.json").write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Links:
    """The links of an index as arrays: rows, and the number of each relation in `relations`."""

    source: npt.NDArray[np.int32]
    target: npt.NDArray[np.int32]
    relation: npt.NDArray[np.int32]
    relations: tuple[Relation, ...]

    @classmethod
    def of(cls, links: Sequence[Link]) -> Links:
        """Put links into arrays."""
        relations = tuple(dict.fromkeys(link.relation for link in links))
        numbers = {relation: number for number, relation in enumerate(relations)}
        table = np.array([(k.source, k.target, numbers[k.relation]) for k in links], np.int32).reshape(-1, 3)
        source, target, relation = np.ascontiguousarray(table.T)
        return cls(source, target, relation, relations)


class Generation:
    """One finished generation, opened for reading; everything large is mapped, not loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = read_store_manifest(folder)
        self.shelf = Shelf(folder / "passages.sqlite")
        try:
            self.vectors: Vectors = mapped(folder / "vectors.npy")
            self.columns: npt.NDArray[Any] = mapped(folder / "columns.npy")
            self.body = LexicalField(folder / "body")
            self.natural = LexicalField(folder / "natural")
            # By file, not by passage: what the commits that changed it say. Older indexes have none.
            self.history = LexicalField(folder / "history") if (folder / "history").exists() else None
        except (OSError, ValueError, EOFError) as error:
            raise damaged(folder, error) from error
        counts = {len(self.vectors), len(self.columns), self.body.count, self.natural.count}
        if len(counts) != 1:
            raise damaged(folder, sorted(counts))

    @cached_property
    def places(self) -> list[tuple[str, str]]:
        """Read the corpus and path of each file by its number in `columns`."""
        return self.shelf.places()

    @cached_property
    def file_numbers(self) -> npt.NDArray[np.int32]:
        """Return the number of each row's file; a column of `columns`, side by side for speed."""
        return np.ascontiguousarray(self.columns["file"])

    @cached_property
    def headers(self) -> npt.NDArray[np.bool_]:
        """Tell of each file whether it declares what others implement."""
        return np.asarray([path.endswith((".h", ".hpp")) for _, path in self.places], np.bool_)

    @cached_property
    def links(self) -> Links:
        """Read all links between passages."""
        return Links.of(self.shelf.links())


# The arrays of a generation with one item a passage, and the others, by field of words.
_ARRAYS = ("vectors.npy", "columns.npy")
_FIELDS = ("body", "natural")
_FIELD_ARRAYS = ("scores", "rows", "starts", "counts", "counts_words", "counts_starts")


def check_files(folder: Path, passages: int) -> None:
    """Raise `StoreError` where a file of a finished generation is missing, cut short, or of other passages.

    Arrays are mapped and only the ends of the vocabularies read: this is cheap, and finds what a disk or a copy lost.
    """
    try:
        counts = [len(mapped(folder / name)) for name in _ARRAYS]
        counts += [_check_field(folder, name) for name in _FIELDS]
        if (folder / "history").exists():  # older indexes have none
            _check_field(folder, "history")
    except (OSError, ValueError, EOFError, TypeError) as error:
        raise damaged(folder, error) from error
    if set(counts) != {passages}:
        raise damaged(folder, f"{sorted(set(counts))} != {passages}")


def _check_field(folder: Path, field_: str) -> int:
    """Return how many documents a field of words counts."""
    for name in _FIELD_ARRAYS:
        mapped(folder / field_ / f"{name}.npy")
    vocabulary = (folder / field_ / "words.json").read_bytes()
    if (vocabulary[:1], vocabulary[-1:]) != (b"{", b"}"):
        raise damaged(folder, folder / field_ / "words.json")
    return int(read_array(folder / field_ / "count.npy"))


def read_store_manifest(folder: Path) -> StoreManifest:
    """Read a generation's manifest; raises `StoreError` for one that is damaged or of another version."""
    try:
        table = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        found = table.get("version")
        if found != STORE_VERSION:
            raise other_version(folder, found, STORE_VERSION)
        marks = tuple(CorpusMark(**mark) for mark in table.pop("corpora"))
        return StoreManifest(**{**table, "kinds": tuple(table["kinds"]), "corpora": marks})
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise damaged(folder, error) from error


def current_folder(store: Path) -> Path | None:
    """Return the current generation's folder, None where nothing was built yet."""
    try:
        name = (store / "current").read_text(encoding="utf-8").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise damaged(store, error) from error
    if not name or "/" in name:
        raise damaged(store / "current", repr(name))
    return store / "generations" / name


def open_generation(store: Path) -> Generation:
    """Open what is current; raises `StoreError` where there is no index, or it is damaged."""
    for _ in range(3):  # the generation may be replaced and removed between the two steps
        folder = current_folder(store)
        if folder is None:
            raise no_index(store)
        try:
            return Generation(folder)
        except StoreError:
            if current_folder(store) == folder:
                raise
    raise damaged(store, "current")


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that writes an index, and since when."""

    pid: int
    since: str


@contextmanager
def writing(store: Path, *, wait_seconds: float, waiting: Callable[[Holder], None] = lambda _: None) -> Iterator[None]:
    """Hold the writer's lock; `waiting` is told once who has it when it is not free.

    Raises `StoreError` when another process keeps it for longer than `wait_seconds`, or the folder cannot be written.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - readers need no lock

    lock = FileLock(store / "lock")
    try:
        store.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            waiting(_holder(store))
            lock.acquire(timeout=wait_seconds)
        _write_whole(store / "writer.json", json.dumps({"pid": os.getpid(), "since": time.strftime("%H:%M:%S")}))
    except Timeout as error:
        holder = _holder(store)
        raise StoreError("index.locked", path=store, pid=holder.pid, since=holder.since) from error
    except OSError as error:
        lock.release()
        raise not_written(store, error) from error
    try:
        yield
    finally:
        (store / "writer.json").unlink(missing_ok=True)
        lock.release()


def _holder(store: Path) -> Holder:
    """Read who holds the lock; they may have it for so short a time that they have not said so."""
    try:
        table = json.loads((store / "writer.json").read_text(encoding="utf-8"))
        return Holder(int(table["pid"]), str(table["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Holder(0, "?")


@dataclass(frozen=True, slots=True)
class Generations:
    """The folders of a store: finished ones, oldest first, and what stopped builds left."""

    finished: tuple[Path, ...]
    unfinished: tuple[Path, ...]


def generations(store: Path) -> Generations:
    """List the generations of a store; a manifest is written last, so that one without is unfinished."""
    folder = store / "generations"
    found = list(folder.iterdir()) if folder.is_dir() else []
    made = {path: path / "manifest.json" for path in found}
    finished = sorted((p for p in found if made[p].is_file()), key=lambda p: (made[p].stat().st_mtime_ns, p.name))
    return Generations(tuple(finished), tuple(p for p in found if p not in finished))


@contextmanager
def new_generation(store: Path, *, keep: int) -> Iterator[Path]:
    """Give a folder for a new generation; made current when the block ends well, removed when it does not.

    Then `keep` generations stay, the new one among them. The lock must be held. Raises `StoreError` when the disk
    refuses.
    """
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:8]}"
    folder = store / "generations" / name
    try:
        _remove_stopped(store)
        folder.mkdir(parents=True)
        yield folder
        _settle(folder)
        make_current(store, name)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, (OSError, sqlite3.Error)):
            raise not_written(store, error) from error
        raise
    others = [path for path in generations(store).finished if path != folder]
    for older in others[: max(0, len(others) - keep + 1)]:
        shutil.rmtree(older, ignore_errors=True)


def tidy(store: Path) -> None:
    """Remove what a build left that was stopped while it took older generations away, unless a writer is at work."""
    if generations(store).unfinished:
        with suppress(StoreError), writing(store, wait_seconds=0.0):
            _remove_stopped(store)


def _remove_stopped(store: Path) -> None:
    for stopped in generations(store).unfinished:
        shutil.rmtree(stopped, ignore_errors=True)


def make_current(store: Path, name: str) -> None:
    """Let readers open the finished generation `name` from now on."""
    _write_whole(store / "current", name)


def _settle(folder: Path) -> None:
    """Let the disk hold all files of a generation before it is made current: the machine may lose its power."""
    for path in [*folder.rglob("*"), folder]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _write_whole(path: Path, text: str) -> None:
    """Write `text` so that `path` is the old or the new file, whatever happens."""
    made = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with made.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)


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

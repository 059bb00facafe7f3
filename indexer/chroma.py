"""The vectors in Chroma: the store that a server can hold. Only this module imports it.

What is written goes to Chroma's own engine (`chromadb_rust_bindings`) past its Python client, whose loading takes two
seconds: more than most updates have to write. It is read with the client, in tests, as others would read it.
"""

from __future__ import annotations

import json
import shutil
import stat
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indexer.arrays import mapped
from indexer.embed import Vectors
from indexer.errors import StoreError, not_written

COLLECTION = "passages"
VECTORS = "vectors.npy"
BATCH = 2000
# Chroma's default search finds 0.907 of the exact ten nearest among 30,000 vectors; with 200 candidates all but a few
# (0.998 of the ten nearest among 12,000 passages). Its default graph is enough for that, at half the time of a larger.
_HNSW = {"space": "cosine", "ef_construction": 100, "ef_search": 200, "max_neighbors": 16}
# As the client says it of a collection whose vectors come from elsewhere.
_CONFIGURATION = {"hnsw": _HNSW, "spann": None, "embedding_function": {"type": "legacy"}}
# hnswlib's header.bin as Chroma 1.5 writes it: version, offset, capacity, elements, bytes of an element.
_HEADER = struct.Struct("<i4Q")
_BYTES_OF_A_LENGTH = 4


@dataclass(frozen=True, slots=True)
class ChromaItem:
    """A passage as Chroma holds it: key, vector by row, and what can be filtered by."""

    key: str
    row: int
    facts: Mapping[str, str | int]


def write_chroma(
    folder: Path, items: Sequence[ChromaItem], gone: Sequence[str], previous: Path | None,
    tick: Callable[[int], None],
) -> None:  # fmt: skip
    """Put `items` into the collection in `folder`: a copy of `previous` without the keys in `gone`, where there is one.

    Their vectors lie beside the folder. Raises `StoreError` when it cannot be written.
    """
    with _translated(folder), _private(folder):
        if previous is not None:
            shutil.copytree(previous, folder, dirs_exist_ok=True)
            folder.chmod(stat.S_IRWXU)
            if not items and not gone:
                return
        collection = _Collection(folder)
        vectors: Vectors = mapped(folder.parent / VECTORS)
        for first in range(0, len(gone), BATCH):
            batch = gone[first : first + BATCH]
            collection.delete(batch)
            tick(len(batch))
        for first in range(0, len(items), BATCH):
            new = items[first : first + BATCH]
            collection.add(new, vectors[[item.row for item in new]])
            tick(len(new))


def query_chroma(folder: Path, vector: Vectors, count: int) -> list[tuple[str, float]]:
    """Return the nearest keys with their cosine similarity, best first."""
    import chromadb  # noqa: PLC0415 - 2 to 4 s
    from chromadb.config import Settings  # noqa: PLC0415 - as above

    with _translated(folder):
        client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        collection = client.get_collection(COLLECTION, embedding_function=None)
        found = collection.query(query_embeddings=vector[None, :], n_results=count, include=["distances"])
        distances = found["distances"]
        return [(key, 1.0 - d) for key, d in zip(found["ids"][0], distances[0] if distances else [], strict=True)]


@contextmanager
def _private(folder: Path) -> Iterator[None]:
    """Make a folder that nobody else can read until what Chroma wrote into it without need is wiped out."""
    folder.mkdir(mode=stat.S_IRWXU)
    yield
    _wipe_unused(folder)
    folder.chmod(stat.S_IMODE(folder.parent.stat().st_mode))


def _wipe_unused(folder: Path) -> None:
    """Overwrite the places of a collection that no vector uses.

    Chroma saves them as the memory was when it got it: it may have held a key, or another secret of the process.
    """
    for header in folder.glob("*/header.bin"):
        _version, _offset, _capacity, count, width = _HEADER.unpack_from(header.read_bytes())
        for name, bytes_ in (("data_level0.bin", width), ("length.bin", _BYTES_OF_A_LENGTH)):
            with (header.parent / name).open("r+b") as file:
                size = file.seek(0, 2)
                unused = file.seek(min(count * bytes_, size))
                file.write(bytes(size - unused))


class _Collection:
    """The collection in a folder, made where it is not there yet, open for writing."""

    def __init__(self, folder: Path) -> None:
        import chromadb_rust_bindings as engine  # noqa: PLC0415 - 50 MB of code; only writing the index needs it

        database = engine.SqliteDBConfig(
            url=str(folder / "chroma.sqlite3"), hash_type=engine.MigrationHash.MD5,
            migration_mode=engine.MigrationMode.Apply,
        )  # fmt: skip
        self._engine: Any = engine.Bindings(
            allow_reset=False, sqlite_db_config=database, persist_path=str(folder), hnsw_cache_size=1
        )
        made = self._engine.create_collection(COLLECTION, json.dumps(_CONFIGURATION), get_or_create=True)
        self._id = str(made.id)

    def add(self, items: Sequence[ChromaItem], vectors: Vectors) -> None:
        """Add items with their vectors."""
        facts = [dict(item.facts) for item in items]
        self._engine.add([item.key for item in items], self._id, vectors.tolist(), facts)

    def delete(self, keys: Sequence[str]) -> None:
        """Delete items by key."""
        self._engine.delete(self._id, list(keys))


class _translated:  # noqa: N801 - reads as a statement
    """Turns Chroma's and the disk's errors into ours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if error is None or isinstance(error, StoreError):
            return
        from chromadb.errors import ChromaError  # noqa: PLC0415 - loaded already when it was raised

        if isinstance(error, (ChromaError, OSError)):
            raise not_written(self.folder, error) from error

"""Passages and names on disk: one SQLite file a generation, written once, then only read (by many at a time)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indexer.errors import StoreError
from indexer.records import Passage, Relation
from indexer.symbols import Naming, Sort

_SCHEMA = """
CREATE TABLE passages(row INTEGER PRIMARY KEY, corpus TEXT, "commit" TEXT, path TEXT, first INTEGER, last INTEGER,
  kind TEXT, symbol TEXT, language TEXT, text TEXT, "natural" TEXT, ordinal INTEGER, key TEXT UNIQUE);
CREATE INDEX passages_place ON passages(corpus, path, first);
CREATE TABLE names(name TEXT, sort TEXT, relation TEXT, row INTEGER);
CREATE TABLE files(corpus TEXT, path TEXT, digest TEXT, chunker TEXT, parsed INTEGER, PRIMARY KEY(corpus, path));
CREATE TABLE former(corpus TEXT, commit12 TEXT, path TEXT, first INTEGER, last INTEGER, key TEXT,
  PRIMARY KEY(corpus, commit12, path, first, last)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class FileMark:
    """A file as it was indexed: its content's hash, the chunker that cut it, whether its grammar read it."""

    corpus: str
    path: str
    digest: str
    chunker: str
    parsed: bool


@dataclass(frozen=True, slots=True)
class FormerPlace:
    """Where a passage of today stood at an earlier commit, so that an old id still resolves."""

    corpus: str
    commit12: str
    path: str
    first: int
    last: int
    key: str


@dataclass(frozen=True, slots=True)
class Row:
    """A passage with its row number, by which the vectors and the lexical index know it."""

    row: int
    passage: Passage


def write_shelf(
    path: Path, passages: Sequence[Passage], namings: Iterable[Naming], files: Iterable[FileMark],
    former: Iterable[FormerPlace],
) -> None:  # fmt: skip
    """Write a new shelf; row numbers are the passages' positions."""
    with _writing(path) as database:
        database.executescript(_SCHEMA)
        database.executemany(
            "INSERT INTO passages VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                (row, p.corpus, p.commit, p.path, p.start_line, p.end_line, p.kind, p.symbol, p.language, p.text,
                 p.natural, p.ordinal, p.key)
                for row, p in enumerate(passages)
            ),
        )  # fmt: skip
        database.executemany(
            "INSERT INTO names VALUES (?,?,?,?)", ((n.name, n.sort, n.relation, n.row) for n in namings)
        )
        database.execute("CREATE INDEX names_name ON names(name, sort)")
        database.executemany(
            "INSERT INTO files VALUES (?,?,?,?,?)",
            ((f.corpus, f.path, f.digest, f.chunker, f.parsed) for f in files),
        )
        database.executemany(
            "INSERT OR REPLACE INTO former VALUES (?,?,?,?,?,?)",
            ((f.corpus, f.commit12, f.path, f.first, f.last, f.key) for f in former),
        )


@contextmanager
def _writing(path: Path) -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(path)
    try:
        database.execute("PRAGMA journal_mode=OFF")  # the whole generation is thrown away if this fails
        database.execute("PRAGMA synchronous=OFF")
        with database:
            yield database
    except sqlite3.Error as error:
        raise StoreError("index.cannot_write", path=path, reason=error) from error
    finally:
        database.close()


class Shelf:
    """Reads one generation's passages; raises `StoreError` where the file is missing or damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            # A finished generation never changes, so no lock is needed and a read-only folder will do.
            self._database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        except sqlite3.Error as error:
            raise StoreError("index.damaged", path=path, reason=error) from error

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def rows(self, numbers: Sequence[int]) -> list[Row]:
        """Return passages by row number, in the order asked."""
        found = (self._ask("SELECT * FROM passages WHERE row=?", (number,)) for number in numbers)
        return [_row(records[0]) for records in found if records]

    def all_passages(self, corpus: str) -> Iterator[Passage]:
        """Yield a corpus's passages in order."""
        for record in self._ask("SELECT * FROM passages WHERE corpus=? ORDER BY row", (corpus,)):
            yield _row(record).passage

    def by_key(self, key: str) -> Row | None:
        """Return the passage stored under `key`."""
        found = self._ask("SELECT * FROM passages WHERE key=?", (key,))
        return _row(found[0]) if found else None

    def by_place(self, corpus: str, path: str, first: int, last: int) -> list[Row]:
        """Return the passages of a file that overlap lines `first..last`."""
        sql = "SELECT * FROM passages WHERE corpus=? AND path=? AND first<=? AND last>=? ORDER BY first"
        return [_row(r) for r in self._ask(sql, (corpus, path, last, first))]

    def former_key(self, corpus: str, commit12: str, path: str, first: int, last: int) -> str | None:
        """Return the key of the passage that stood there at an earlier commit, if its text is still here."""
        sql = "SELECT key FROM former WHERE corpus=? AND commit12=? AND path=? AND first=? AND last=?"
        found = self._ask(sql, (corpus, commit12, path, first, last))
        return str(found[0][0]) if found else None

    def former_places(self) -> list[FormerPlace]:
        """Return all earlier places."""
        return [FormerPlace(*r) for r in self._ask("SELECT corpus, commit12, path, first, last, key FROM former", ())]

    def files(self, corpus: str) -> dict[str, FileMark]:
        """Return the files of a corpus by path."""
        sql = "SELECT corpus, path, digest, chunker, parsed FROM files WHERE corpus=?"
        return {r[1]: FileMark(r[0], r[1], r[2], r[3], bool(r[4])) for r in self._ask(sql, (corpus,))}

    def paths_ending(self, tail: str) -> list[int]:
        """Return the rows of files whose path is, or ends with, `tail`."""
        escaped = tail.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        sql = "SELECT corpus, path FROM files WHERE path=? OR path LIKE ? ESCAPE '\\'"
        places = self._ask(sql, (tail, f"%/{escaped}"))
        found = (
            self._ask("SELECT row FROM passages WHERE corpus=? AND path=? ORDER BY first", place) for place in places
        )
        return [int(record[0]) for records in found for record in records]

    def named(self, name: str, sort: Sort) -> list[tuple[int, Relation]]:
        """Return the rows that `name` stands in, with what each is to it."""
        sql = "SELECT row, relation FROM names WHERE name=? AND sort=? ORDER BY row"
        return [(int(r[0]), r[1]) for r in self._ask(sql, (name, sort))]

    def names(self, sort: Sort) -> list[str]:
        """Return all names of a sort."""
        return [str(r[0]) for r in self._ask("SELECT DISTINCT name FROM names WHERE sort=?", (sort,))]

    def _ask(self, sql: str, values: Sequence[Any]) -> list[Any]:
        try:
            return self._database.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError("index.damaged", path=self._path, reason=error) from error


def _row(record: Sequence[Any]) -> Row:
    return Row(int(record[0]), Passage(*record[1:12]))

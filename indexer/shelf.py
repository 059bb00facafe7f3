"""Passages and names on disk: one SQLite file a generation; an update edits a copy, then it is only read (by many).

Rows are numbered in the order of corpus, path and line; the vectors and the lexical index know a passage by its row.
A passage keeps its `id` through updates and its commit is that of its corpus, so that an update rewrites only what
changed: the numbering stands in a slim table of its own.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indexer.errors import not_written
from indexer.records import Link, Naming, Passage, Relation, Sort
from indexer.repair import damaged

# `since` numbers the first commit (of `commits`) at which a file had its content; `former` tells where a passage of
# today stood at the commits `oldest..newest`, in files that have changed since; `history` what commits say of a file.
_SCHEMA = """
CREATE TABLE passages(id INTEGER PRIMARY KEY, corpus TEXT, path TEXT, first INTEGER, last INTEGER, kind TEXT,
  symbol TEXT, language TEXT, text TEXT, "natural" TEXT, ordinal INTEGER, key TEXT);
CREATE INDEX passages_place ON passages(corpus, path, first, kind);
CREATE UNIQUE INDEX passages_key ON passages(key);
CREATE TABLE files(corpus TEXT, path TEXT, digest TEXT, chunker TEXT, failure TEXT, since INTEGER,
  PRIMARY KEY(corpus, path)) WITHOUT ROWID;
CREATE TABLE commits(corpus TEXT, number INTEGER, "commit" TEXT, PRIMARY KEY(corpus, number)) WITHOUT ROWID;
CREATE TABLE former(corpus TEXT, path TEXT, first INTEGER, last INTEGER, newest INTEGER, oldest INTEGER, key TEXT,
  PRIMARY KEY(corpus, path, first, last, newest)) WITHOUT ROWID;
CREATE INDEX former_key ON former(key);
"""
# Not in the shelves of older indexes.
_HISTORY = """
CREATE TABLE IF NOT EXISTS history(corpus TEXT, path TEXT, told TEXT, PRIMARY KEY(corpus, path)) WITHOUT ROWID;
"""
_ROWS = """
DROP TABLE IF EXISTS rows;
CREATE TABLE rows(row INTEGER PRIMARY KEY, id INTEGER);
INSERT INTO rows SELECT row_number() OVER (ORDER BY corpus, path, first, id) - 1, id FROM passages;
CREATE UNIQUE INDEX rows_id ON rows(id);
CREATE INDEX IF NOT EXISTS passages_sorts ON passages(corpus, kind, language);
"""
_NAMES = """
DROP TABLE IF EXISTS names;
DROP TABLE IF EXISTS links;
CREATE TABLE names(name TEXT, sort TEXT, relation TEXT, row INTEGER);
CREATE TABLE links(source INTEGER, target INTEGER, relation TEXT);
"""
_NAME_INDEXES = """
CREATE INDEX names_name ON names(sort, name);
CREATE INDEX names_row ON names(row);
"""
_COLUMNS = 'row, corpus, path, first, last, kind, symbol, language, text, "natural", ordinal'


@dataclass(frozen=True, slots=True)
class FileMark:
    """A file as it was indexed: its content's hash, the chunker that cut it, and why its grammar did not read it.

    `failure` is empty for a file that was read well, `windows` for one cut by lines, `binary` for one left out.
    """

    corpus: str
    path: str
    digest: str
    chunker: str
    failure: str
    since: int


@dataclass(frozen=True, slots=True)
class FormerPlace:
    """Where a passage of today stood at the commits numbered `oldest..newest`, so that an old id still resolves."""

    corpus: str
    path: str
    first: int
    last: int
    newest: int
    oldest: int
    key: str


@dataclass(frozen=True, slots=True)
class Row:
    """A passage with its row number, by which the vectors and the lexical index know it."""

    row: int
    passage: Passage


@dataclass(frozen=True, slots=True)
class Tally:
    """How many passages of one kind and language a corpus has."""

    corpus: str
    kind: str
    language: str
    passages: int


class ShelfWriter:
    """Edits the shelf of a generation that nobody reads yet."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def create(self) -> None:
        """Make the tables."""
        self._database.executescript(_SCHEMA + _HISTORY)

    def complete(self) -> None:
        """Make the tables that an older shelf lacks."""
        self._database.executescript(_HISTORY)

    def set_commit(self, corpus: str, number: int, commit: str, *, kept: int) -> None:
        """Make `commit` the newest of a corpus, and forget places older than `kept` commits."""
        oldest = number - kept
        self._database.execute("INSERT OR REPLACE INTO commits VALUES (?,?,?)", (corpus, number, commit))
        self._database.execute("DELETE FROM commits WHERE corpus=? AND number<?", (corpus, oldest))
        self._database.execute("DELETE FROM former WHERE corpus=? AND newest<?", (corpus, oldest))

    def remove(self, ids: Iterable[int]) -> None:
        """Take passages away."""
        self._database.executemany("DELETE FROM passages WHERE id=?", ((id_,) for id_ in ids))

    def shift(self, places: Iterable[tuple[int, int, int]]) -> None:
        """Set the lines of passages that stand elsewhere in their file now: id, first, last."""
        sql = "UPDATE passages SET first=?, last=? WHERE id=?"
        self._database.executemany(sql, ((first, last, id_) for id_, first, last in places))

    def add(self, passages: Iterable[tuple[int, Passage]]) -> None:
        """Add passages under ids that were never used."""
        self._database.executemany(
            "INSERT INTO passages VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                (id_, p.corpus, p.path, p.start_line, p.end_line, p.kind, p.symbol, p.language, p.text, p.natural,
                 p.ordinal, p.key)
                for id_, p in passages
            ),
        )  # fmt: skip

    def set_files(self, corpus: str, gone: Iterable[str], marks: Iterable[FileMark]) -> None:
        """Forget the files that are gone and set those that were read."""
        self._database.executemany("DELETE FROM files WHERE corpus=? AND path=?", ((corpus, path) for path in gone))
        self._database.executemany(
            "INSERT OR REPLACE INTO files VALUES (?,?,?,?,?,?)",
            ((f.corpus, f.path, f.digest, f.chunker, f.failure, f.since) for f in marks),
        )

    def set_former(self, lost: Iterable[str], moved: Iterable[tuple[str, str]], places: Iterable[FormerPlace]) -> None:
        """Forget the places of texts that are lost, follow those that have another key now, and add `places`."""
        self._database.executemany("UPDATE former SET key=? WHERE key=?", ((new, old) for old, new in moved))
        self._database.executemany("DELETE FROM former WHERE key=?", ((key,) for key in lost))
        self._database.executemany(
            "INSERT OR REPLACE INTO former VALUES (?,?,?,?,?,?,?)",
            ((f.corpus, f.path, f.first, f.last, f.newest, f.oldest, f.key) for f in places),
        )

    def set_history(self, corpus: str, told: Mapping[str, str]) -> None:
        """Replace what commits say of a corpus's files."""
        self._database.execute("DELETE FROM history WHERE corpus=?", (corpus,))
        self._database.executemany("INSERT INTO history VALUES (?,?,?)", ((corpus, *item) for item in told.items()))

    def forget(self, corpus: str) -> None:
        """Take a whole corpus away, with its commits and with what leads from them to today."""
        for table in ("passages", "files", "commits", "former", "history"):
            self._database.execute(f"DELETE FROM {table} WHERE corpus=?", (corpus,))  # noqa: S608 - our own words

    def number_rows(self) -> list[int]:
        """Number the passages in the order of corpus, path and line; return their ids in that order."""
        self._database.executescript(_ROWS)
        return [id_ for (id_,) in self._database.execute("SELECT id FROM rows ORDER BY row")]

    def set_names(self, namings: Iterable[Naming], links: Iterable[Link]) -> None:
        """Replace all names and links."""
        self._database.executescript(_NAMES)
        self._database.executemany("INSERT INTO names(name, sort, relation, row) VALUES (?,?,?,?)", namings)
        self._database.executemany("INSERT INTO links(source, target, relation) VALUES (?,?,?)", links)
        self._database.executescript(_NAME_INDEXES)


def begin_shelf(path: Path, previous: Path | None) -> None:
    """Make a shelf at `path`, a copy of `previous` where there is one; raises `StoreError` when the disk refuses."""
    if previous is None:
        with editing(path) as shelf:
            shelf.create()
        return
    try:
        shutil.copyfile(previous, path)
    except OSError as error:
        raise not_written(path, error) from error
    with editing(path) as shelf:
        shelf.complete()


@contextmanager
def editing(path: Path) -> Iterator[ShelfWriter]:
    """Open the shelf of an unfinished generation; raises `StoreError` when the disk refuses."""
    database = sqlite3.connect(path)
    try:
        database.execute("PRAGMA journal_mode=OFF")  # the whole generation is thrown away if this fails
        database.execute("PRAGMA synchronous=OFF")
        with database:
            yield ShelfWriter(database)
    except sqlite3.Error as error:
        raise not_written(path, error) from error
    finally:
        database.close()


class Shelf:
    """Reads one generation's passages; raises `StoreError` where the file is missing or damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            # A finished generation never changes, so no lock is needed and a read-only folder will do.
            # Several threads may read: SQLite is built to serialise them (sqlite.org/threadsafe.html).
            uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
            self._database = sqlite3.connect(uri, uri=True, check_same_thread=False)
        except sqlite3.Error as error:
            raise damaged(path, error) from error
        newest = self._ask('SELECT corpus, "commit", max(number) FROM commits GROUP BY corpus', ())
        self._commits = {str(record[0]): str(record[1]) for record in newest}

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def rows(self, numbers: Sequence[int]) -> list[Row]:
        """Return passages by row number, in the order asked."""
        found = (self._passages("row=?", (number,)) for number in numbers)
        return [rows[0] for rows in found if rows]

    def everything(self) -> list[Row]:
        """Return all passages by row number."""
        return self._passages("1 ORDER BY row", ())

    def naturals(self) -> list[str]:
        """Return the natural language of all passages by row."""
        return [str(r[0]) for r in self._ask('SELECT "natural" FROM rows JOIN passages USING(id) ORDER BY row', ())]

    def all_passages(self, corpus: str) -> Iterator[Passage]:
        """Yield a corpus's passages by file and line."""
        return (row.passage for row in self._passages("corpus=? ORDER BY row", (corpus,)))

    def of_files(self, corpus: str, paths: Iterable[str]) -> list[tuple[int, Row]]:
        """Return the passages of whole files, each with its id."""
        sql = f"SELECT id, {_COLUMNS} FROM passages JOIN rows USING(id) WHERE corpus=? AND path=?"  # noqa: S608 - as below
        records = (record for path in paths for record in self._ask(sql, (corpus, path)))
        return [(int(record[0]), self._row(record[1:])) for record in records]

    def ids(self) -> list[int]:
        """Return the ids of all passages by row."""
        return [int(record[0]) for record in self._ask("SELECT id FROM rows ORDER BY row", ())]

    def by_key(self, key: str) -> Row | None:
        """Return the passage stored under `key`."""
        found = self._passages("key=?", (key,))
        return found[0] if found else None

    def by_place(self, corpus: str, path: str, first: int, last: int) -> list[Row]:
        """Return the passages of a file that overlap lines `first..last`."""
        return self._passages(
            "corpus=? AND path=? AND first<=? AND last>=? ORDER BY first", (corpus, path, last, first)
        )

    def former_key(self, corpus: str, commit12: str, path: str, first: int, last: int) -> str | None:
        """Return the key of the passage that stood there at an earlier commit, if its text is still here.

        Any lines inside one passage will do in a file that has not changed since; else they must be a passage's own.
        """
        number = self.number_of(corpus, commit12)
        if number is None:
            return None
        sql = "SELECT key FROM former WHERE corpus=? AND path=? AND first=? AND last=? AND ? BETWEEN oldest AND newest"
        if found := self._ask(sql, (corpus, path, first, last, number)):
            return str(found[0][0])
        sql = (
            "SELECT key FROM passages JOIN files USING(corpus, path) "
            "WHERE corpus=? AND path=? AND first<=? AND last>=? AND since<=?"
        )
        found = self._ask(sql, (corpus, path, first, last, number))
        return str(found[0][0]) if found else None

    def number_of(self, corpus: str, commit: str) -> int | None:
        """Return the number of a commit that the corpus stood at, given in full or by its first digits."""
        sql = 'SELECT max(number) FROM commits WHERE corpus=? AND substr("commit", 1, ?)=?'
        ((number,),) = self._ask(sql, (corpus, len(commit), commit))
        return None if number is None else int(number)

    def newest_number(self, corpus: str) -> int:
        """Return the number of the corpus's commit; commits count from 1, a corpus that is not here has 0."""
        ((number,),) = self._ask("SELECT max(number) FROM commits WHERE corpus=?", (corpus,))
        return int(number or 0)

    def commit_before(self, corpus: str) -> str | None:
        """Return the commit at which the corpus stood before, None where it is not known."""
        sql = 'SELECT "commit" FROM commits WHERE corpus=? ORDER BY number DESC LIMIT 1 OFFSET 1'
        found = self._ask(sql, (corpus,))
        return str(found[0][0]) if found else None

    def files(self, corpus: str) -> dict[str, FileMark]:
        """Return the files of a corpus by path."""
        sql = "SELECT corpus, path, digest, chunker, failure, since FROM files WHERE corpus=?"
        return {str(r[1]): FileMark(*r) for r in self._ask(sql, (corpus,))}

    def columns(self) -> list[tuple[str, str, str]]:
        """Return corpus, path and kind of every row, in order."""
        sql = "SELECT corpus, path, kind FROM passages ORDER BY corpus, path, first, id"
        return [(r[0], r[1], r[2]) for r in self._ask(sql, ())]

    def count(self) -> int:
        """Return the number of passages."""
        ((number,),) = self._ask("SELECT count(*) FROM passages", ())
        return int(number)

    def tally(self) -> list[Tally]:
        """Return how many passages there are of each corpus, kind and language."""
        sql = "SELECT corpus, kind, language, count(*) FROM passages GROUP BY corpus, kind, language"
        return [Tally(*record) for record in self._ask(sql, ())]

    def paths_ending(self, tail: str) -> list[int]:
        """Return the rows of files whose path is, or ends with, `tail`."""
        escaped = tail.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        sql = "SELECT corpus, path FROM files WHERE path=? OR path LIKE ? ESCAPE '\\'"
        places = self._ask(sql, (tail, f"%/{escaped}"))
        sql = "SELECT row FROM passages JOIN rows USING(id) WHERE corpus=? AND path=? ORDER BY first"
        found = (self._ask(sql, place) for place in places)
        return [int(record[0]) for records in found for record in records]

    def named(self, name: str, sort: Sort) -> list[tuple[int, Relation]]:
        """Return the rows that `name` stands in, with what each is to it."""
        sql = "SELECT row, relation FROM names WHERE name=? AND sort=? ORDER BY row"
        return [(int(r[0]), r[1]) for r in self._ask(sql, (name, sort))]

    def names(self, sort: Sort) -> list[str]:
        """Return all names of a sort."""
        return [str(r[0]) for r in self._ask("SELECT DISTINCT name FROM names WHERE sort=?", (sort,))]

    def namings(self, row: int) -> list[Naming]:
        """Return all that a passage is, to whatever it speaks of."""
        sql = "SELECT name, sort, relation, row FROM names WHERE row=? ORDER BY rowid"
        return [Naming(*r) for r in self._ask(sql, (row,))]

    def links(self) -> list[Link]:
        """Return all links between passages."""
        return [Link(*record) for record in self._ask("SELECT source, target, relation FROM links", ())]

    def places(self) -> list[tuple[str, str]]:
        """Return corpus and path of every file that has passages, in the order of the rows."""
        found = self._ask("SELECT DISTINCT corpus, path FROM passages ORDER BY corpus, path", ())
        return [(r[0], r[1]) for r in found]

    def history(self) -> list[str]:
        """Return what commits say of every file that has passages, in the order of `places`."""
        told = {(r[0], r[1]): str(r[2]) for r in self._ask("SELECT corpus, path, told FROM history", ())}
        return [told.get(place, "") for place in self.places()]

    def _passages(self, where: str, values: Sequence[Any]) -> list[Row]:
        sql = f"SELECT {_COLUMNS} FROM passages JOIN rows USING(id) WHERE {where}"  # noqa: S608 - our own words
        return [self._row(record) for record in self._ask(sql, values)]

    def _row(self, record: Sequence[Any]) -> Row:
        return Row(int(record[0]), Passage(record[1], self._commits[record[1]], *record[2:]))

    def _ask(self, sql: str, values: Sequence[Any]) -> list[Any]:
        try:
            return self._database.execute(sql, values).fetchall()
        except UnicodeEncodeError:  # a name that is no text stands nowhere
            return []
        except sqlite3.Error as error:
            raise damaged(self._path, error) from error

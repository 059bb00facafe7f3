"""A run on disk: an append-only journal, the candidates, the best kernel; what is there is whole and resumable."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import ValidationError

from agent.contract import Doc, OptimizeDoc, RoundDoc
from agent.ladder import ROUNDS, Ladder
from agent.records import KernelSource
from indexer.errors import FULL, BadInput, StoreError

JOURNAL = "journal.jsonl"
INITIAL = "initial.py"
BEST = "best.py"
RESULT = "run.json"


EXCHANGES = "exchanges.jsonl"


class StartDoc(Doc):
    """The first line of a journal: what the run is about.

    `lessons` counts what the store had learnt when the run began; a run that goes on knows no more.
    """

    kind: str = "start"
    file: str
    sha256: str
    target: str
    rounds: int
    model: str = ""
    ladder: Ladder = "full"
    lessons: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a run is made: those that must be the same when it goes on."""

    target: str
    rounds: int = ROUNDS
    model: str = ""
    ladder: Ladder = "full"
    lessons: int = 0


@dataclass(frozen=True, slots=True)
class Past:
    """What a journal tells of a run: its rounds so far and the source of its best kernel."""

    rounds: tuple[RoundDoc, ...]
    best_round: int
    best_text: str
    candidates: tuple[str, ...]


def digest(text: str) -> str:
    """Return the sha256 of a source text."""
    return hashlib.sha256(text.encode()).hexdigest()


def write_whole(path: Path, text: str) -> None:
    """Write `text` so that `path` is either the old or the new file, whatever happens; raises `StoreError`."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):  # there may be no folder to remove it from
            part.unlink(missing_ok=True)
        raise _not_written(path, error) from error


def _not_written(path: Path, error: OSError) -> StoreError:
    key = "journal.disk_full" if error.errno in FULL else "journal.not_written"
    return StoreError(key, path=path, reason=error.strerror)


class Journal:
    """One run in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def best(self) -> Path:
        """Return the file that holds the best kernel so far."""
        return self.folder / BEST

    @property
    def exchanges(self) -> Path:
        """Return the file that holds what was said with a model."""
        return self.folder / EXCHANGES

    def begin(self, source: KernelSource, terms: Terms) -> None:
        """Start a run; raises `BadInput` when the folder already holds one."""
        if (self.folder / JOURNAL).exists():
            raise BadInput("journal.exists", folder=self.folder)
        write_whole(self.folder / INITIAL, source.text)
        write_whole(self.best, source.text)
        self._append(StartDoc(file=str(source.path), sha256=digest(source.text), **asdict(terms)))

    def resume(self, source: KernelSource, terms: Terms) -> Past:
        """Read the rounds of an earlier run; raises `BadInput` when it is not a run of this file on these terms."""
        start, rounds = self.read()
        self._check(start, source, terms)
        tried = [r.n for r in rounds if r.rewrite is not None]
        if any(not self.candidate(n).exists() for n in tried):
            raise BadInput("journal.damaged", folder=self.folder)
        texts = {n: self.candidate(n).read_text(encoding="utf-8") for n in tried}
        kept = [r.n for r in rounds if r.verdict == "kept"]
        best = kept[-1] if kept else 0
        text = texts[best] if kept else source.text
        write_whole(self.best, text)
        return Past(rounds, best, text, tuple(texts.values()))

    def start(self) -> StartDoc:
        """Return what a run was begun with; raises `BadInput` where there is none, or it cannot be read."""
        return self.read()[0]

    def _check(self, start: StartDoc, source: KernelSource, terms: Terms) -> None:
        if start.sha256 != digest(source.text):
            raise BadInput("journal.other_file", folder=self.folder, file=start.file)
        if start.target != terms.target:
            raise BadInput("journal.other_target", folder=self.folder, target=start.target)
        if start.ladder != terms.ladder:
            raise BadInput("journal.other_ladder", folder=self.folder, ladder=start.ladder)
        if start.model and start.model != terms.model:
            raise BadInput("journal.other_model", folder=self.folder, model=start.model)

    def candidate(self, number: int) -> Path:
        """Return the file of the candidate of round `number`."""
        return self.folder / "rounds" / f"{number:02d}" / "candidate.py"

    def record(self, entry: RoundDoc, candidate: str | None) -> None:
        """Keep one round: the candidate first, then the journal line that makes it count, then the best kernel.

        A round for which nobody proposed anything has no candidate.
        """
        if candidate is not None:
            write_whole(self.candidate(entry.n), candidate)
        self._append(entry)
        if entry.verdict == "kept" and candidate is not None:
            write_whole(self.best, candidate)

    def finish(self, result: OptimizeDoc) -> None:
        """Write the result of the run."""
        write_whole(self.folder / RESULT, json.dumps(result.to_json(), ensure_ascii=False, indent=1))

    def read(self) -> tuple[StartDoc, tuple[RoundDoc, ...]]:
        """Return the start and the whole rounds; raises `BadInput` for a damaged journal, or none."""
        start, *rounds = self._lines()
        try:
            read = StartDoc.model_validate_json(start), tuple(RoundDoc.model_validate_json(line) for line in rounds)
        except ValidationError as error:
            raise BadInput("journal.damaged", folder=self.folder) from error
        return read

    def _append(self, entry: Doc) -> None:
        path = self.folder / JOURNAL
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry.to_json(), ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _not_written(path, error) from error

    def _lines(self) -> list[str]:
        """Return the whole lines of the journal; a last line cut by a crash is removed, its round runs again."""
        path = self.folder / JOURNAL
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        *whole, cut = text.split("\n")
        if not whole:
            raise BadInput("journal.missing", folder=self.folder)
        if cut:
            write_whole(path, "\n".join(whole) + "\n")
        return whole

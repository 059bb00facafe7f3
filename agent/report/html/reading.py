"""Run folders as they lie on disk, read without changing them: finished, still going, or damaged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from agent.contract import Doc, OptimizeDoc, RoundDoc
from agent.journal import BEST, INITIAL, JOURNAL, RESULT, StartDoc
from indexer.errors import BadInput
from indexer.messages import Message

D = TypeVar("D", bound=Doc)


@dataclass(frozen=True, slots=True)
class SeenRun:
    """What a run folder holds; `result` is None while the run is unfinished, or went on after its result."""

    folder: Path
    file: str
    target: str
    asked_rounds: int
    model: str
    ladder: str
    rounds: tuple[RoundDoc, ...]
    result: OptimizeDoc | None

    @property
    def initial_text(self) -> str | None:
        """Return the kernel that the run began with."""
        return _text(self.folder / INITIAL)

    @property
    def best_text(self) -> str | None:
        """Return the best kernel so far."""
        return _text(self.folder / BEST)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A run folder beside others that cannot be read, and why."""

    folder: Path
    note: Message


Seen = SeenRun | Unreadable


def read_runs(folder: Path) -> tuple[Seen, ...]:
    """Read the run in `folder`, or those in the folders in it; raises `BadInput` when there is none."""
    if not folder.exists():
        raise BadInput("html.no_folder", path=folder, near=_near(folder.parent))
    if not folder.is_dir():
        raise BadInput("html.not_folder", path=folder, folder=folder.parent)
    if _is_run(folder):
        return (_read_run(folder),)
    found = tuple(_read_or_tell(inner) for inner in sorted(folder.iterdir()) if inner.is_dir() and _is_run(inner))
    if not found:
        raise BadInput("html.no_run", path=folder)
    return found


def _is_run(folder: Path) -> bool:
    return (folder / JOURNAL).is_file() or (folder / RESULT).is_file()


def _near(parent: Path) -> str:
    """Name some runs that are where one was looked for."""
    runs = [str(p) for p in sorted(parent.iterdir()) if p.is_dir() and _is_run(p)] if parent.is_dir() else []
    return ", ".join(runs[:5]) or "-"


def _read_or_tell(folder: Path) -> Seen:
    try:
        return _read_run(folder)
    except BadInput as error:
        return Unreadable(folder, error.note)


def _read_run(folder: Path) -> SeenRun:
    result = _read_result(folder / RESULT)
    start, rounds = _read_journal(folder / JOURNAL)
    if start is None:
        if result is None:
            raise BadInput("html.nothing_yet", folder=folder)
        model = result.model.name if result.model is not None else ""
        rounds = tuple(result.rounds)
        return SeenRun(folder, result.file, result.target, len(rounds), model, result.ladder, rounds, result)
    # A finished run that was resumed has an old result until it ends again.
    if result is not None and len(result.rounds) < len(rounds):
        result = None
    return SeenRun(folder, start.file, start.target, start.rounds, start.model, start.ladder, rounds, result)


def _read_result(path: Path) -> OptimizeDoc | None:
    if not path.is_file():
        return None
    try:
        return OptimizeDoc.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise BadInput("html.bad_result", path=path, reason=_reason(error), journal=JOURNAL) from error


def _read_journal(path: Path) -> tuple[StartDoc | None, tuple[RoundDoc, ...]]:
    """Read the whole lines; one that is still being written, or was cut by a crash, is not there yet."""
    if not path.is_file():
        return None, ()
    *whole, _cut = path.read_bytes().split(b"\n")
    if not whole:
        return None, ()
    rounds = [_read_line(RoundDoc, path, number, line) for number, line in enumerate(whole[1:], 2)]
    return _read_line(StartDoc, path, 1, whole[0]), tuple(rounds)


def _read_line(kind: type[D], path: Path, number: int, line: bytes) -> D:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        raise BadInput("html.bad_line", path=path, line=number, reason=_reason(error)) from error


def _reason(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None

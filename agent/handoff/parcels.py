"""What goes into a bundle: a kernel file with its configurations, or a run with what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from agent.configurations.candidates import Made, make_candidates
from agent.handoff.make import Offer, Parcel
from agent.journal import INITIAL, JOURNAL, Journal
from agent.records import Entry
from agent.request import read_source
from indexer.errors import BadInput

Prune = Callable[[Path, list[Made]], Iterable[Made]]


def parcel_of(path: Path, target: str, experts: Path | None, most: int, prune: Prune | None = None) -> Parcel:
    """Return the parcel of a kernel file, or of a run's folder; raises `BadInput` for what cannot be measured.

    `prune` leaves out configurations that need no device to be told useless.
    """
    if path.is_dir():
        return _run_parcel(path, target, most, prune)
    text = read_source(path, Entry()).text
    _check_form(path, text)
    beside = None if experts is None else experts / path.name
    expert = beside.read_text(encoding="utf-8") if beside is not None and beside.is_file() else ""
    return Parcel(path.stem, text, expert, tuple(_configured(path, text, target, most, prune)))


def _run_parcel(folder: Path, target: str, most: int, prune: Prune | None) -> Parcel:
    """Offer what a run kept or held for right, and configurations of the best of it."""
    if not (folder / JOURNAL).is_file():
        raise BadInput("handoff.no_run", folder=folder)
    journal = Journal(folder)
    start, rounds = journal.read()
    if start.target != target:
        raise BadInput("journal.other_target", folder=folder, target=start.target)
    initial = (folder / INITIAL).read_text(encoding="utf-8")
    _check_form(folder / INITIAL, initial)
    offers = [
        Offer(journal.candidate(r.n).read_text(encoding="utf-8"), f"round {r.n} {r.rewrite.name}")
        for r in rounds
        if r.rewrite is not None and r.verdict in {"kept", "slower"} and journal.candidate(r.n).is_file()
    ]
    best = journal.best.read_text(encoding="utf-8")
    seen = {initial, *(offer.text for offer in offers)}
    configured = _configured(journal.best, best, target, most, prune)
    offers += [offer for offer in configured if offer.text not in seen]
    return Parcel(Path(start.file).stem, initial, "", tuple(offers))


def _configured(path: Path, text: str, target: str, most: int, prune: Prune | None) -> Iterator[Offer]:
    """Yield configurations; what is known of good ones is known of CUDA devices only."""
    if target.startswith("cuda"):
        made = make_candidates(text, most)
        yield from (Offer(m.text, m.note) for m in (made if prune is None else prune(path, made)))


def _check_form(path: Path, text: str) -> None:
    """Raise for a file that a device machine could not run by itself."""
    missing = [name for name in ("make_inputs", "run", "reference") if f"def {name}(" not in text]
    if missing:
        raise BadInput("handoff.form", path=path, missing=", ".join(missing))

"""`tritonkb index diff`: what a new version of the compiler's source changed, and which evidence it took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import Session
from agent.cli.output import Output
from indexer.messages import Message, message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.difference_documents import ChangesDoc, DifferenceDoc, ExpiredDoc, ThingDoc

SHOWN = 12  # of each list; all with --json
SHOWN_PASSAGES = 4


def diff(
    session: Session,
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="difference.corpus_help")],
    old: Annotated[str, typer.Argument(metavar="OLD", help="difference.old_help")] = "previous",
    new: Annotated[str, typer.Argument(metavar="NEW", help="difference.new_help")] = "current",
    only: Annotated[str | None, typer.Option("--pass", metavar="P", help="difference.pass_help")] = None,
    runs: Annotated[list[Path] | None, typer.Option("--runs", metavar="DIR", help="difference.runs_help")] = None,
) -> int:
    """Compare two versions of a corpus."""
    from agent import difference, knowledge  # noqa: PLC0415 - numpy and the grammars are not for --help
    from agent.difference_documents import difference_doc  # noqa: PLC0415 - as above

    asked = difference.Asked(corpus, old, new, tuple(runs or ()), only)
    found = difference.diff(knowledge.store_folder(session.settings.store), asked)
    doc = difference_doc(found)
    lines = list(_lines(session.output, doc))
    session.output.answer(doc.to_json(), lambda console: console.print("\n".join(lines), soft_wrap=True, markup=False))
    return 0


def _lines(output: Output, doc: DifferenceDoc) -> Iterator[str]:
    yield output.text(message("difference.title", corpus=doc.corpus, old=doc.old[:12], new=doc.new[:12]))
    for sort, changes in (("passes", doc.passes), ("ops", doc.ops), ("options", doc.options)):
        yield ""
        yield from _changes(output, sort, changes)
    yield ""
    yield from _evidence(output, doc)
    if doc.unreadable_runs:
        yield output.text(message("difference.unreadable", paths=", ".join(doc.unreadable_runs)))


def _evidence(output: Output, doc: DifferenceDoc) -> Iterator[str]:
    expired = [e for e in doc.expired_evidence if e.change != "unknown"]
    values = {"expired": len(expired), "moved": len(doc.moved_evidence)}
    yield output.text(message("difference.evidence" if expired else "difference.evidence_none", **values))
    for run, found in groupby(expired, key=lambda e: e.run):
        yield f"  {run}"
        yield from (f"    {output.text(_expired(e))}" for e in found)
    unknown = Counter(e.run for e in doc.expired_evidence if e.change == "unknown")
    if unknown:
        yield output.text(message("difference.unknown", count=unknown.total()))
        yield from (f"  {run}: {count}" for run, count in list(unknown.items())[:SHOWN])
    if len(unknown) > SHOWN:
        yield f"  {output.text(message('difference.more', count=len(unknown) - SHOWN))}"


def _changes(output: Output, sort: str, changes: ChangesDoc) -> Iterator[str]:
    values = {"added": len(changes.added), "removed": len(changes.removed), "changed": len(changes.changed)}
    yield output.text(message("difference.counts", sort=message(f"difference.sort_{sort}"), **values))
    for sign, things in (("+", changes.added), ("-", changes.removed), ("~", changes.changed)):
        for thing in things[:SHOWN]:
            yield f"  {sign} {thing.name}"
            yield from _passages(output, thing)
        if len(things) > SHOWN:
            yield f"  {sign} {output.text(message('difference.more', count=len(things) - SHOWN))}"


def _passages(output: Output, thing: ThingDoc) -> Iterator[str]:
    for change in thing.passages[:SHOWN_PASSAGES]:
        lines = f" ({_ranges(change.new_lines)})" if change.new_lines else ""
        yield f"      {change.relation}: {change.new or change.old}{lines}"
        if change.old_lines and not change.new_lines:
            note = message("difference.without", old=change.old, lines=_ranges(change.old_lines))
            yield f"        {output.text(note)}"
    if len(thing.passages) > SHOWN_PASSAGES:
        yield f"      {output.text(message('difference.more', count=len(thing.passages) - SHOWN_PASSAGES))}"


def _ranges(lines: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"L{first}-L{last}" for first, last in lines)


def _expired(found: ExpiredDoc) -> Message:
    return message(f"difference.expired_{found.change}", passage=found.passage, now=found.now or "")

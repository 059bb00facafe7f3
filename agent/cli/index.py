"""`tritonkb index`: build, update and look at the knowledge base."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import Session
from agent.cli.output import Output
from agent.cli.progress import StageProgress, tell_waiting
from indexer.messages import Message, message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from agent.knowledge_documents import BuildDoc, BuiltCorpusDoc, CorpusDoc
    from indexer.build import Manner

Corpus = Annotated[
    list[str] | None, typer.Option("--corpus", metavar="NAME[=PATH|URL[@REV]]", help="knowledge.corpus_help")
]

Wait = Annotated[float, typer.Option("--wait", metavar="SECONDS", min=0, help="progress.wait_help")]
Keep = Annotated[int, typer.Option("--keep", metavar="N", min=1, help="progress.keep_help")]

Jobs = Annotated[str, typer.Option("--jobs", metavar="N|ray[://HOST:PORT]", help="progress.jobs_help")]

SHOWN_FAILURES = 5


def build(
    session: Session,
    corpus: Corpus = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="knowledge.fresh_help")] = False,  # noqa: FBT002 - a flag
    wait: Wait = 10.0,
    keep: Keep = 2,
    jobs: Jobs = "",
    drop: Annotated[list[str] | None, typer.Option("--drop", metavar="NAME", help="knowledge.drop_help")] = None,
) -> int:
    """Index corpora; those already in the index stay."""
    from agent import knowledge  # noqa: PLC0415 - numpy and the grammars are not for --help
    from agent.sources import parse_spec  # noqa: PLC0415 - as above
    from indexer.corpus import read_manifest  # noqa: PLC0415 - as above

    dropped = tuple(dict.fromkeys(read_manifest(name).name for name in drop or ()))
    specs = [parse_spec(text) for text in corpus or (() if dropped else knowledge.DEFAULT_CORPORA)]
    manner = replace(_manner(session.output, wait, keep, jobs, fresh=fresh), drop=dropped)
    with knowledge.writable_store(session.settings.store, manner) as store, StageProgress(session.output) as progress:
        report = knowledge.build(store, specs, session.settings.embedder, progress, manner, session.output.progress)
    return _report(session, report)


def update(session: Session, wait: Wait = 10.0, keep: Keep = 2, jobs: Jobs = "") -> int:
    """Read all corpora of the index again from where they came."""
    from agent import knowledge  # noqa: PLC0415 - as above

    manner = _manner(session.output, wait, keep, jobs)
    with knowledge.writable_store(session.settings.store, manner) as store, StageProgress(session.output) as progress:
        report = knowledge.update(store, session.settings.embedder, progress, manner, session.output.progress)
    return _report(session, report)


def _manner(output: Output, wait: float, keep: int, jobs: str, *, fresh: bool = False) -> Manner:
    from indexer.build import Manner  # noqa: PLC0415 - as above
    from indexer.crew import check_jobs  # noqa: PLC0415 - as above

    return Manner(fresh, wait, keep, lambda holder: tell_waiting(output, holder.pid, holder.since), check_jobs(jobs))


def status(
    session: Session,
    passes: Annotated[bool, typer.Option("--passes", help="knowledge.passes_help")] = False,  # noqa: FBT002 - a flag
) -> int:
    """Tell what the index holds, and whether it is of the installed compilers."""
    from agent import knowledge  # noqa: PLC0415 - as above
    from agent.cli.coverage import show_coverage  # noqa: PLC0415 - as above
    from agent.knowledge_documents import status_doc  # noqa: PLC0415
    from agent.pass_map import map_passes  # noqa: PLC0415

    store = knowledge.store_folder(session.settings.store)
    coverage = map_passes(store) if passes else []
    doc = status_doc(store, knowledge.status(store))
    rows = [
        (c.name, c.commit[:12], str(c.files), str(c.passages), c.updated_at, session.output.text(_standing(c)))
        for c in doc.corpora
    ]
    heads = ("corpus", "commit", "files", "passages", "updated", "toolchain")

    def show(console: Console) -> None:
        console.print(_table(session.output, heads, rows))
        if doc.fix:
            console.print(session.output.text(message("knowledge.fix", command=doc.fix)), soft_wrap=True)

        show_coverage(session.output, console, coverage)

    document = doc.to_json() | ({"passes": [c.to_json() for c in coverage]} if passes else {})
    session.output.answer(document, show)
    return 0


def corpora(session: Session) -> int:
    """List the corpora that can be indexed."""
    from agent import knowledge  # noqa: PLC0415 - as above
    from agent.knowledge_documents import corpora_doc  # noqa: PLC0415

    doc = corpora_doc(knowledge.corpora())
    rows = [(c.name, c.target, c.commit[:12], c.licence, "\n".join(c.repositories)) for c in doc.corpora]
    heads = ("corpus", "target", "commit", "licence", "from")
    session.output.answer(doc.to_json(), lambda console: console.print(_table(session.output, heads, rows)))
    return 0


def _standing(corpus: CorpusDoc) -> Message:
    """Say whether a corpus is the source of the installed compilers, and of which commit it should be."""
    if corpus.matches_toolchain:
        return message("knowledge.matches")
    if corpus.expected_commit is None:
        return message("knowledge.nothing_to_compare")
    key = "no_commit" if corpus.matches_toolchain is None else "differs" if corpus.fix else "differs_for_good"
    return message(f"knowledge.{key}", expected=corpus.expected_commit[:12])


def _report(session: Session, report: object) -> int:
    from agent.knowledge_documents import build_doc  # noqa: PLC0415
    from indexer.build import BuildReport  # noqa: PLC0415
    from indexer.errors import StoreError  # noqa: PLC0415
    from indexer.repair import store_option  # noqa: PLC0415

    assert isinstance(report, BuildReport)  # noqa: S101 - named here so that --help need not import it
    doc = build_doc(report)
    session.output.answer(
        doc.to_json(), lambda console: console.print("\n".join(_lines(session.output, doc)), soft_wrap=True)
    )
    for kept in report.kept:
        values = {"name": kept.name, "reason": kept.reason, "store": store_option(report.store)}
        session.output.complain(message("knowledge.kept", **values))
    return StoreError.exit_code if report.kept else 0


def _lines(output: Output, doc: BuildDoc) -> list[str]:
    lines = []
    for c in doc.corpora:
        values = {
            "name": c.name,
            "commit": c.commit[:12],
            "files": c.files,
            "passages": c.passages,
            "changed": c.changed,
        }
        lines.append(output.text(message("knowledge.built", **values)))
        lines.append("  " + output.text(_tally(c)))
        if c.failures:
            lines.append("  " + output.text(message("knowledge.failures", count=len(c.failures))))
            lines += [f"    {f.path}: {output.text(_why(f.reason))}" for f in c.failures[:SHOWN_FAILURES]]
    if doc.unchanged:
        lines.append(output.text(message("progress.unchanged")))
    if doc.resumed:
        lines.append(output.text(message("progress.resumed", count=doc.resumed)))
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in doc.seconds.items())
    lines.append(output.text(message("progress.seconds", stages=stages)))
    total = doc.total_seconds
    lines.append(output.text(message("knowledge.took", seconds=f"{total:.1f}", peak=doc.peak_mib, store=doc.store)))
    return lines


def _why(reason: str) -> Message:
    """Say why a file was not read by its grammar."""
    from indexer.corpus import MAX_FILE_BYTES  # noqa: PLC0415 - as above

    limit = f"{MAX_FILE_BYTES // 1_000_000} MB"
    return message(f"progress.failed_{reason}", limit=limit)


def _tally(corpus: BuiltCorpusDoc) -> Message:
    kinds, languages = (
        ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))
        for counts in (corpus.kinds, corpus.languages)
    )
    return message("progress.tally", name=corpus.name, kinds=kinds, languages=languages)


def _table(output: Output, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(*(output.text(message(f"knowledge.head_{head}")) for head in heads), box=SIMPLE_HEAD)
    for row in rows:
        table.add_row(*row)
    return table

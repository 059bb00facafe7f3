"""`tritonkb index`: build, update and look at the knowledge base."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import Session
from agent.cli.output import Output
from indexer.messages import Message, message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table
    from typing_extensions import Self

    from agent.knowledge_documents import BuildDoc, CorpusDoc

Corpus = Annotated[
    list[str] | None, typer.Option("--corpus", metavar="NAME[=PATH|URL[@REV]]", help="knowledge.corpus_help")
]

SHOWN_FAILURES = 5
# Often enough to be alive, seldom enough to cost nothing.
TELL_SECONDS = 0.25


def build(
    session: Session,
    corpus: Corpus = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="knowledge.fresh_help")] = False,  # noqa: FBT002 - a flag
) -> int:
    """Index corpora; those already in the index stay."""
    from agent import knowledge  # noqa: PLC0415 - numpy and the grammars are not for --help
    from agent.sources import parse_spec  # noqa: PLC0415 - as above
    from indexer.build import Manner  # noqa: PLC0415 - as above

    specs = [parse_spec(text) for text in corpus or knowledge.DEFAULT_CORPORA]
    store = knowledge.store_folder(session.settings.store)
    with _Progress(session.output) as progress:
        manner = Manner(fresh=fresh)
        report = knowledge.build(store, specs, session.settings.embedder, progress, manner, session.output.progress)
    return _report(session, report)


def update(session: Session) -> int:
    """Read all corpora of the index again from where they came."""
    from agent import knowledge  # noqa: PLC0415 - as above

    store = knowledge.store_folder(session.settings.store)
    with _Progress(session.output) as progress:
        report = knowledge.update(store, session.settings.embedder, progress, tell=session.output.progress)
    return _report(session, report)


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
    doc = status_doc(str(store), knowledge.status(store))
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
    known = corpus.matches_toolchain is not None
    return message("knowledge.differs" if known else "knowledge.no_commit", expected=corpus.expected_commit[:12])


def _report(session: Session, report: object) -> int:
    from agent.knowledge_documents import build_doc  # noqa: PLC0415
    from indexer.build import BuildReport  # noqa: PLC0415

    assert isinstance(report, BuildReport)  # noqa: S101 - named here so that --help need not import it
    doc = build_doc(report)
    session.output.answer(
        doc.to_json(), lambda console: console.print("\n".join(_lines(session.output, doc)), soft_wrap=True)
    )
    return 0


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
        if c.failures:
            lines.append("  " + output.text(message("knowledge.failures", count=len(c.failures))))
            lines += [f"    {f.path} ({f.reason})" for f in c.failures[:SHOWN_FAILURES]]
    total = sum(doc.seconds.values())
    lines.append(output.text(message("knowledge.took", seconds=f"{total:.1f}", peak=doc.peak_mib, store=doc.store)))
    return lines


def _table(output: Output, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(*(output.text(message(f"knowledge.head_{head}")) for head in heads), box=SIMPLE_HEAD)
    for row in rows:
        table.add_row(*row)
    return table


class _Progress:
    """Shows the stage on stderr: one line that moves on a terminal, one line a stage elsewhere."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.moving = sys.stderr.isatty()
        self.stage = ""
        self.told = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.moving and self.stage:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def __call__(self, stage: str, done: int, total: int) -> None:
        note = message("knowledge.stage", stage=message(f"knowledge.stage_{stage}"))
        if self.moving and (stage != self.stage or time.monotonic() - self.told > TELL_SECONDS):
            count = f" {done}/{total}" if total else ""
            print(f"\r\033[K{self.output.text(note)}{count}", end="", file=sys.stderr, flush=True)
            self.told = time.monotonic()
        elif not self.moving and stage != self.stage:
            self.output.progress(note)
        self.stage = stage

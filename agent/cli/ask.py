"""`tritonkb ask`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import Session
from indexer.messages import message

if TYPE_CHECKING:
    from rich.console import Console

    from agent.asking import AskDoc, ClaimDoc

SHOWN_HITS = 5


def ask(
    session: Session,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="ask.question_help")],
    corpus: Annotated[list[str] | None, typer.Option("--corpus", metavar="C", help="ask.corpus_help")] = None,
) -> int:
    """Answer; exit 1 when the index does not hold the answer."""
    from agent import asking, knowledge  # noqa: PLC0415 - numpy and the index's readers are not for --help
    from indexer.corpus import read_manifest  # noqa: PLC0415

    text = sys.stdin.read() if question == "-" else question
    index = knowledge.open_library(session.settings.store).index
    doc = asking.ask(index, text, [read_manifest(name).name for name in corpus or []])
    session.output.answer(doc.to_json(), lambda console: _show(console, doc, session))
    return 0 if doc.answered else 1


def _show(console: Console, doc: AskDoc, session: Session) -> None:
    from rich.text import Text  # noqa: PLC0415

    if not doc.answered:
        console.print(Text(doc.answer, "bold"), soft_wrap=True)
        for hit in doc.hits[:SHOWN_HITS]:
            console.print(Text(f"  {hit.passage.id}  {hit.passage.symbol.split(', ')[0]}", "cyan"), soft_wrap=True)
        return
    for number, claim in enumerate(doc.claims, 1):
        _show_claim(console, number, claim)
    for conflict in doc.conflicts:
        note = message(
            "ask.conflict", option=conflict.option, document=conflict.document.partition(":")[2].partition("#")[0],
            line=conflict.document_line, said=conflict.document_default, default=conflict.source_default,
        )  # fmt: skip
        console.print(Text(session.output.text(note), "yellow"), soft_wrap=True)


def _show_claim(console: Console, number: int, claim: ClaimDoc) -> None:
    from rich.text import Text  # noqa: PLC0415

    for line in claim.text.split("\n"):
        console.print(Text(f"  {line}"), soft_wrap=True)
    console.print(Text(f"  [{number}] {claim.citations[0]}  {claim.lines}", "dim cyan"), soft_wrap=True)
    console.print()

"""`tritonkb ask`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import Session
from indexer.errors import BadInput
from indexer.messages import message

if TYPE_CHECKING:
    from rich.console import Console

    from agent.asking_documents import AskDoc, ClaimDoc
    from agent.llm.records import Request
    from retriever.answer import Extract
    from retriever.search import Index

SHOWN_HITS = 5


def ask(
    session: Session,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="ask.question_help")],
    corpus: Annotated[list[str] | None, typer.Option("--corpus", metavar="C", help="ask.corpus_help")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="ask.dry_run_help")] = False,  # noqa: FBT002 - a flag
    record: Annotated[Path | None, typer.Option("--record", metavar="FILE", help="ask.record_help")] = None,
    replay: Annotated[Path | None, typer.Option("--replay", metavar="FILE", help="ask.replay_help")] = None,
) -> int:
    """Answer; exit 1 when the index does not hold the answer."""
    from agent import asking, knowledge  # noqa: PLC0415 - numpy and the index's readers are not for --help
    from indexer.corpus import read_manifest  # noqa: PLC0415

    model = session.settings.model or ""
    if not model and (record or replay):
        raise BadInput("ask.needs_model", option="--record" if record else "--replay")
    text = sys.stdin.buffer.read().decode(errors="replace") if question == "-" else question
    corpora = [read_manifest(name).name for name in corpus or []]
    index = knowledge.open_library(session.settings.store).index
    found = asking.find_answer(index, text, corpora)
    if dry_run:
        return _show_request(session, found, model)
    if model and found.answered:
        doc = _ask_model(session, index, found, model, record, replay)
    else:
        doc = asking.extractive(index, found)
    session.output.answer(doc.to_json(), lambda console: _show(console, doc))
    return 0 if doc.answered else 1


def _ask_model(
    session: Session, index: Index, found: Extract, model: str, record: Path | None, replay: Path | None
) -> AskDoc:
    """Ask the model that the user named, after saying where the question goes and with what."""
    from agent.answering import answer_with_model, choose_passages  # noqa: PLC0415 - as above
    from agent.llm.chat import Chat  # noqa: PLC0415 - as above
    from agent.llm.endpoint import open_endpoint  # noqa: PLC0415 - as above
    from agent.llm.record import Recording, Replay  # noqa: PLC0415 - as above

    given = choose_passages(found)
    if replay is not None:
        return answer_with_model(index, found, given, Chat(Replay(replay), model))
    endpoint = open_endpoint()
    what = message("ask.what_is_sent", passages=len(given.passages), kib=f"{given.characters / 1024:.1f}")
    session.output.progress(message("llm.sending", url=endpoint.shown, model=model, what=what))
    return answer_with_model(index, found, given, Chat(Recording(endpoint, record) if record else endpoint, model))


def _show_request(session: Session, found: Extract, model: str) -> int:
    """Print what would be sent, and send nothing."""
    from agent.answering import choose_passages, first_request  # noqa: PLC0415 - as above
    from agent.llm.chat import Chat  # noqa: PLC0415 - as above
    from agent.llm.endpoint import Endpoint, address  # noqa: PLC0415 - as above

    endpoint = Endpoint(address(), "")
    request = first_request(Chat(endpoint, model), found, choose_passages(found))
    document = {"url": endpoint.shown, "model": model, "system": request.system, "user": request.user}
    session.output.answer({"sent": False, **document}, lambda console: _show_text(console, request))
    return 0


def _show_text(console: Console, request: Request) -> None:
    console.print(f"{request.system}\n\n{request.user}", markup=False, highlight=False, soft_wrap=True)


def _show(console: Console, doc: AskDoc) -> None:
    from rich.text import Text  # noqa: PLC0415

    for remark in doc.remarks:
        console.print(Text(remark, "yellow"), soft_wrap=True)
    if not doc.answered:
        console.print(Text("\n".join([doc.answer.partition("\n")[0], *doc.suggestions]), "bold"), soft_wrap=True)
        for hit in doc.hits[:SHOWN_HITS]:
            console.print(Text(f"  {hit.passage.id}  {hit.passage.symbol.split(', ')[0]}", "cyan"), soft_wrap=True)
        return
    for number, claim in enumerate(doc.claims, 1):
        _show_claim(console, number, claim)
    for conflict in doc.conflicts:
        console.print(Text(conflict.text, "yellow"), soft_wrap=True)
    for claim in doc.rejected_claims:
        console.print(Text(f"✗ {claim.text}\n  {claim.reason}", "dim"), soft_wrap=True)


def _show_claim(console: Console, number: int, claim: ClaimDoc) -> None:
    from rich.text import Text  # noqa: PLC0415

    for line in claim.text.split("\n"):
        console.print(Text(f"  {line}"), soft_wrap=True)
    for id_ in claim.citations:
        console.print(Text(f"  [{number}] {id_}  {claim.lines}", "dim cyan"), soft_wrap=True)
    console.print()

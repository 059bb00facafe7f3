"""`tritonkb search`: passages by question, by name, or by id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import Session
from indexer.errors import BadInput
from indexer.messages import message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from agent.knowledge import Answer
    from indexer.records import Kind
    from retriever.records import Hit

SHOWN_LINES = 12
SHOWN_REASONS = 4


def search(
    session: Session,
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="search.text_help")] = "",
    limit: Annotated[int, typer.Option("-k", min=1, max=1000, help="search.limit_help")] = 10,
    kind: Annotated[list[str] | None, typer.Option("--kind", metavar="K", help="search.kind_help")] = None,
    corpus: Annotated[list[str] | None, typer.Option("--corpus", metavar="C", help="search.corpus_help")] = None,
    target: Annotated[str, typer.Option("--target", metavar="T", help="search.target_help")] = "",
    id_: Annotated[str, typer.Option("--id", metavar="ID", help="search.id_help")] = "",
    pass_: Annotated[list[str] | None, typer.Option("--pass", metavar="P", help="search.pass_help")] = None,
    op: Annotated[list[str] | None, typer.Option("--op", metavar="O", help="search.op_help")] = None,
    option: Annotated[list[str] | None, typer.Option("--option", metavar="X", help="search.option_help")] = None,
    diagnostic: Annotated[
        list[str] | None, typer.Option("--diagnostic", metavar="TEXT", help="search.diagnostic_help")
    ] = None,
) -> int:
    """Search; exit 1 when nothing is found."""
    from agent import knowledge  # noqa: PLC0415 - numpy and the index's readers are not for --help
    from agent.knowledge_documents import search_doc  # noqa: PLC0415
    from retriever.records import Query  # noqa: PLC0415

    passes, options = _given(_bare(p) for p in pass_ or []), _given(_bare(o) for o in option or [])
    ops, diagnostics = _given(op or []), _given(diagnostic or [])
    names = [*passes, *ops, *options, *diagnostics]
    if not (text.strip() or id_ or names):
        raise BadInput("search.nothing_asked")
    index = knowledge.open_library(session.settings.store).index
    if id_:
        answer = knowledge.find_passage(index, id_)
    else:
        query = Query(
            text, tuple(passes), tuple(ops), tuple(options), tuple(diagnostics), _kinds(kind or []),
            _corpora(corpus or []), _compiler(target),
        )  # fmt: skip
        answer = knowledge.search(index, query, limit)
    asked = " ".join([id_ or text, *names]).strip()
    session.output.answer(search_doc(asked, answer).to_json(), lambda console: _show(console, answer, whole=bool(id_)))
    if not answer.hits:
        from indexer.repair import store_option  # noqa: PLC0415 - numpy is not for --help

        near = ", ".join(answer.near)
        session.output.complain(
            message("search.near", query=asked, near=near)
            if near
            else message("search.no_hit", query=asked, store=store_option(session.settings.store))
        )
    return 0 if answer.hits else 1


def _kinds(kinds: list[str]) -> tuple[Kind, ...]:
    from typing import cast, get_args  # noqa: PLC0415

    from indexer.records import Kind  # noqa: PLC0415

    known = get_args(Kind)
    for kind in kinds:
        if kind not in known:
            raise BadInput("search.unknown_kind", kind=kind, known=", ".join(known))
    return tuple(cast("list[Kind]", kinds))


def _corpora(names: list[str]) -> tuple[str, ...]:
    from indexer.corpus import read_manifest  # noqa: PLC0415

    return tuple(read_manifest(name).name for name in names)


def _compiler(target: str) -> str:
    """Return which compiler serves a device; empty for no device."""
    from agent.toolchain.targets import find_device  # noqa: PLC0415 - as above

    return find_device(target).arch if target else ""


def _given(names: Iterable[str]) -> list[str]:
    """Leave out what a shell's empty variable gives: it asks for nothing."""
    return [name for name in names if name.strip()]


def _bare(option: str) -> str:
    return option.lstrip("-").partition("=")[0]


def _show(console: Console, answer: Answer, *, whole: bool) -> None:
    for rank, hit in enumerate(answer.hits, 1):
        _show_hit(console, rank, hit, whole=whole)


def _show_hit(console: Console, rank: int, hit: Hit, *, whole: bool) -> None:
    from rich.text import Text  # noqa: PLC0415

    p = hit.passage
    console.print(Text.assemble((f"{rank}. ", "bold"), (p.id, "bold cyan")), soft_wrap=True)
    about = " · ".join(part for part in (p.kind, p.symbol.split(", ")[0], *hit.why[:SHOWN_REASONS]) if part)
    console.print(Text(f"   {about}", "dim"), soft_wrap=True)
    lines = p.text.split("\n")
    shown = lines if whole else [line for line in lines if line.strip()][:SHOWN_LINES]
    for line in shown:
        console.print(Text(f"   {line}"), soft_wrap=True)
    if len(shown) < len(lines) and not whole:
        console.print(Text(f"   … {p.start_line}-{p.end_line}", "dim"))

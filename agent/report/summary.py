"""What a model took, and what several runs gave together, in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.contract import OptimizeDoc, RoundDoc
from agent.contract_run import SummaryDoc, TokensDoc
from indexer.messages import Message, message

if TYPE_CHECKING:
    from agent.report.terminal import Terminal


def round_note(doc: RoundDoc) -> Message:
    """Say in a line what a round came to."""
    if doc.rewrite is None:
        return message("report.round_empty", n=doc.n)
    verdict = message(f"report.verdict_{doc.verdict}")
    return message("report.round", n=doc.n, name=doc.rewrite.name, symptom=doc.rewrite.symptom or "-", verdict=verdict)


def show_model(terminal: Terminal, doc: OptimizeDoc) -> None:
    """Say what the model did in a run, and what it took."""
    if doc.model is None:
        return
    kept = sum(r.verdict == "kept" and r.rewrite is not None and r.rewrite.author == "model" for r in doc.rounds)
    turns = [r.model for r in doc.rounds if r.model is not None]
    terminal.say(
        "model", name=doc.model.name, endpoint=doc.model.endpoint, rounds=len(turns), kept=kept,
        proposed=sum(turn.ended == "edit" for turn in turns), tokens=tokens_note(doc.tokens),
    )  # fmt: skip
    for reason in dict.fromkeys(turn.reason for turn in turns if turn.reason):
        terminal.line(reason, style="dim", indent=2)
    terminal.say("exchanges", style="dim", indent=2, file=doc.model.exchanges)


def show_summary(terminal: Terminal, summary: SummaryDoc, docs: Sequence[OptimizeDoc]) -> None:
    """Show a table of the runs, and their means beside the published ones."""
    terminal.line("")
    terminal.say("summary", style="bold", kernels=summary.kernels, kept=summary.kept, failed=summary.failed)
    for doc in sorted(docs, key=lambda d: -(d.best.speedup or 0.0)):
        _show_row(terminal, doc)
    if summary.geometric_mean is not None and summary.median is not None:
        terminal.say(
            "means", style="bold green", mean=f"{summary.geometric_mean:.2f}", median=f"{summary.median:.2f}",
            above_2x=_percent(summary.above_2x), above_5x=_percent(summary.above_5x),
            basis=message(f"report.{summary.basis}"),
        )  # fmt: skip
    if summary.best_rounds:
        terminal.say("best_rounds", rounds=", ".join(f"{n}: {count}" for n, count in summary.best_rounds.items()))
    other = summary.reference
    terminal.say(
        "reference", style="dim", mean=other.geometric_mean, median=other.median, source=other.source,
        basis=message(f"report.{other.basis}"),
    )  # fmt: skip
    if summary.tokens.requests:
        terminal.say("tokens_together", tokens=tokens_note(summary.tokens))


def tokens_note(doc: TokensDoc) -> Message:
    """Say what a model took, with its cost where prices are configured."""
    counts = {"prompt": doc.prompt, "completion": doc.completion, "requests": doc.requests}
    if doc.cost is None:
        return message("report.tokens", **counts)
    return message("report.tokens_cost", cost=f"{doc.cost:.4f}", currency=doc.currency, **counts)


def _show_row(terminal: Terminal, doc: OptimizeDoc) -> None:
    if doc.best.repaired:
        terminal.say("row_repaired", indent=2, file=doc.file, round=doc.best.round)
    elif doc.best.speedup is None:
        terminal.say("row_none", indent=2, file=doc.file)
    else:
        terminal.say("row", indent=2, file=doc.file, speedup=f"{doc.best.speedup:.2f}", round=doc.best.round)


def _percent(share: float | None) -> int:
    return round(100 * (share or 0.0))

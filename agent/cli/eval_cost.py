"""`tritonkb eval cost`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import Session
from indexer.errors import BadInput
from indexer.messages import Message, message

if TYPE_CHECKING:
    from rich.console import Console

    from agent.evaluate_cost import Predicted
    from agent.evaluate_cost_documents import CostEvaluationDoc, MeasuresDoc, PairsDoc
    from agent.evaluate_cost_pairs import Direction

Timings = Annotated[list[Path] | None, typer.Argument(metavar="TIMINGS.jsonl...", help="eval.timings")]
Kernels = Annotated[list[Path] | None, typer.Option("--kernels", metavar="DIR", help="eval.kernels")]

Pairs = Annotated[list[Path] | None, typer.Option("--pairs", metavar="DIR", help="eval.pairs")]


def cost(session: Session, timings: Timings = None, kernels: Kernels = None, pairs: Pairs = None) -> int:
    """Score predicted costs against published timings, or on pairs of kernels.

    Exit 1 when a timing cannot be predicted.
    """
    if bool(timings) == bool(pairs):
        raise BadInput("eval.timings_or_pairs")
    return _directions(session, pairs) if pairs else _timings(session, timings or [], kernels)


def _timings(session: Session, timings: list[Path], kernels: list[Path] | None) -> int:
    from agent.cli.kernel_input import sandbox_policy  # noqa: PLC0415 - heavy, not for --help
    from agent.evaluate_cost import read_timings  # noqa: PLC0415
    from agent.evaluate_cost_documents import cost_evaluation_doc  # noqa: PLC0415
    from agent.evaluate_cost_run import predict_timings  # noqa: PLC0415

    rows = [row for path in timings for row in read_timings(path)]
    folders = kernels or [path.parent for path in timings]

    def on_case(item: Predicted) -> None:
        shown = item.note if item.us is None else f"{item.us:.2f}"
        session.output.progress(message("eval.timing", id=item.timing.id, measured=item.timing.us, predicted=shown))

    found = list(predict_timings(rows, folders, sandbox_policy(session), on_case))
    doc = cost_evaluation_doc(found)
    session.output.answer(doc.to_json(), lambda console: _show(console, doc, session))
    return 0 if doc.predicted == doc.n else 1


def _directions(session: Session, pairs: list[Path]) -> int:
    from agent.cli.kernel_input import sandbox_policy  # noqa: PLC0415 - heavy, not for --help
    from agent.evaluate_cost_documents import PairsDoc, directions_doc  # noqa: PLC0415
    from agent.evaluate_cost_pairs import predict_pairs  # noqa: PLC0415
    from agent.toolchain.targets import find_target  # noqa: PLC0415

    def on_pair(item: Direction) -> None:
        session.output.progress(message("eval.case", name=item.truth.name, mark="+" if item.fits else "-"))

    targets = [find_target(name) for name in session.settings.target.split(",")]
    policy = sandbox_policy(session)
    doc = PairsDoc(
        targets=[
            directions_doc(target.name, list(predict_pairs(pairs, target, policy, on_pair)), session.output.lang)
            for target in targets
        ]
    )
    session.output.answer(doc.to_json(), lambda console: _show_directions(console, doc, session))
    return 0


def _show_directions(console: Console, doc: PairsDoc, session: Session) -> None:
    from rich.table import Table  # noqa: PLC0415

    for found in doc.targets:
        table = Table(box=None, pad_edge=False)
        for key in ("pair", "slow", "fast", "limiter", "grows", "reason"):
            table.add_column(session.output.text(message(f"eval.column_{key}")))
        for case in found.cases:
            costs = ("-" if us is None else f"{us:.2f}" for us in (case.slow_us, case.fast_us))
            table.add_row(case.name, *costs, case.limiter, case.grows, case.reason)
        console.print(table)
        totals = message(
            "eval.pairs_total", target=found.target, n=found.n, right=found.right, fits=found.fits, made=found.made,
            made_right=found.made_right, made_fits=found.made_fits,
        )  # fmt: skip
        console.print(session.output.text(totals), markup=False)


def _show(console: Console, doc: CostEvaluationDoc, session: Session) -> None:
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False)
    for key in ("timing", "measured", "predicted", "error", "baseline", "limiter", "doubt"):
        table.add_column(session.output.text(message(f"eval.column_{key}")))
    for case in doc.cases:
        predicted = case.note or "-" if case.predicted_us is None else f"{case.predicted_us:.2f}"
        bytes_error = None if case.baseline_us is None else case.baseline_us / case.measured_us - 1
        table.add_row(
            case.id, f"{case.measured_us:.2f}", predicted, _signed(case.error), _signed(bytes_error),
            case.limiter, "?" if case.low_confidence else "",
        )  # fmt: skip
    console.print(table)
    for key, measures in (("model", doc), ("bytes", doc.baseline)):
        console.print(session.output.text(_totals(key, measures)), markup=False)
    note = message("eval.cost_n", n=doc.n, predicted=doc.predicted, inside=_percent(doc.inside_interval))
    console.print(session.output.text(note), markup=False)
    for sweep in doc.sweeps:
        regret = message("eval.regret", case=sweep.case, n=sweep.configurations, regret=_percent(sweep.regret))
        console.print(session.output.text(regret), markup=False)


def _totals(key: str, found: MeasuresDoc) -> Message:
    return message(
        f"eval.cost_{key}", median=_percent(found.median_error), within=_percent(found.within_35),
        below=_rank(found.spearman.below_100us), above=_rank(found.spearman.above_100us),
        best=found.best_within_5, sweeps=len(found.sweeps),
    )  # fmt: skip


def _signed(error: float | None) -> str:
    return "-" if error is None else f"{100 * error:+.0f} %"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _rank(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"

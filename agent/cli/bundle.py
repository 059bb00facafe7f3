"""`tritonkb bundle make` and `tritonkb bundle take`: work for a device elsewhere, and its results back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import Session
from indexer.errors import BadInput
from indexer.messages import message

if TYPE_CHECKING:
    from rich.console import Console

    from agent.handoff.documents import MeasuredDoc, TimeDoc
    from agent.handoff.parcels import Prune as Chooser

Parts = Annotated[list[Path], typer.Argument(metavar="RUN|FILE...", help="handoff.parts")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="handoff.out")]
Experts = Annotated[Path | None, typer.Option("--experts", metavar="DIR", help="handoff.experts")]
Most = Annotated[int, typer.Option("--candidates", metavar="N", help="handoff.candidates")]
Twice = Annotated[int, typer.Option("--twice", metavar="N", help="handoff.twice")]
Device = Annotated[str, typer.Option("--device", metavar="ssh://HOST", help="handoff.device")]
Prune = Annotated[bool, typer.Option("--prune", help="handoff.prune")]
Seconds = Annotated[float, typer.Option("--seconds", metavar="S", help="handoff.seconds")]
Bundle = Annotated[Path, typer.Argument(metavar="DIR", help="handoff.folder")]
# Enough for the search on the device to choose from; what has no sensible tile is left out there.
MOST_CANDIDATES = 160


def make(
    session: Session,
    parts: Parts,
    out: Out = Path("bundle"),
    experts: Experts = None,
    candidates: Most = MOST_CANDIDATES,
    twice: Twice = 0,
    prune: Prune = False,  # noqa: FBT002 - a flag of the command
    device: Device = "",
    seconds: Seconds = 480.0,
) -> int:
    """Write a bundle; with a device, run it there and take its results too."""
    from agent.handoff.made import Made, note_made  # noqa: PLC0415 - heavy, and not for --help
    from agent.handoff.make import write_bundle  # noqa: PLC0415
    from agent.handoff.parcels import parcel_of  # noqa: PLC0415
    from agent.handoff.remote import read_remote  # noqa: PLC0415
    from agent.toolchain.targets import find_device  # noqa: PLC0415

    remote = read_remote(device) if device else None
    target = find_device(session.settings.target).name
    with _pruning(session, target) if prune else nullcontext() as choose:
        parcels = [parcel_of(path, target, experts, candidates, choose) for path in parts]
    names = [parcel.id for parcel in parcels]
    if len(set(names)) < len(names):
        raise BadInput("handoff.same_name", names=", ".join(sorted({n for n in names if names.count(n) > 1})))
    plan = write_bundle(out, target, parcels, names[:twice])
    runs = {
        parcel.id: str(path.resolve()) if path.is_dir() else "" for parcel, path in zip(parcels, parts, strict=True)
    }
    note_made(Made(plan, str(out), runs))
    if remote is not None:
        session.output.progress(message("handoff.running", host=remote.host))
        remote.run(out, plan, seconds)
        return take(session, out)
    count = sum(len(parcel.offers) for parcel in parcels)
    said = message("handoff.made", folder=out, kernels=len(parcels), candidates=count)
    session.output.answer(
        {"bundle": out, "plan": plan, "target": target, "kernels": names, "candidates": count},
        lambda console: console.print(session.output.text(said), soft_wrap=True, markup=False, highlight=False),
    )
    return 0


@contextmanager
def _pruning(session: Session, target: str) -> Iterator[Chooser]:
    """Give what leaves out candidates that the compiler here refuses, or that spill."""
    from agent.cli.kernel_input import sandbox_policy  # noqa: PLC0415 - heavy, and not for --help
    from agent.configurations.pruning import prune  # noqa: PLC0415
    from agent.records import KernelSource  # noqa: PLC0415
    from agent.toolchain.targets import find_device  # noqa: PLC0415
    from agent.workbench import open_workbench  # noqa: PLC0415

    with open_workbench(find_device(target), sandbox_policy(session)) as bench:
        yield lambda path, made: prune(bench, KernelSource(path, ""), made)


def take(session: Session, folder: Bundle) -> int:
    """Take results back; exit 1 when no kernel became faster."""
    from agent.handoff.take import take_bundle, write_measured  # noqa: PLC0415 - heavy, and not for --help

    doc, made = take_bundle(folder)
    for run in sorted({run for run in made.runs.values() if run and Path(run).is_dir()}):
        of_run = [name for name, its in made.runs.items() if its == run]
        kernels = [kernel for kernel in doc.kernels if kernel.kernel in of_run]
        written = write_measured(doc.model_copy(update={"kernels": kernels}), Path(run))
        session.output.progress(message("handoff.written", path=written))
    session.output.answer(doc.to_json(), lambda console: _show(console, doc, session))
    return 0 if any(kernel.best for kernel in doc.kernels) else 1


def _show(console: Console, doc: MeasuredDoc, session: Session) -> None:
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False)
    for key in ("kernel", "initial", "best", "speedup", "compiled", "library", "expert", "note"):
        table.add_column(session.output.text(message(f"handoff.column_{key}")))
    for kernel in doc.kernels:
        speedup = "-" if kernel.speedup is None else f"{kernel.speedup:.2f}"
        times = [_us(t) for t in (kernel.compiled, kernel.library, kernel.expert)]
        note = kernel.best_note or kernel.reason
        table.add_row(kernel.kernel, _us(kernel.initial), _us(kernel.best_time), speedup, *times, note)
    console.print(table)
    machine = ", ".join(f"{name} {value}" for name, value in doc.machine.items())
    console.print(
        session.output.text(message("handoff.measured_on", machine=machine, at=doc.measured_at)), markup=False
    )
    if doc.geometric_mean is not None and doc.median is not None:
        told = message("handoff.total", mean=f"{doc.geometric_mean:.2f}", median=f"{doc.median:.2f}")
        console.print(session.output.text(told), markup=False)


def _us(time: TimeDoc | None) -> str:
    return "-" if time is None else f"{time.us:.1f}"

"""What each rung of the ladder is worth: `python bench/ablation.py FOLDER|FILE... [--target T] [--model NAME]`.

Every kernel is optimised once with each ladder (`--ladders full,no-ir,...`), from the same start and in the same budget
of rounds; a folder gives its `*_slow.py`, else all `*.py`. Nothing is learnt from one run for another. Printed are the
geometric mean and the median of each ladder, and the ratio of `full` to it kernel by kernel, with an interval of 95 %
drawn from the kernels (one seed, so that the same runs give the same figures). `--json FILE` keeps all of it. A model
is called only where `--model` names one, at OPENAI_BASE_URL; runs are kept in `--out`, and those that are there already
are not made again.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from agent.contract import OptimizeDoc
from agent.contract_run import SummaryDoc
from agent.jobs import Failed
from agent.journal import RESULT
from agent.knowledge import open_library
from agent.ladder import ROUNDS, Ladder
from agent.optimizing import optimize_kernels
from agent.paired import Paired, compare_paired
from agent.records import Entry
from agent.request import Goal, ModelRequest, RoundEnded, Run, RunEvent, Site, read_source
from agent.sandbox import SandboxPolicy
from agent.summary import summarize
from indexer.errors import StoreError
from indexer.messages import render


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="+", type=Path)
    parser.add_argument("--target", default="ascend910b3")
    parser.add_argument("--ladders", default=",".join(get_args(Ladder)))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--model")
    parser.add_argument("--store")
    parser.add_argument("--jobs", default=str(os.cpu_count() or 1))
    parser.add_argument("--out", type=Path, default=Path("tritonkb-runs/ablation"))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    files = list(find_kernels(given.kernels))
    ladders: list[Ladder] = [name for name in get_args(Ladder) if name in given.ladders.split(",")]
    site = open_site(given.target, given.store, given.model)
    ended = {ladder: run_ladder(site, files, ladder, given.rounds, given.out, given.jobs) for ladder in ladders}
    table = tabulate(ended)
    show(table)
    if given.json is not None:
        given.json.write_text(json.dumps([row.to_json() for row in table], indent=1), encoding="utf-8")


def find_kernels(places: Sequence[Path]) -> list[Path]:
    """Return the files that are named, and of a folder its slow kernels, or all of them."""
    found: list[Path] = []
    for place in places:
        inside = sorted(place.glob("*_slow.py")) or sorted(place.glob("*.py")) if place.is_dir() else [place]
        found += inside
    return found


def open_site(target: str, store: str | None, model: str | None) -> Site:
    """Open the index where there is one."""
    try:
        library = open_library(store)
    except StoreError as error:
        print(render(error.note, "en"))
        library = None
    return Site(target, SandboxPolicy(), library, "en", store, ModelRequest(model) if model else None, learns=False)


def run_ladder(
    site: Site, files: Sequence[Path], ladder: Ladder, rounds: int, out: Path, jobs: str
) -> dict[str, OptimizeDoc]:
    """Optimise the files with one ladder; return what ended well, by file."""
    runs = [
        Run(read_source(file, Entry()), Goal(rounds, ladder=ladder), out / ladder / file.stem, resume=begun(folder))
        for file in files
        if not (folder := out / ladder / file.stem).joinpath(RESULT).exists()
    ]

    def tell(event: RunEvent) -> None:
        if isinstance(event, RoundEnded):
            print(
                f"{ladder:13} {event.run.source.path.stem:24} round {event.entry.n}: {event.entry.verdict}", flush=True
            )

    for run, end in zip(runs, optimize_kernels(site, runs, tell, jobs) if runs else [], strict=True):
        if isinstance(end, Failed):
            print(f"{ladder:13} {run.source.path.stem:24} failed: {render(end.error.note, 'en')}", flush=True)
    results = {str(file): out / ladder / file.stem / RESULT for file in files}
    return {
        file: OptimizeDoc.model_validate_json(path.read_text(encoding="utf-8"))
        for file, path in results.items()
        if path.exists()
    }


def begun(folder: Path) -> bool:
    """Tell whether a run was begun there, and goes on."""
    return (folder / "journal.jsonl").exists()


@dataclass(frozen=True, slots=True)
class Row:
    """A ladder: its own summary, its speedups by file, and `full` against it on the kernels that both have."""

    ladder: Ladder
    summary: SummaryDoc
    by: dict[str, float]
    against: Paired | None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        pair = asdict(self.against) if self.against is not None else None
        return {"ladder": self.ladder, "summary": self.summary.to_json(), "by": self.by, "full_against_it": pair}


def tabulate(ended: dict[Ladder, dict[str, OptimizeDoc]]) -> list[Row]:
    """Return a row a ladder."""
    rows: list[Row] = []
    full = speedups(ended.get("full", {}))
    for ladder, docs in ended.items():
        own = speedups(docs)
        both = [file for file in own if file in full] if ladder != "full" else []
        pair = compare_paired([full[f] for f in both], [own[f] for f in both]) if both else None
        rows.append(Row(ladder, summarize(list(docs.values()), 0), own, pair))
    return rows


def speedups(docs: dict[str, OptimizeDoc]) -> dict[str, float]:
    """Return the speedups of the kernels that have one."""
    return {file: doc.best.speedup for file, doc in docs.items() if doc.best.speedup is not None}


def show(rows: Sequence[Row]) -> None:
    """Print the table."""
    print(f"\n{'ladder':13} kernels  kept  geomean  median  basis      full against it (95 %)")
    for row in rows:
        own, pair = row.summary, row.against
        mean, middle = ("-" if v is None else f"{v:.2f}" for v in (own.geometric_mean, own.median))
        told = ""
        if pair is not None:
            counts = f"better {pair.better}, same {pair.same}, worse {pair.worse}"
            told = f"{pair.ratio:.3f} [{pair.low:.3f}, {pair.high:.3f}]  {counts}"
        print(f"{row.ladder:13} {own.kernels:7} {own.kept:5} {mean:>8} {middle:>7}  {own.basis:10} {told}")


if __name__ == "__main__":
    main()

"""What indexing costs: seconds by stage, memory, passages a second and size, and the same for a peer on the same files.

    python bench/index.py ascendnpu-ir=PATH@REV triton-ascend=PATH@REV [--embedder NAME]... [options]

Each measurement is one command in a new process on two cores; processor seconds stand beside wall seconds, since only
they mean something on a machine that others use. `--json FILE` keeps the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from peer_semble import build_peer, peer_model, peer_python

from agent.sources import CorpusSpec, open_tree, parse_spec

CORES = 2
TRITONKB = Path(sysconfig.get_path("scripts")) / "tritonkb"
# Requirements: what is measured -> (seconds, MiB). None: not limited.
LIMITS: dict[str, tuple[float, int | None]] = {
    "wordllama": (120.0, 1536), "none": (30.0, None), "minilm": (600.0, None), "int8:minilm": (600.0, None),
    "update": (10.0, None), "unchanged": (1.5, None),
}  # fmt: skip
DOUBLED_RATIO = 2.2
# Its manifest takes whatever a folder holds.
ANY_FILES = "triton-ascend"


@dataclass(frozen=True, slots=True)
class Figures:
    """One measured command; `stages` may run beside each other, so that they can add up to more than `wall_s`."""

    name: str
    wall_s: float
    cpu_s: float
    stages: dict[str, float]
    peak_mib: int
    passages: int
    store_mib: float

    def line(self) -> str:
        """Return the row of the table."""
        stages = ", ".join(f"{name} {seconds:.1f}" for name, seconds in self.stages.items())
        rate = self.passages / self.wall_s if self.wall_s else 0.0
        return (
            f"| {self.name} | {self.wall_s:.1f} | {self.cpu_s:.1f} | {self.peak_mib} | {self.passages:,} | "
            f"{rate:,.0f} | {self.store_mib:.0f} | {_verdict(self)} | {stages} |"
        )


HEAD = """| what | wall s | processor s | peak MiB | passages | passages/s | store MiB | required | seconds by stage |
|---|---|---|---|---|---|---|---|---|"""


def _verdict(figures: Figures) -> str:
    limit = LIMITS.get(figures.name.split(" ")[0])
    if limit is None:
        return ""
    seconds, mib = limit
    met = figures.wall_s <= seconds and (mib is None or figures.peak_mib <= mib)
    return f"{seconds:g} s{f', {mib} MiB' if mib else ''}: {'met' if met else 'MISSED'}"


def index(name: str, store: Path, command: Sequence[str]) -> Figures:
    """Run `tritonkb index …` on the store and read its report."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    answer = subprocess.run([TRITONKB, "index", *command, "--store", store, "--json"], check=False, capture_output=True)
    wall = time.perf_counter() - begin
    if answer.returncode:
        sys.exit(answer.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = json.loads(answer.stdout)
    # Helpers are not children of the command; its own start is no part of the report.
    cpu = max(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, report["processor_seconds"])
    passages = sum(c["passages"] for c in report["corpora"])
    return Figures(name, wall, cpu, report["seconds"], report["peak_mib"], passages, _mib(store))


def _mib(folder: Path) -> float:
    return sum(p.stat().st_blocks * 512 for p in folder.rglob("*") if p.is_file()) / 2**20


def builds(specs: Sequence[CorpusSpec], embedder: str, work: Path, options: argparse.Namespace) -> Iterator[Figures]:
    """Measure a build with one embedder, then building it again without a change."""
    store = work / f"store-{embedder.replace(':', '-').replace('/', '-')}"
    corpora = [part for spec in specs for part in ("--corpus", spec.text)]
    yield index(embedder, store, ["build", *corpora, "--embedder", embedder])
    if options.unchanged:
        yield index(f"unchanged ({embedder})", store, ["update"])


def doubled(specs: Sequence[CorpusSpec], embedder: str, work: Path) -> Iterator[Figures]:
    """Measure the files of all corpora once and twice, as folders of one corpus: the ratio is what counts."""
    for copies in (1, 2):
        folder = work / f"copies-{copies}"
        for copy in range(copies):
            for spec in specs:
                write_files(spec, folder / f"part{copy}" / spec.manifest.name, part=f"Part{copy}")
        command = ["build", "--corpus", f"{ANY_FILES}={folder}", "--embedder", embedder]
        yield index(f"copies: {copies}", work / f"store-copies-{copies}", command)
        shutil.rmtree(folder)


def update(specs: Sequence[CorpusSpec], embedder: str, work: Path, revisions: Sequence[str]) -> Iterator[Figures]:
    """Measure building the first corpus at an old revision with the others, and updating it to a new one."""
    old, new = revisions
    store = work / "store-update"
    others = [part for spec in specs[1:] for part in ("--corpus", spec.text)]
    for name, revision, rest in ((f"at {old[:12]}", old, others), (f"update to {new[:12]}", new, [])):
        first = f"{specs[0].manifest.name}={specs[0].place}@{revision}"
        yield index(name, store, ["build", "--corpus", first, *rest, "--embedder", embedder])


def write_files(spec: CorpusSpec, folder: Path, part: str = "") -> None:
    """Write the files of a corpus that its manifest takes; `part` is put into their names, and so into their texts.

    Copies with different parts are embedded each: what is embedded of a passage begins with the name of its file.
    """
    tree, _ = open_tree(spec)
    entries = [entry for entry in tree.entries() if spec.manifest.takes(entry.path)]
    for entry, content in tree.read(entries):
        path = folder / entry.path
        path = path.with_name(f"{path.stem}{part}{path.suffix}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def peer(specs: Sequence[CorpusSpec], work: Path, options: argparse.Namespace) -> Figures:
    """Measure semble on the same files."""
    python = Path(options.peer_python) if options.peer_python else peer_python(options.cache / "semble")
    model = Path(options.peer_model) if options.peer_model else peer_model(python, options.cache / "semble-model")
    for spec in specs:
        write_files(spec, work / "files" / spec.manifest.name)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    made: dict[str, Any] = build_peer(python, model, work / "files", work / "peer")
    wall = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    stages = {"build": made["build"], "save": made["save"]}
    name = f"semble 0.7.0 ({made['files']} files)"
    return Figures(name, wall, cpu, stages, made["peak_mib"], made["passages"], _mib(work / "peer" / "index"))


def measure(options: argparse.Namespace, work: Path) -> Iterator[Figures]:
    """Yield each measurement as it ends."""
    specs = [parse_spec(text) for text in options.corpora]
    embedders = options.embedder or ["wordllama", "none"]
    for embedder in embedders:
        yield from builds(specs, embedder, work, options)
    if options.doubled:
        yield from doubled(specs, embedders[0], work)
    if options.update:
        yield from update(specs, embedders[0], work, options.update)
    if options.peer:
        yield peer(specs, work, options)


@contextmanager
def workplace(kept: Path | None) -> Iterator[Path]:
    """Give a folder for the stores: the one named, which stays, or one that is removed."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="tritonkb-bench-") as folder:
        yield Path(folder)


def main() -> int:
    """Print the table; exit 1 where a requirement is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", metavar="NAME=PATH[@REV]")
    parser.add_argument("--embedder", action="append", help="may be repeated (default: wordllama and none)")
    parser.add_argument("--unchanged", action="store_true", help="update once more without a change")
    parser.add_argument("--doubled", action="store_true", help="the corpora's files once and twice")
    parser.add_argument("--update", nargs=2, metavar=("OLD", "NEW"), help="revisions of the first corpus")
    parser.add_argument("--no-peer", dest="peer", action="store_false", help="leave semble out")
    parser.add_argument("--peer-python", help="Python with semble (default: an environment in --cache)")
    parser.add_argument("--peer-model", help="folder of a model2vec model for semble (default: made in --cache)")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/tritonkb-bench", help="for the peer")
    parser.add_argument("--work", type=Path, help="keep stores and files here")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    print(f"load {os.getloadavg()[0]:.1f} at the start\n\n{HEAD}", flush=True)
    found: list[Figures] = []
    with workplace(options.work) as work:
        for figures in measure(options, work):
            found.append(figures)
            print(figures.line(), flush=True)
    ratio = _ratio(found)
    if ratio is not None:
        print(f"\ncorpus doubled: {ratio:.2f} times as long ({'met' if ratio <= DOUBLED_RATIO else 'MISSED'})")
    print(f"\nload {os.getloadavg()[0]:.1f} at the end")
    if options.json:
        options.json.write_text(json.dumps([asdict(f) for f in found], indent=1))
    missed = any("MISSED" in _verdict(f) for f in found) or (ratio is not None and ratio > DOUBLED_RATIO)
    return int(missed)


def _ratio(found: Sequence[Figures]) -> float | None:
    copies = [f.wall_s for f in found if f.name.startswith("copies")]
    return copies[1] / copies[0] if len(copies) == 2 else None


if __name__ == "__main__":
    sys.exit(main())

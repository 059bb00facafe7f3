"""The dumps of one compiler run: a tree of files, put in the order the passes ran."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from indexer.ir.snapshots import PassRun

# What each compiler is asked: a file for every pass that changed something. Threads off: function passes would run at
# once, so the order of files would be chance (and bishengir-compile then crashes at times).
TREE_FLAGS = ("--mlir-disable-threading", "--mlir-print-ir-after-all")
CHANGED_ONLY = ("--mlir-print-ir-after-change", "--mlir-print-op-generic", "--mlir-print-debuginfo")
# A file for every pass, with nothing inside: only the list of passes is wanted.
NAMES_ONLY = ("--mlir-print-skip-regions",)

_NAME = re.compile(r"^\d+(?:_\d+)*_(.+)\.mlir$")
_FUNCTION_FOLDER = re.compile(r"^(?:func|llvm)_func_(.+)$")
_FAILED = re.compile(r"^// -----// IR Dump After \S+ Failed \(")
_PASS_ID = re.compile(r"^\[PassID\] (\S+?)/(\S+)/\d+$", re.MULTILINE)

# The first passes of both compilers; each attempt at compiling begins with them.
_FIRST = "hacc-append-device-spec"
_BEFORE_FIRST = "canonicalize-module"


def read_tree(folder: Path) -> list[tuple[PassRun, Path]]:
    """Return the dumps below `folder` in the order they were written.

    The counters in the names cannot give it: the compiler for 950 runs three pipelines, each counting from 0.
    """
    found = [(path.stat().st_mtime_ns, path) for path in folder.rglob("*.mlir")]
    return [(_pass_run(path), path) for _, path in sorted(found)]


def last_attempt(runs: Sequence[PassRun]) -> int:
    """Return where the last attempt begins: a compiler that runs out of memory starts again with other options."""
    starts = [i for i, run in enumerate(runs) if run.argument == _FIRST]
    if not starts:
        return 0
    start = starts[-1]
    return start - 1 if start and runs[start - 1].argument == _BEFORE_FIRST else start


def count_attempts(runs: Sequence[PassRun]) -> int:
    """Count how often the pipeline was started."""
    return sum(run.argument == _FIRST for run in runs)


def parse_pass_ids(stdout: str) -> list[PassRun]:
    """Read the list of passes that `--print-pass-id` prints; adaptors, which only descend, are dropped."""
    return [PassRun(m[1], m[2]) for m in _PASS_ID.finditer(stdout) if not m[1].startswith("mlir::")]


def is_failed(text: str) -> bool:
    """Say whether this dump is of a pass that failed."""
    return bool(_FAILED.match(text))


def _pass_run(path: Path) -> PassRun:
    name = _NAME.match(path.name)
    function = _FUNCTION_FOLDER.match(path.parent.name)
    argument = name[1] if name else path.stem
    return PassRun(argument, function[1]) if function else PassRun(argument)


def is_source(path: Path) -> bool:
    """Say whether this dump shows what came in, before the first pass."""
    with path.open(encoding="utf-8", errors="replace") as dump:
        return dump.readline().startswith("// -----// IR Dump Before")


def failing_pass(dumps: Sequence[Path], among: Collection[str] | None) -> str | None:
    """Return the pass whose dump says that it failed, the outermost of nested ones; only those of `among` count."""
    for path in reversed(dumps):
        argument = _pass_run(path).argument
        if among is not None and argument not in among:
            continue
        with path.open(encoding="utf-8", errors="replace") as dump:
            return argument if is_failed(dump.readline()) else None
    return None

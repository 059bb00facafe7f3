"""Open every range that the questions name as an answer, and look for what must stand in it.

    python bench/questions/check.py --sources DIR

DIR holds a checkout or a bare repository for each corpus, named like it (`ascendnpu-ir`, `triton-ascend`). A range
fails when its file is not there at that commit, when it lies outside the file, or when it does not contain the string
that `holds` gives for it. For the questions that the trees cannot answer, each string in `absent` must occur in no
file, in whatever case.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
# The commits that the questions were written from, by the name of the repository in the questions.
COMMITS = {
    "AscendNPU-IR": "52f96a130b52fa3d10a236aaa2e1f868f1578b88",
    "triton-ascend": "a84b1eb52b6215e2c171632f2df0892f1003cfc8",
}
# Each fold's file of answerable questions and its file of unanswerable ones.
FOLDS = {"dev": "unanswerable", "heldout": "unanswerable-heldout"}
# The second development set was written apart from the ranking and has no unanswerable ones of its own.
ANSWERABLE = (*FOLDS, "second")
_GIT_SECONDS = 120


def read_rows(name: str) -> list[dict[str, Any]]:
    """Return the questions of one file of this folder, by its name without `.jsonl`."""
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def is_held_out(question_id: str, *, one_in: int) -> bool:
    """Say whether a question is held out: of each `one_in` consecutive numbers the one with the least hash is."""
    prefix, _, number = question_id.rpartition("-")
    first = (int(number) - 1) // one_in * one_in + 1
    block = (f"{prefix}-{n:0{len(number)}d}" for n in range(first, first + one_in))
    return question_id == min(block, key=lambda name: hashlib.sha256(name.encode()).hexdigest())


def faults(sources: Path) -> Iterator[str]:
    """Yield a line for each range that does not hold its answer, and for each string that should be nowhere."""
    for row in (row for name in ANSWERABLE for row in read_rows(name)):
        for answer, held in zip(row["answers"], row["holds"], strict=True):
            if fault := _fault(sources, answer, held):
                yield f"{row['id']}: {answer['repo']}:{answer['path']}:{answer['start']}-{answer['end']}: {fault}"
    absent = {word: row["id"] for name in FOLDS.values() for row in read_rows(name) for word in row["absent"]}
    for word in _occurring(sources, absent):
        yield f"{absent[word]}: the trees contain {word!r}"


def _fault(sources: Path, answer: dict[str, Any], held: str) -> str | None:
    lines = _lines(sources, answer["repo"], answer["path"])
    if lines is None:
        return "no such file"
    if not 1 <= answer["start"] <= answer["end"] <= len(lines):
        return f"the file has {len(lines)} lines"
    return None if held in "\n".join(lines[answer["start"] - 1 : answer["end"]]) else f"does not hold {held!r}"


@cache
def _lines(sources: Path, repo: str, path: str) -> list[str] | None:
    shown = _git(sources, repo, "show", f"{COMMITS[repo]}:{path}")
    return shown.stdout.decode(errors="replace").splitlines() if shown.returncode == 0 else None


def _occurring(sources: Path, words: Iterable[str]) -> list[str]:
    """Return those words that stand in some file; all are looked for in one pass, as a pass takes seconds."""
    patterns = [part for word in words for part in ("-e", word)]
    found = [_git(sources, repo, "grep", "-hoiF", *patterns, commit) for repo, commit in COMMITS.items()]
    seen = {line.lower() for one in found for line in one.stdout.decode(errors="replace").splitlines()}
    return [word for word in words if word.lower() in seen]


def _git(sources: Path, repo: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "-C", str(sources / repo.lower()), *arguments]
    return subprocess.run(command, capture_output=True, timeout=_GIT_SECONDS, check=False)


def main() -> int:
    """Print what is wrong and a count; the status is 1 when something is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, required=True)
    found = list(faults(parser.parse_args().sources))
    for line in found:
        print(line)
    counts = {name: len(read_rows(name)) for name in (*ANSWERABLE, *FOLDS.values())}
    ranges = sum(len(row["answers"]) for name in ANSWERABLE for row in read_rows(name))
    print(", ".join(f"{name} {count}" for name, count in counts.items()), f"- {ranges} ranges, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

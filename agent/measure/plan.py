"""What a bundle is to do, read from `plan.json`, and how plan, files and results are tied together by hashes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLAN = "plan.json"
RESULTS = "results.jsonl"
FORMAT = 1


@dataclass(frozen=True)
class Candidate:
    """One file to try beside the initial kernel; `note` says what it does differently."""

    id: str
    file: str
    note: str


@dataclass(frozen=True)
class Kernel:
    """One kernel: the file as it is, the candidates for it, and (or "") an expert's version to compare with."""

    id: str
    initial: str
    expert: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Plan:
    """All of a bundle: `files` maps each path to its hash, `twice` names the kernels that are timed a second time."""

    target: str
    device: str
    seeds: tuple[int, ...]
    kernels: tuple[Kernel, ...]
    twice: tuple[str, ...]
    files: dict[str, str]
    sha256: str

    def kernel(self, name: str) -> Kernel:
        """Return the kernel of that name."""
        return next(kernel for kernel in self.kernels if kernel.id == name)


def read_plan(folder: Path) -> Plan:
    """Read the plan of a bundle; raises `ValueError` when it has another form."""
    raw = (folder / PLAN).read_bytes()
    fields = json.loads(raw)
    if fields.get("format") != FORMAT:
        raise ValueError(f"{folder / PLAN} has format {fields.get('format')}, this program reads {FORMAT}")
    kernels = tuple(
        Kernel(k["id"], k["initial"], k["expert"], tuple(Candidate(**c) for c in k["candidates"]))
        for k in fields["kernels"]
    )
    return Plan(
        target=fields["target"],
        device=fields["device"],
        seeds=tuple(fields["seeds"]),
        kernels=kernels,
        twice=tuple(fields["twice"]),
        files=fields["files"],
        sha256=hashlib.sha256(raw).hexdigest(),
    )


def file_digest(path: Path) -> str:
    """Return the sha256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def seal(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the record with the hash of everything else in it."""
    rest = {name: value for name, value in fields.items() if name != "sha256"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False)
    return {**rest, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def is_sealed(fields: dict[str, Any]) -> bool:
    """Tell whether a record is as it was sealed."""
    return bool(fields.get("sha256") == seal(fields)["sha256"])


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Return the whole records of `results.jsonl`; a last line cut by a kill is left out."""
    path = folder / RESULTS
    if not path.exists():
        return []
    *lines, _cut = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines]

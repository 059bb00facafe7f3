"""Which bundles were made here: a note a bundle under the data folder, by the hash of its plan."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from agent.journal import write_whole
from indexer.home import data_home


@dataclass(frozen=True, slots=True)
class Made:
    """A bundle as it was made; `runs` are the runs ("": plain files) whose kernels are in it, by kernel."""

    plan: str
    folder: str
    runs: dict[str, str]


def note_made(made: Made) -> None:
    """Remember a bundle."""
    write_whole(_path(made.plan), json.dumps(asdict(made)))


def read_made(plan: str) -> Made | None:
    """Return the bundle whose plan has this hash, None where none was made here."""
    path = _path(plan)
    return Made(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def _path(plan: str) -> Path:
    return data_home() / "bundles" / f"{plan}.json"

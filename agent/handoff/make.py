"""Writes a bundle: candidates, what is needed to check and time them, a plan with the hash of every file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from agent.journal import write_whole
from agent.measure.plan import FORMAT, PLAN
from indexer.errors import BadInput

SEEDS = (0, 1, 2)
_RUN = '''"""Measure this bundle: `python3 run.py --seconds 480`. Needs torch and triton; started again, it goes on."""

import os
import sys
from pathlib import Path

os.chdir(Path(__file__).resolve().parent)
sys.path.insert(0, os.getcwd())
from measure.schedule import main

sys.exit(main())
'''


@dataclass(frozen=True, slots=True)
class Offer:
    """One candidate of a bundle: its text, and in one line what is different in it."""

    text: str
    note: str


@dataclass(frozen=True, slots=True)
class Parcel:
    """One kernel of a bundle: the text as it is, an expert's version ("": none), the candidates."""

    id: str
    initial: str
    expert: str
    offers: tuple[Offer, ...]


def device_of(target: str) -> str:
    """Return PyTorch's name of the device type of a target; `cpu` tries a bundle where there is no device."""
    if target == "cpu":
        return target
    return "cuda" if target.startswith("cuda") else "npu"


def write_bundle(folder: Path, target: str, parcels: Sequence[Parcel], twice: Iterable[str] = ()) -> str:
    """Write a bundle into a new folder and return the hash of its plan; raises `BadInput` when the folder has one."""
    if (folder / PLAN).exists():
        raise BadInput("handoff.exists", folder=folder)
    files: dict[str, str] = {}

    def put(path: str, text: str) -> str:
        write_whole(folder / path, text)
        files[path] = hashlib.sha256(text.encode()).hexdigest()
        return path

    kernels = []
    for parcel in parcels:
        base = f"kernels/{parcel.id}"
        kernels.append(
            {
                "id": parcel.id,
                "initial": put(f"{base}/initial.py", parcel.initial),
                "expert": put(f"{base}/expert.py", parcel.expert) if parcel.expert else "",
                "candidates": [
                    {"id": f"c{n:02d}", "file": put(f"{base}/c{n:02d}.py", offer.text), "note": offer.note}
                    for n, offer in enumerate(parcel.offers, 1)
                ],
            }
        )
    for name, text in _program():
        put(name, text)
    plan = {
        "format": FORMAT,
        "target": target,
        "device": device_of(target),
        "seeds": list(SEEDS),
        "twice": list(twice),
        "kernels": kernels,
        "files": files,
    }
    text = json.dumps(plan, indent=1, sort_keys=True)
    write_whole(folder / PLAN, text)
    return hashlib.sha256(text.encode()).hexdigest()


def _program() -> Iterable[tuple[str, str]]:
    """Yield the files of the measuring program."""
    yield "run.py", _RUN
    for entry in sorted(resources.files("agent.measure").iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".py"):
            yield f"measure/{entry.name}", entry.read_text(encoding="utf-8")

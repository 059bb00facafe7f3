"""What a request to the use cases is made of, without what answers it: cheap to import, and it travels."""

from __future__ import annotations

import time
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from agent.contract import RoundDoc
from agent.knowledge import Library
from agent.ladder import ROUNDS, Ladder
from agent.records import Entry, KernelSource
from agent.sandbox import SandboxPolicy
from indexer.errors import BadInput
from indexer.messages import Lang


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, as the user configured it."""

    prompt: float
    completion: float
    currency: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """The model that the user named, and what it may take: tokens of a run, seconds of a round, tokens of an answer.

    `replay` is a record that answers in place of the endpoint.
    """

    name: str
    tokens: int = 400_000
    seconds: float = 600.0
    answer_tokens: int = 4_000
    price: Price | None = None
    replay: Path | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """Where a use case works: target, the sandbox's policy, the index (None: none is used), language, the store.

    `model` is None unless the user named one. `learns`: what earlier runs taught is used, and more is kept.
    """

    target: str
    policy: SandboxPolicy
    library: Library | None
    lang: Lang
    store: str | None = None
    model: ModelRequest | None = None
    learns: bool = True


def read_source(path: Path, entry: Entry) -> KernelSource:
    """Read a kernel file; raises `BadInput` when it is missing, a folder, a pipe, not UTF-8 or empty."""
    try:
        text = _read_regular(path)
    except FileNotFoundError as error:
        beside = sorted(p.name for p in path.parent.glob("*.py")) if path.parent.is_dir() else []
        near = get_close_matches(path.name, beside, 5) or beside[:5]
        raise BadInput("app.no_file", path=path, near=", ".join(near) or "-") from error
    except IsADirectoryError as error:
        raise BadInput("app.is_folder", path=path) from error
    except UnicodeDecodeError as error:
        raise BadInput("app.not_text", path=path) from error
    except OSError as error:
        raise BadInput("app.unreadable", path=path, reason=error.strerror) from error
    if not text.strip():
        raise BadInput("app.empty_file", path=path)
    return KernelSource(path, text, entry)


def _read_regular(path: Path) -> str:
    if path.exists() and not path.is_file() and not path.is_dir():  # to read a pipe is to wait for its writer
        raise BadInput("app.not_regular", path=path)
    return path.read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Goal:
    """When to stop: after `rounds`, or at a speedup of `target_speedup`; `ladder` says what evidence may be used."""

    rounds: int = ROUNDS
    target_speedup: float | None = None
    ladder: Ladder = "full"


@dataclass(frozen=True, slots=True)
class Run:
    """What to optimise, until when, in which folder; `resume` goes on with the run that is there."""

    source: KernelSource
    goal: Goal
    folder: Path
    resume: bool = False


@dataclass(frozen=True, slots=True)
class Started:
    """A run began."""

    run: Run


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """A round of a run ended."""

    run: Run
    entry: RoundDoc


@dataclass(frozen=True, slots=True)
class ModelWrites:
    """A model's answer is on its way: so many characters have come."""

    run: Run
    characters: int


RunEvent = Started | RoundEnded | ModelWrites


def default_folder(source: Path, target: str) -> Path:
    """Return the folder of a new run beside the caller: `tritonkb-runs/NAME-TARGET-TIME`."""
    return Path("tritonkb-runs") / f"{source.stem}-{target}-{time.strftime('%Y%m%d-%H%M%S')}"

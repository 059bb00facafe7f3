"""Exchanges on disk, a JSON object a line, without keys and headers: kept, and answered from again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from agent.llm.records import Form, Refused, Reply, Request, Send
from indexer.errors import FULL, BadInput, ModelError, StoreError

_KINDS: Mapping[str, type[Reply | Refused]] = {"Reply": Reply, "Refused": Refused}
Answers = dict[str, list[Reply | Refused]]


@dataclass(frozen=True, slots=True)
class Recording:
    """Appends every exchange to a file; it is on the disk before the answer is used. Raises `StoreError`."""

    send: Send
    path: Path

    def __call__(self, request: Request, seconds: float) -> Reply | Refused:
        """Send, and keep what was sent and answered."""
        began = time.monotonic()
        answer = self.send(request, seconds)
        entry = {
            "request": asdict(request), "answer": type(answer).__name__, **asdict(answer),
            "seconds": round(time.monotonic() - began, 3),
        }  # fmt: skip
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            key = "journal.disk_full" if error.errno in FULL else "journal.not_written"
            raise StoreError(key, path=self.path, reason=error.strerror) from error
        return answer


class Replay:
    """Answers each request as a record does, without a network; raises `ModelError` for one that is not in it."""

    def __init__(self, path: Path) -> None:
        try:
            self._answers = _answers(path.read_text(encoding="utf-8").splitlines())
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput("llm.no_record", path=path, reason=error) from error

    def __call__(self, request: Request, seconds: float) -> Reply | Refused:  # noqa: ARG002 - a record needs no time
        """Answer from the record, in its order."""
        answers = self._answers.get(_key(asdict(request)))
        if not answers:
            raise ModelError("llm.not_recorded", model=request.model)
        return answers.pop(0)


class Ledger:
    """The exchanges of one run: what is in its file is answered from there, all else is sent once and kept.

    A last line that a crash cut is removed: that exchange was not used yet. `form` and `without` are what the last
    answered request left off, for a server that does not know them.
    """

    def __init__(self, send: Send, path: Path) -> None:
        lines = _whole_lines(path)
        try:
            self._answers = _answers(lines)
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput("llm.no_record", path=path, reason=error) from error
        replies = [entry["request"] for line in lines if (entry := json.loads(line))["answer"] == "Reply"]
        self.form: Form = replies[-1]["form"] if replies else "json_schema"
        self.without: tuple[str, ...] = tuple(replies[-1]["without"]) if replies else ()
        self._recording = Recording(send, path)

    def __call__(self, request: Request, seconds: float) -> Reply | Refused:
        """Answer from the file where it can, else send and keep."""
        known = self._answers.get(_key(asdict(request)))
        return known.pop(0) if known else self._recording(request, seconds)


def _answers(lines: list[str]) -> Answers:
    found: Answers = {}
    for line in lines:
        entry = json.loads(line)
        kind = _KINDS[entry["answer"]]
        answer = kind(**{each.name: entry[each.name] for each in fields(kind) if each.name in entry})
        found.setdefault(_key(entry["request"]), []).append(answer)
    return found


def _whole_lines(path: Path) -> list[str]:
    text = path.read_bytes() if path.exists() else b""
    whole = text[: text.rfind(b"\n") + 1]
    if whole != text:
        with path.open("rb+") as file:
            file.truncate(len(whole))
    return whole.decode("utf-8", "replace").splitlines()


def _key(request: Mapping[str, Any]) -> str:
    told = {name: request[name] for name in ("model", "system", "user", "form")}
    return json.dumps({**told, "turns": list(request.get("turns", ()))}, sort_keys=True)

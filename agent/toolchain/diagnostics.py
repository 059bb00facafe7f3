"""What a compiler said -> diagnostics, the real cause first, at the user's line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from agent.records import BufferPlan, Diagnostic
from agent.toolchain.targets import Target
from indexer.ir.brackets import closing
from indexer.ir.places import Places
from indexer.messages import Message, message, render

_SEVERITY = re.compile(r"(?P<severity>error|warning|remark|note): (?P<text>.*)$")
# Printed by the compilers after the real error, whatever it was.
_NOISE = re.compile(r"Failed to run \w+ pipeline|Failed to run BiShengIR pipeline|^\s*$")
_OVERFLOW = re.compile(r"\b(ub|cbuf|cc) overflow, requires (\d+) bits while (\d+) bits available")
_RETRY = re.compile(r"^\[NOTE\] .* detected; automatically set (\S+) to (\S+) and retrying", re.MULTILINE)
_CAUSES = ("overflow", "failed to verify", "failed to legalize", "error")
_SPACE_NAMES = {"ub": "UB", "cbuf": "L1", "cc": "L0C"}

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Overflow:
    """An on-chip memory that is too small, as the compiler states it; `said` are its words."""

    space: str
    needed_bytes: int
    available_bytes: int
    said: str = ""


def parse_diagnostics(output: str, user_file: str, stage: str, failing_pass: str | None) -> list[Diagnostic]:
    """Read a compiler's standard error; each thing is said once, causes before consequences."""
    places = Places({}, user_file)
    found: dict[tuple[str, int | None], Diagnostic] = {}
    # The compilers print what was said last first.
    for line in reversed(output.splitlines()):
        parsed = _parse_line(line, places, stage, failing_pass)
        if parsed is not None:
            found.setdefault((parsed.message, parsed.line), parsed)
    return sorted(found.values(), key=_rank)


def find_overflow(diagnostics: Iterable[Diagnostic]) -> Overflow | None:
    """Return the overflow among `diagnostics`; the tightest memory when there are several."""
    matches = [m for m in (_OVERFLOW.search(d.message) for d in diagnostics) if m]
    if not matches:
        return None
    worst = max(matches, key=lambda m: int(m[2]) / int(m[3]))
    return Overflow(worst[1], int(worst[2]) // 8, int(worst[3]) // 8, worst.string)


def explain_overflow(overflow: Overflow, largest: BufferPlan | None, pass_argument: str) -> Diagnostic:
    """Say an overflow in bytes, with the largest buffer and its line."""
    space, needed, available = _SPACE_NAMES[overflow.space], overflow.needed_bytes, overflow.available_bytes
    said = overflow.said
    if largest is None or largest.line is None:
        note = message("compile.overflow", space=space, needed=needed, available=available, said=said)
        return _own(note, None, "bishengir", pass_argument)
    size, line = largest.bytes * largest.copies, largest.line
    note = message(
        "compile.overflow_at", space=space, needed=needed, available=available, said=said, buffer=size, line=line
    )
    return _own(note, line, "bishengir", pass_argument)


def crashed(stage: str, program: str, code: int, pass_argument: str | None) -> Diagnostic:
    """Say that the compiler itself crashed, twice, on this kernel."""
    return _own(message("compile.crashed", program=program, signal=-code), None, stage, pass_argument)


def timed_out(stage: str, program: str, seconds: float) -> Diagnostic:
    """Say that the compiler was killed at the time limit."""
    return _own(message("compile.timed_out", program=program, seconds=f"{seconds:g}"), None, stage, None)


def silent_failure(stage: str, program: str, code: int, output: str) -> Diagnostic:
    """Say that the compiler failed without an error we can read, with the last line it printed."""
    lines = [line for line in output.splitlines() if not _NOISE.search(line)]
    last = lines[-1].strip() if lines else "-"
    return _own(message("compile.silent", program=program, code=code, last=last), None, stage, None)


def switched_off(options: Iterable[str]) -> list[Diagnostic]:
    """Warn of each option that the compiler turned off to make the kernel fit."""
    notes = [message("compile.switched_off", option=option) for option in options]
    return [_own(note, None, "bishengir", None, "warning") for note in notes]


def limits_differ(stated: Mapping[str, int], target: Target) -> list[Diagnostic]:
    """Warn where the compiler's own limits are not those of our table."""
    known = {"ub": target.ub_bytes, "cbuf": target.l1_bytes, "cc": target.l0c_bytes}
    notes = [
        message("compile.limits_differ", stated=size, known=known[space], space=_SPACE_NAMES[space], target=target.name)
        for space, size in stated.items()
        if size != known[space]
    ]
    return [_own(note, None, "bishengir", None, "warning") for note in notes]


def retried_options(stderr: str) -> tuple[str, ...]:
    """Return the options that the A2/A3 compiler set to another value before its last attempt."""
    return tuple(dict.fromkeys(found[1] for found in _RETRY.finditer(stderr)))


def _own(
    note: Message, line: int | None, stage: str, pass_argument: str | None, severity: Severity = "error"
) -> Diagnostic:
    return Diagnostic(severity, render(note, "en"), line, stage, pass_argument, note)


def _parse_line(line: str, places: Places, stage: str, failing_pass: str | None) -> Diagnostic | None:
    location, rest = _split_place(line)
    found = _SEVERITY.match(rest)
    if not found or _NOISE.search(found["text"]):
        return None
    severity: Severity = "error" if found["severity"] == "error" else "note"
    if found["severity"] == "warning":
        severity = "warning"
    place = places.resolve(location) if location else None
    blamed = failing_pass if severity == "error" else None
    return Diagnostic(severity, found["text"].strip(), place.line if place else None, stage, blamed)


def _split_place(line: str) -> tuple[str, str]:
    """Split `loc(x): error: …` or `file:3:0: error: …` into the location's text, as MLIR writes it, and the rest."""
    if line.startswith("loc("):
        end = closing(line, 3)
        return line[4 : end - 1], line[end:].removeprefix(":").strip()
    found = re.match(r"(.+?):(\d+):(\d+): ", line)
    if found:
        return f'"{found[1]}":{found[2]}:{found[3]}', line[found.end() :]
    return "", line.strip()


def _rank(diagnostic: Diagnostic) -> tuple[int, int]:
    severity = ("error", "warning", "note").index(diagnostic.severity)
    cause = next((i for i, words in enumerate(_CAUSES) if words in diagnostic.message), len(_CAUSES))
    return severity, cause

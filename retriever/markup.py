"""Marks that a quote must not tear: code fences, rows of HTML tables, options of the toolchain's catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

FENCE = re.compile(r"^\s*(?:```|~~~)")
# A fence is completed by the lines up to its other end where those are few, else by that end alone.
FEW = 8
# A catalogue's line is kept that has this share of the best line's weight.
LINE_SHARE = 0.5
MAX_KEPT = 8
# An item of a note: what it is called, and the one that says what to do.
_ITEM = re.compile(r"^- (?P<name>[^:：]{1,40})[:：]")
_DO = frozenset({"fix", "改法"})
# Items that are for programs, and a line that is nothing but where something stands.
_FOR_PROGRAMS = frozenset({
    "symptom", "pass", "passes", "op", "ops", "targets", "target", "relies on", "症状", "算子", "目标", "前提",
})  # fmt: skip
_PLACE = re.compile(r"^\s*(?:`[\w.-]+@[0-9a-f]{7,40}:[^`]+`[,;，；]?\s*)+$")
MAX_ITEMS = 2
_ROW = re.compile(r"<(?P<end>/?)tr\b")
_HEADER = re.compile(r"^(?:pass|option) ")


def is_table(lines: Sequence[str]) -> bool:
    """Tell whether the lines hold rows of an HTML table."""
    return any(_ROW.search(line) for line in lines)


def whole_rows(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """Grow to the rows that the lines are part of."""
    while first > 0 and _open_rows(lines[:first]):
        first -= 1
    while last + 1 < len(lines) and _open_rows(lines[: last + 1]):
        last += 1
    return first, last


def whole_fences(lines: Sequence[str], first: int, last: int) -> tuple[int, int, str, str]:
    """Return lines that begin and end outside a fence, or the fence to write before and after them."""
    fences = [i for i, line in enumerate(lines) if FENCE.match(line)]
    before = after = ""
    opening = next((i for i in reversed(fences) if i < first), None)
    if opening is not None and sum(i < first for i in fences) % 2:
        first, before = (opening, "") if first - opening <= FEW else (first, lines[opening])
    closing = next((i for i in fences if i > last), None)
    if sum(i <= last for i in fences) % 2 and closing is not None:
        last, after = (closing, "") if closing - last <= FEW else (last, lines[closing])
    return first, last, before, after


def is_catalogue(lines: Sequence[str]) -> bool:
    """Tell whether a compiler's help is quoted: a pass or an option on the first line, then one line for each."""
    return _HEADER.match(lines[0]) is not None


def kept_lines(lines: Sequence[str], found: Sequence[set[str]], weights: Mapping[str, float]) -> list[int]:
    """Return the head of a catalogue's entry and the lines that match best, each option with its first values."""
    values = [sum(weights[w] for w in words) for words in found]
    least = LINE_SHARE * max(values[1:], default=0.0)
    kept = {0}
    for i in sorted(range(1, len(lines)), key=lambda i: -values[i]):
        if len(kept) < MAX_KEPT and values[i] > 0 and values[i] >= least:
            kept |= {i, *_values_after(lines, i)}
            kept |= {_option_of(lines, i)} if lines[i].lstrip().startswith("=") else set()
    return sorted(kept)


def kept_items(lines: Sequence[str], found: Sequence[set[str]], weights: Mapping[str, float]) -> list[int]:
    """Return a note's heading, the items that match best and the one that says what to do; none of another text."""
    starts = [i for i, line in enumerate(lines) if _ITEM.match(line)]
    heading = next((i for i, line in enumerate(lines) if line.startswith("## ")), None)
    if heading is None or not starts:
        return []
    values: dict[int, float] = {}
    for start in starts:
        words = set().union(*(found[i] for i in range(start, _item_end(lines, start))))
        values[start] = sum(weights[w] for w in words)
    told = [i for i in starts if _name_of(lines[i]) not in _FOR_PROGRAMS and values[i] > 0]
    best = sorted(told, key=lambda i: -values[i])[:MAX_ITEMS]
    chosen = {i for i in best if values[i] >= LINE_SHARE * values[best[0]]}
    chosen |= {i for i in starts if _name_of(lines[i]) in _DO}
    kept = {i for start in chosen for i in range(start, _item_end(lines, start)) if not _PLACE.match(lines[i])}
    return sorted({heading, *kept}) if kept else []


def _item_end(lines: Sequence[str], start: int) -> int:
    return next((i for i in range(start + 1, len(lines)) if not lines[i].startswith("  ")), len(lines))


def _name_of(line: str) -> str:
    found = _ITEM.match(line)
    return found["name"].strip().lower() if found else ""


def _values_after(lines: Sequence[str], at: int) -> list[int]:
    """Return the few lines with values of the option on line `at`."""
    end = at + 1
    while end < len(lines) and lines[end].lstrip().startswith("="):
        end += 1
    return list(range(at + 1, end)) if not lines[at].lstrip().startswith("=") and end - at <= FEW else []


def _option_of(lines: Sequence[str], at: int) -> int:
    return next((i for i in range(at, 0, -1) if lines[i].lstrip().startswith("--")), 0)


def _open_rows(lines: Sequence[str]) -> bool:
    marks = [m["end"] for line in lines for m in _ROW.finditer(line)]
    return bool(marks) and not marks[-1]

"""Under which conditions a line of code is reached, as far as the indentation of its passage shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from indexer.diagnostics import pieces_of
from indexer.graph.messages import messages_of
from indexer.records import Passage

_BRANCH = re.compile(
    r"^(?:\}\s*)?(?:(?P<other>else\s+if\b|elif\b)|(?P<otherwise>else\b)|(?P<if>if\b)|(?P<case>case\b|default:))"
)
# A call has so many lines at most.
STATEMENT_LINES = 12
CONDITION_LINES = 8
MAX_CONDITION = 240  # characters


@dataclass(frozen=True, slots=True)
class Reached:
    """A line of a passage (1-based, in the file), and the innermost conditions around it, the nearest first.

    `since` is the line where the nearest condition begins; `line` itself where there is none in the passage.
    """

    passage: Passage
    line: int
    since: int
    conditions: tuple[str, ...]


def reached(passage: Passage, index: int) -> Reached:
    """Return the conditions around line `index` (0-based) of the passage."""
    lines = passage.text.split("\n")
    found = list(_around(lines, index))
    since = found[0][0] if found else index
    return Reached(passage, passage.start_line + index, passage.start_line + since, tuple(text for _, text in found))


def conditions_above(passage: Passage, index: int, first: int) -> tuple[str, ...]:
    """Return the conditions around line `index` that stand above line `first` (0-based), the nearest first."""
    return tuple(text for at, text in _around(passage.text.split("\n"), index) if at < first)


def emitted(passage: Passage, template: str) -> Reached | None:
    """Return the line of `passage` that emits the masked message, and its conditions; None where it does not."""
    lines = passage.text.split("\n")
    low, high = 0, len(lines)  # the message is among those of lines[low:], and not of lines[high:]
    if template not in messages_of(passage):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if template in messages_of(replace(passage, text="\n".join(lines[middle:]))):
            low = middle
        else:
            high = middle
    first = max(pieces_of(template), key=len).split()[:2]
    spoken = [
        i for i in range(low, min(low + STATEMENT_LINES, len(lines))) if all(w in lines[i].lower() for w in first)
    ]
    emitting = reached(passage, low)
    return replace(emitting, line=passage.start_line + (spoken[0] if spoken else low))


def _around(lines: Sequence[str], index: int) -> Iterator[tuple[int, str]]:
    """Yield (line, condition) outwards; an `else` denies the conditions before it."""
    depth = _indent(lines[index]) + 1  # an `if` may stand on the line itself
    denied = False
    for at in range(index, -1, -1):
        line = lines[at].strip()
        inner = _indent(lines[at]) < depth or (denied and _indent(lines[at]) == depth)
        if not line or line.startswith("#") or not inner:
            continue
        branch = _BRANCH.match(line)
        if denied and not (branch and (branch["if"] or branch["other"])) and _indent(lines[at]) == depth:
            continue
        depth = _indent(lines[at])
        if branch is None or branch["case"]:
            denied = False
            continue
        if branch["otherwise"] and not branch["other"]:
            denied = True
            continue
        if condition := _condition(lines, at):
            yield at, f"!({condition})" if denied else condition
        denied = branch["other"] is not None  # an `else if` denies those before it too


def _condition(lines: Sequence[str], at: int) -> str:
    """Return what stands between the parentheses of the `if` on line `at`, or before the colon in Python."""
    text = " ".join(line.strip() for line in lines[at : at + CONDITION_LINES])
    text = _BRANCH.sub("", text, count=1).strip()
    text = text.removeprefix("constexpr").strip()
    if not text.startswith("("):
        condition = re.split(r":(?:\s|$)", text, maxsplit=1)[0]
    else:
        depth = 0
        condition = text[1:]
        for place, char in enumerate(text):
            depth += (char == "(") - (char == ")")
            if depth == 0:
                condition = text[1:place]
                break
    condition = " ".join(condition.split())
    return condition if len(condition) <= MAX_CONDITION else condition[:MAX_CONDITION] + " …"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())

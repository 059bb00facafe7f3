"""The lines of a passage that answer a question: those that share most of its words, whole sentences and statements."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from indexer.records import Passage
from indexer.words import words_of
from retriever.conditions import conditions_above, reached
from retriever.markup import FENCE, is_catalogue, is_table, kept_items, kept_lines, whole_fences, whole_rows

# Lines of a quote: code is read in lines, prose in paragraphs that are often one line.
CODE_LINES = 10
PROSE_LINES = 4
# Less than this of code says little: a bare declaration.
LEAST_CODE_LINES = 3
# So far a quote may grow to begin and end with a sentence or a statement.
WHOLE_LINES = 14
# Code as short as this is quoted whole: a definition, an option.
SHORT_PASSAGE = 8
# What one more line costs, as a share of an average word's weight: a quote ends where its words do.
LINE_COST = 0.35
# A paragraph on one line is cut to its best sentences beyond this.
LONG_LINE = 320  # characters
GAP = "…"
_GOES_ON = re.compile(r"(?:[(\[{,=&|+?:<]|\breturn)\s*$|\\$")
_STATEMENT_END = re.compile(r"[;}>]\s*$")
# Code that reports an error is quoted with the condition above it.
_EMITS = re.compile(
    r"\b(?:emit\w*(?:Error|Failure|Warning)\w*|llvm_unreachable|report_fatal_error|\w+MatchFailure|raise)\b"
)
MAX_ABOVE = 6
_COMMENT = re.compile(r"^\s*(?://|#(?!\s*(?:include|define|if|endif|else|pragma)\b)|\*|/\*)")
# Lines that hold names of a file and answer nothing.
_EMPTY = re.compile(r"^\s*(?:#\s*(?:include|define DEBUG_TYPE|undef|pragma)\b|using namespace|//===|namespace )")
# Who may copy a file is no answer.
_LICENCE = re.compile(
    r"apache\.org/licenses|Licensed under|distributed under|WITHOUT WARRANTIES|governing permissions|under the License"
    r"|Copyright|\bSPDX\b|\bAS IS\b|WHETHER IN AN ACTION OF CONTRACT|Permission is hereby granted|applicable law",
)
_PROSE = re.compile(r"^\s*[-\w`][\w`,'/()-]*(?: [\w`,'/()-]+){3,},?$")
_BLANK_COMMENT = re.compile(r"^\s*(?://+|#|\*|/\*+)?[\s=-]*$")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s")
_HEADING = re.compile(r"^\s*#{1,6}\s|^\s*(?:=+|-{3,})\s*$")
# Ids of a note that say nothing without what follows.
_IDS = re.compile(r"^- (?:symptom|pass|passes|op|ops|症状|算子)\s*[:：]", re.IGNORECASE)
_RULE = re.compile(r"^\s*\|?[\s:|-]+\|?\s*$")
_SENTENCE = re.compile(r".+?(?:(?<![A-Z])\.(?=\s|$)|[。！？；;!?](?=\s|$)?|$)\s*", re.DOTALL)
_ANNOUNCES = re.compile(r"[:：]\s*$")
_ENDS = re.compile(r"[.。:：!！?？;；|]\s*$")


@dataclass(frozen=True, slots=True)
class Quote:
    """Lines `first..last` (1-based, in the file) of a passage that answer, and the weight of the words they share.

    `text` is those lines without their common indentation; where something is left out stands `GAP`. `within` are the
    conditions above, the nearest first, under which an error that is quoted is reported.
    """

    passage: Passage
    first: int
    last: int
    text: str
    weight: float
    within: tuple[str, ...] = ()


def best_lines(passage: Passage, weights: Mapping[str, float]) -> Quote | None:
    """Return the lines of `passage` that hold most of the question in least space; None where they hold nothing."""
    lines = passage.text.split("\n")
    heads = {i for i, line in enumerate(lines[1:]) if _RULE.match(line) and "-" in line}
    found = [
        set() if i in heads or _EMPTY.match(line) or _LICENCE.search(line) else set(words_of(line)) & weights.keys()
        for i, line in enumerate(lines)
    ]
    if passage.corpus == "toolchain" and is_catalogue(lines):
        return _of_catalogue(passage, lines, found, weights)
    if passage.corpus == "notes" and (kept := kept_items(lines, found, weights)):
        return _of_lines(passage, lines, found, weights, kept)
    prose = passage.language in {"markdown", "rst", "text"}
    span = _best_span(found, weights, PROSE_LINES if prose else CODE_LINES)
    if span is None:
        return None
    first, last = _whole_prose(lines, *span) if prose else _whole_code(lines, *_with_condition(passage, lines, *span))
    if prose and all(not line.strip() or _HEADING.match(line) for line in lines[first : last + 1]):
        return None  # what it heads stands in another passage
    before = after = ""
    if passage.language == "markdown":
        first, last, before, after = whole_fences(lines, first, last)
    shared = set().union(*found[first : last + 1])
    text = _text(lines, first, last, weights)
    return Quote(
        passage, passage.start_line + first, passage.start_line + last,
        "\n".join([*([before, GAP] if before else ()), text, *([GAP, after] if after else ())]),
        sum(weights[w] for w in shared), () if prose else _within(passage, lines, first, last),
    )  # fmt: skip


def _within(passage: Passage, lines: Sequence[str], first: int, last: int) -> tuple[str, ...]:
    emitting = next((i for i in range(first, last + 1) if _EMITS.search(lines[i])), None)
    return () if emitting is None else conditions_above(passage, emitting, first)


def _of_catalogue(
    passage: Passage, lines: Sequence[str], found: Sequence[set[str]], weights: Mapping[str, float]
) -> Quote | None:
    """Quote what a compiler prints of a pass or an option: its head and the lines that match."""
    shared = set().union(*found)
    if not shared:
        return None
    return _of_lines(passage, lines, found, weights, kept_lines(lines, found, weights))


def _of_lines(
    passage: Passage, lines: Sequence[str], found: Sequence[set[str]], weights: Mapping[str, float], kept: Sequence[int]
) -> Quote:
    """Quote the lines `kept` (0-based, in order), with a gap where others stand between them."""
    shown = [lines[kept[0]]]
    for above, at in pairwise(kept):
        shown += [lines[at]] if at == above + 1 else [GAP, lines[at]]
    weight = sum(weights[w] for w in set().union(*(found[i] for i in kept)))
    first, last = (passage.start_line + at for at in (kept[0], kept[-1]))
    return Quote(passage, first, last, "\n".join(shown), weight)


def quote_lines(passage: Passage, first: int, last: int) -> Quote:
    """Return lines `first..last` (1-based, in the file) of a passage as a quote, whatever they share."""
    lines = passage.text.split("\n")
    begin, end = _whole_code(lines, first - passage.start_line, last - passage.start_line)
    text = _text(lines, begin, end, {})
    return Quote(passage, passage.start_line + begin, passage.start_line + end, text, 0.0)


def stands_in(text: str, passage: Passage) -> bool:
    """Tell whether every part of a quote's text stands in the passage; spaces and line ends do not count."""
    whole = " ".join(passage.text.split())
    return all(" ".join(part.split()) in whole for part in text.split(GAP))


def _best_span(found: Sequence[set[str]], weights: Mapping[str, float], most: int) -> tuple[int, int] | None:
    cost = LINE_COST * sum(weights.values()) / max(1, len(weights))
    best: tuple[float, int, int] | None = None
    for first, words in enumerate(found):
        if not words:
            continue
        seen: set[str] = set()
        for last in range(first, min(first + most, len(found))):
            seen |= found[last]
            value = sum(weights[w] for w in seen) - cost * (last - first)
            if best is None or value > best[0] + 1e-9:
                best = (value, first, last)
    return best and best[1:]


def _whole_prose(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """Grow to whole sentences, and past a heading to what it heads."""
    while _headed(lines, first, last) and last + 1 < len(lines):
        last += 1
    if is_table(lines):
        return whole_rows(lines, first, last)
    begin, end = first, last
    while begin > 0 and _continues(lines[begin - 1], lines[begin]) and last - begin + 1 < WHOLE_LINES:
        begin -= 1
    while end + 1 < len(lines) and _continues(lines[end], lines[end + 1]) and end - begin + 1 < WHOLE_LINES:
        end += 1
    return begin, _past_colon(lines, begin, end)


def _past_colon(lines: Sequence[str], begin: int, end: int) -> int:
    """Go on to the list or table that the last line announces."""
    if not _ANNOUNCES.search(lines[end]):
        return end
    following = end + 1
    while following < len(lines) and not lines[following].strip():
        following += 1
    while following < len(lines) and lines[following].strip() and following - begin < WHOLE_LINES:
        end = following
        following += 1
    return end


def _headed(lines: Sequence[str], first: int, last: int) -> bool:
    """Tell whether the lines are headings and blanks only, so that what they head is still to come."""
    shown = lines[first : last + 1]
    return len(shown) < WHOLE_LINES and all(
        not line.strip() or _HEADING.match(line) or _IDS.match(line) for line in shown
    )


def _continues(line: str, following: str) -> bool:
    """Tell whether a sentence, or an item of a list, goes on from one line to the next."""
    item = following[:1].isspace() and not _BULLET.match(following)
    if not line.strip() or not following.strip() or (_ENDS.search(line) and not item):
        return False
    return not any(m.match(x) for x in (line, following) for m in (_HEADING, FENCE)) and not _BULLET.match(following)


def _whole_code(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """Grow to whole statements, and to the whole comment where one is quoted, with the line it is about."""
    if len(lines) <= SHORT_PASSAGE:
        return 0, len(lines) - 1
    matching = first
    while first > 0 and last - first + 1 < WHOLE_LINES and _belongs(lines[first - 1], lines[first]):
        first -= 1
    while last + 1 < len(lines) and last - first + 1 < WHOLE_LINES and (
        _belongs(lines[last], lines[last + 1]) or _is_open(lines[first : last + 1])
    ):  # fmt: skip
        last += 1
    while last + 1 < len(lines) and last - first + 1 < LEAST_CODE_LINES and not _STATEMENT_END.search(lines[last]):
        last += 1
    while first < matching and _BLANK_COMMENT.match(lines[first]):
        first += 1
    return first, last


def _with_condition(passage: Passage, lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """Begin at the condition under which the lines report an error, where it is near."""
    emitting = next((i for i in range(first, last + 1) if _EMITS.search(lines[i])), None)
    if emitting is None:
        return first, last
    since = reached(passage, emitting).since - passage.start_line
    return (since if first - since <= MAX_ABOVE else first), last


def _belongs(line: str, following: str) -> bool:
    if not line.strip() or _LICENCE.search(line):
        return False
    if _COMMENT.match(line):
        return bool(following.strip())
    if _PROSE.match(line) and following.strip()[:1].islower() and not _STATEMENT_END.search(following):
        return True  # a sentence of a description
    return _GOES_ON.search(line) is not None and not line.rstrip().endswith("{")


def _is_open(lines: Sequence[str]) -> bool:
    """Tell whether a parenthesis of the lines is still open."""
    text = "".join(re.sub(r"\"(?:[^\"\\]|\\.)*\"|//.*", "", line) for line in lines)
    return text.count("(") > text.count(")")


def _text(lines: Sequence[str], first: int, last: int, weights: Mapping[str, float]) -> str:
    shown = [_shortened(line, weights) for line in textwrap.dedent("\n".join(lines[first : last + 1])).split("\n")]
    while shown and not shown[-1].strip():
        shown.pop()
    header = _header_above(lines, first)
    return "\n".join([header, GAP, *shown] if header else shown)


def _header_above(lines: Sequence[str], first: int) -> str:
    """Return the header of the table whose row is on line `first`; empty where it is none, or the header is quoted."""
    top = first
    while top > 0 and lines[top].strip().startswith("|") and lines[top - 1].strip().startswith("|"):
        top -= 1
    return lines[top].strip() if first - top > 1 and _RULE.match(lines[top + 1]) else ""


def _shortened(line: str, weights: Mapping[str, float]) -> str:
    """Cut a paragraph on one line to the sentences that hold most of the question."""
    if len(line) <= LONG_LINE:
        return line
    parts = [m[0] for m in _SENTENCE.finditer(line) if m[0].strip()]
    found = [set(words_of(part)) & weights.keys() for part in parts]
    span = _best_span(found, weights, 3) or (0, 0)
    text = "".join(parts[span[0] : span[1] + 1]).strip()
    if len(text) > LONG_LINE:
        text = text[:LONG_LINE].rpartition(" ")[0] or text[:LONG_LINE]
        return f"{GAP} {text} {GAP}" if span[0] else f"{text} {GAP}"
    return (f"{GAP} " if span[0] else "") + text + (f" {GAP}" if span[1] + 1 < len(parts) else "")

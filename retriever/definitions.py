"""What a TableGen record says of the pass or operation that it defines: its summary, and how its description begins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from indexer.records import Passage
from retriever.facts import line_at, strings_of
from retriever.search import Index

_SUMMARY = re.compile(r"\blet\s+summary\s*=\s*(?P<text>(?:\"(?:[^\"\\]|\\.)*\"\s*)+|\[\{.*?\}\])\s*;", re.DOTALL)
_DESCRIPTION = re.compile(
    r"\blet\s+description\s*=\s*(?:\[\{(?P<block>.*?)\}\]|(?P<strings>(?:\"(?:[^\"\\]|\\.)*\"\s*)+))", re.DOTALL
)
_CONSTRUCTOR = re.compile(r"\blet\s+constructor\s*=\s*\"(?:[\w:]*::)?(?P<name>\w+)\s*\(")
_RECORD = re.compile(r"\bdef\s+(?P<name>\w+)\s*:")
_SENTENCE_END = re.compile(r"(?<![A-Z])(?<!e\.g)(?<!i\.e)\.(?=\s|$)|[。！？]")
MAX_SENTENCE = 320  # characters
# What C++ adds to a pass's name: its scopes, the function that makes it, the call's parentheses.
_AROUND = re.compile(r"^(?:.*::)?(?:create(?=[A-Z]))?(?P<name>\w+?)(?:Pass)?(?:\(\))?$", re.ASCII)
_CLASSES: WeakKeyDictionary[Index, Mapping[str, str]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Definition:
    """A pass's or an operation's own words about it, at `line`.

    `constructor` is what a pipeline calls to add a pass; empty for an operation.
    """

    name: str
    summary: str
    sentence: str
    constructor: str
    passage: Passage
    line: int


def definition_of(name: str, passage: Passage) -> Definition | None:
    """Read the record in `passage` that defines `name`; None where it says nothing."""
    text = passage.text
    record = _RECORD.search(text)
    if passage.language != "tablegen" or record is None:
        return None
    summary, description = _SUMMARY.search(text), _DESCRIPTION.search(text)
    told = _plain(summary["text"]) if summary else ""
    sentence = first_sentence(description["block"] or _plain(description["strings"] or "")) if description else ""
    if not told and not sentence:
        return None
    made = _CONSTRUCTOR.search(text)
    usual = f"create{record['name'].removesuffix('Pass')}Pass" if passage.kind == "pass_def" else ""
    constructor = made["name"] if made else usual
    same = sentence.rstrip(".").lower() == told.rstrip(".").lower()
    first = summary or description or record
    return Definition(name, told, "" if same else sentence, constructor, passage, line_at(passage, first.start()))


def pass_of_class(index: Index, written: str) -> str | None:
    """Return the pass whose record, class or constructor is called so: `PlanMemory` is `hivm-plan-memory`."""
    found = _AROUND.match(written)
    return _classes(index).get(found["name"].lower()) if found else None


def _classes(index: Index) -> Mapping[str, str]:
    """Return the argument of each pass by the name of its record, without `Pass` and in lower case."""
    if index not in _CLASSES:
        generation = index.generation
        kinds = generation.manifest.kinds
        mine = generation.columns["kind"] == kinds.index("pass_def") if "pass_def" in kinds else []
        found = [r.passage for r in generation.shelf.rows([int(row) for row in np.flatnonzero(mine)])]
        named = ((_RECORD.search(p.text), p.symbol.split(", ")[0]) for p in found)
        _CLASSES[index] = {m["name"].removesuffix("Pass").lower(): argument for m, argument in named if m}
    return _CLASSES[index]


def first_sentence(text: str) -> str:
    """Return the first sentence of a description, its lines joined, cut at a word after `MAX_SENTENCE`."""
    lines: list[str] = []
    for line in text.strip().split("\n"):
        if lines and (not line.strip() or line.strip().startswith(("```", "- ", "* ", "#"))):
            break
        lines.append(line.strip())
    joined = " ".join(lines)
    end = _SENTENCE_END.search(joined)
    sentence = joined[: end.end()] if end else joined
    return sentence if len(sentence) <= MAX_SENTENCE else sentence[:MAX_SENTENCE].rpartition(" ")[0] + " …"


def _plain(literal: str) -> str:
    text = literal.strip()
    inner = text[2:-2] if text.startswith("[{") else "".join(strings_of(text))
    return " ".join(inner.split())

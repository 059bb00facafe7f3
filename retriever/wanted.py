"""The pass or the option that a question looks for by what it does: which pass plans memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from indexer.records import Kind, Passage
from retriever.definitions import Definition, definition_of
from retriever.facts import OptionFact, facts_of
from retriever.records import Query
from retriever.search import Index

MAX_WANTED = 3
# Of a pass or an option that is asked for: the share of the best one's score that others must have.
WANTED_SHARE = 0.5
# Not one that is slow or fails: what it is depends on the kernel.
_VERB = r"(?!do\b|does\b|did\b|is\b|are\b|the\b)"
_WHICH = rf"\b(?:which|what)\s+(?:{_VERB}[\w-]+\s+){{0,2}}"
_WHICH_PASS = re.compile(
    rf"{_WHICH}pass(?:es)?\b(?!\s+(?:manager|pipeline|option|argument|is\b|takes|took|fail|crash|cause))"
    r"|(?:哪个|哪些|哪一个|哪几个|什么|哪)\s*pass(?!\s*(?:最|耗时|慢|失败|报错|出错|出了|导致))|pass\s*(?:是|叫|有)\s*(?:哪|什么)",
    re.IGNORECASE,
)
_WHICH_OPTION = re.compile(
    rf"{_WHICH}(?:options?|flags?|switch(?:es)?)\b"
    r"|(?:哪个|哪些|哪一个|什么|哪)\s*(?:编译)?(?:选项|开关|参数|option|flag)|哪些[^，。？?]{1,30}(?:选项|开关)"
    r"|(?:选项|开关)\s*(?:是|叫|有)\s*(?:哪|什么)",
    re.IGNORECASE,
)


def wanted_passes(index: Index, query: Query) -> Iterator[Definition]:
    """Yield what the best passes say they are, where the question is which pass does something."""
    if _WHICH_PASS.search(query.text):
        for passage in _best_of(index, query, "pass_def"):
            found = definition_of(passage.symbol.split(", ")[0], passage)
            if found:
                yield found


def wanted_options(index: Index, query: Query) -> list[OptionFact]:
    """Return what is stated of the best options, where the question is which option does something."""
    if not _WHICH_OPTION.search(query.text):
        return []
    return [fact for passage in _best_of(index, query, "option") for fact in facts_of(passage)[:1]]


def _best_of(index: Index, query: Query, kind: Kind) -> Iterator[Passage]:
    """Yield the passages of a kind that rank nearly as high as the best of that kind."""
    found = index.search(replace(query, kinds=(kind,)), MAX_WANTED)
    yield from (hit.passage for hit in found if hit.score >= WANTED_SHARE * found[0].score)

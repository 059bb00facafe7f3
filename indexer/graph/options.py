"""Options: of the command line and of passes, and which passes a pipeline hands the driver's options to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from indexer.graph.passes import Passes
from indexer.graph.sources import Sources
from indexer.records import Naming, Passage
from indexer.words import split_identifier

_PASS_OPTION = re.compile(r'\b(?:List)?Option\s*<\s*"\w+"\s*,\s*"(?P<name>[\w-]+)"')
_CATALOGUE_OPTION = re.compile(r"^  --(?P<name>[\w-]+)", re.MULTILINE)
# LLVM's command line, and the options of a hand-written pass or pipeline.
_CPP_OPTION = re.compile(
    r"\b(?:cl::(?:opt|list|bits)|(?:PassOptions::)?(?:List)?Option)\s*<[^;{}()]*>\s*(?P<member>\w+)\s*[({]"
    r'\s*(?:\*this\s*,\s*|llvm::cl::desc[^"]*"[^"]*"\)\s*,\s*)?(?:(?:llvm::)?cl::\w+\([^"]*\)\s*,\s*)*"(?P<name>[\w-]+)"'
)
_FLOW = re.compile(
    r"(?P<open>\{)|(?P<close>\})|\bif\s*\((?P<condition>[^{};]*)\)\s*(?P<block>\{)?"
    r"|\b(?P<variable>\w+)\.\w+\s*=\s*(?P<value>[^;{}]+);"
    r"|\b(?P<creates>create\w+)\s*\((?P<arguments>[^;{}]*)\)\s*[;,)]"
)
_MEMBER = re.compile(r"\b\w*[oO]ptions?\w*(?:\.|->)(?P<name>[a-z]\w+)")


@dataclass(slots=True)
class Options:
    """Every known flag, and the rows that define the options of the command line."""

    names: set[str] = field(default_factory=set)
    defined: dict[tuple[str, str], list[int]] = field(default_factory=dict)


def option_name(record: str) -> str:
    """Return the flag of an option's record: `EnableHIVMCompile` is `enable-hivm-compile`."""
    return "-".join(split_identifier(record))


def name_options(passages: Sequence[Passage], options: Options) -> Iterator[Naming]:
    """Yield the definitions of options, and note them in `options`."""
    for row, p in enumerate(passages):
        for name in dict.fromkeys(_defined(p)):
            options.names.add(name)
            options.defined.setdefault((p.corpus, name), []).append(row)
            yield Naming(name, "option", "defines", row)
        for name in dict.fromkeys(_of_pass(p)):
            options.names.add(name)
            yield Naming(name, "option", "option_of", row)


def _defined(p: Passage) -> Iterator[str]:
    if p.kind == "option":
        yield p.symbol if p.language == "text" else option_name(p.symbol)
    elif p.language == "cpp" and ("ption<" in p.text or "cl::" in p.text):
        yield from (m["name"] for m in _CPP_OPTION.finditer(p.text))


def _of_pass(p: Passage) -> Iterator[str]:
    if p.kind == "pass_def":
        yield from (m["name"] for m in _PASS_OPTION.finditer(p.text))
    elif p.kind == "catalog":
        yield from (m["name"] for m in _CATALOGUE_OPTION.finditer(p.text))


def name_pipelines(sources: Sources, passes: Passes, options: Options) -> Iterator[Naming]:
    """Yield which options of the command line decide over a pass: in a condition around it, or as one of its own."""
    for place, rows in sources.cpp.items():
        corpus = place[0]
        for row in rows:
            text = sources.passages[row].text
            if "addPass" not in text and "addNestedPass" not in text:
                continue
            for argument, member in dict.fromkeys(_decided(text, corpus, passes)):
                for defined in options.defined.get((corpus, option_name(member)), ()):
                    yield Naming(argument, "pass", "option_of", defined)
                    yield Naming(option_name(member), "option", "uses", row)


def _decided(text: str, corpus: str, passes: Passes) -> Iterator[tuple[str, str]]:
    """Yield (pass, member of the options) as a pipeline's code tells: by the blocks around a pass and its arguments."""
    blocks: list[list[str]] = [[]]
    pending: list[str] = []  # the condition of an `if` without braces
    variables: dict[str, list[str]] = {}
    for found in _FLOW.finditer(text):
        if found["condition"] is not None:
            members = _MEMBER.findall(found["condition"])
            if found["block"]:
                blocks.append(members)
            else:
                pending = members
        elif found["open"]:
            blocks.append([])
        elif found["close"]:
            blocks = blocks[:-1] or [[]]
        elif found["variable"]:
            variables.setdefault(found["variable"], []).extend(_MEMBER.findall(found["value"]))
        elif argument := passes.by_constructor.get((corpus, found["creates"])):
            given = [m for name in re.findall(r"\w+", found["arguments"]) for m in variables.get(name, ())]
            members = [*_MEMBER.findall(found["arguments"]), *given, *pending, *(m for b in blocks for m in b)]
            yield from ((argument, member) for member in members)
            pending = []

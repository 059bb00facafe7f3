"""The first form of the symbol graph: which passage defines, implements, tests or documents a pass, op or option.

A pass argument is defined by TableGen's `def X : Pass<"argument">` (or a catalogue entry); its implementing file says
`#define GEN_PASS_DEF_X`, returns the argument from `getArgument`, or defines the constructor that TableGen names. The
passages of that file with `runOnOperation` or `matchAndRewrite` implement it; the rest of the file is what they use.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from indexer.opnames import OpNames
from indexer.records import Passage, Relation
from indexer.words import split_identifier

# A file: corpus and path.
Place = tuple[str, str]
# A folder of more passes than this is a collection, and its files have nothing to do with each other.
MAX_FOLDER_PASSES = 3

Sort = Literal["pass", "op", "option", "symbol"]

_PASS_RECORD = re.compile(r'\bdef\s+(?P<record>\w+)\s*:\s*(?:Interface)?Pass\s*<\s*"(?P<argument>[^"]+)"')
_PASS_OPTION = re.compile(r'\b(?:List)?Option\s*<\s*"\w+"\s*,\s*"(?P<name>[\w-]+)"')
_CATALOGUE_OPTION = re.compile(r"^  --(?P<name>[\w-]+)", re.MULTILINE)
_CONSTRUCTOR = re.compile(r'\blet\s+constructor\s*=\s*"(?:[\w:]*::)?(?P<name>\w+)')
_GENERATED = re.compile(r"#\s*define\s+GEN_PASS_DEF_(?P<record>\w+)")
_ARGUMENT = re.compile(r'getArgument\(\)\s*const[^{]*\{\s*return\s*"(?P<argument>[^"]+)"')
_CREATES = re.compile(r"\b(?P<name>create\w+)\s*\([^;{}]*\)\s*\{")
_ENTRY = re.compile(r"\b(?:runOnOperation|matchAndRewrite\w*)\s*\(")
_HYPHENATED = re.compile(r"(?<![\w-])-{0,2}(?P<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)+)(?![\w-])")
# A card says which passes make its symptom: `- passes:`, `- Pass：`, perhaps over several lines.
_CARD_PASSES = re.compile(r"^- (?:passes: |Pass：)[^\n]*(?:\n  [^\n]*)*", re.MULTILINE)
_OP = re.compile(r"(?<![\w.])[a-z_]+(?:\.[a-z_0-9]+){1,2}(?![\w.])")


@dataclass(frozen=True, slots=True)
class Naming:
    """The passage at `row` is, to the thing called `name`, what `relation` says."""

    name: str
    sort: Sort
    relation: Relation
    row: int


@dataclass(slots=True)
class _Passes:
    """Where passes are defined and which files implement them, gathered over all corpora."""

    arguments: set[str] = field(default_factory=set)
    by_record: dict[tuple[str, str], str] = field(default_factory=dict)
    by_constructor: dict[tuple[str, str], str] = field(default_factory=dict)


def name_passages(passages: Sequence[Passage]) -> list[Naming]:
    """Return every naming of the passages; rows are positions in `passages`."""
    passes = _gather(passages)
    ops = {corpus: OpNames(texts) for corpus, texts in _definitions(passages).items()}
    op_names = {
        row: name
        for row, p in enumerate(passages)
        if p.kind == "op_def" and p.language == "tablegen" and (name := ops[p.corpus].name_of(p.text))
    }
    known_ops = frozenset(op_names.values())
    found = [n for row, p in enumerate(passages) for n in _of_passage(row, p, passes, known_ops)]
    found += [Naming(name, "op", "defines", row) for row, name in op_names.items()]
    return list(dict.fromkeys([*found, *_implementations(passages, passes)]))


def option_name(record: str) -> str:
    """Return the flag of an option's record: `EnableHIVMCompile` is `enable-hivm-compile`."""
    return "-".join(split_identifier(record))


def _gather(passages: Sequence[Passage]) -> _Passes:
    passes = _Passes()
    for p in passages:
        if p.kind == "catalog":
            passes.arguments.add(p.symbol)
        elif p.kind == "note":  # so that a pass finds its cards where no compiler's catalogue is indexed
            named = _CARD_PASSES.findall(p.text)
            passes.arguments.update(m["name"] for text in named for m in _HYPHENATED.finditer(text))
        elif p.kind == "pass_def" and (found := _PASS_RECORD.search(p.text)):
            passes.arguments.add(found["argument"])
            passes.by_record[p.corpus, found["record"].upper()] = found["argument"]
            if constructor := _CONSTRUCTOR.search(p.text):
                passes.by_constructor[p.corpus, constructor["name"]] = found["argument"]
        elif p.language == "cpp":
            passes.arguments.update(m["argument"] for m in _ARGUMENT.finditer(p.text))
    return passes


def _definitions(passages: Sequence[Passage]) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = defaultdict(list)
    for p in passages:
        if p.language == "tablegen":
            texts[p.corpus].append(p.text)
    return texts


def _of_passage(row: int, p: Passage, passes: _Passes, ops: frozenset[str]) -> Iterator[Naming]:
    """Yield what the passage's own text says."""
    if p.symbol and p.kind not in {"doc", "note"}:
        for symbol in p.symbol.split(", "):
            yield Naming(symbol, "symbol", "defines", row)
            if (last := re.split(r"::|\.", symbol)[-1]) != symbol:
                yield Naming(last, "symbol", "defines", row)
    if p.kind == "catalog":
        yield Naming(p.symbol, "pass", "defines", row)
        for found in _CATALOGUE_OPTION.finditer(p.text):
            yield Naming(found["name"], "option", "option_of", row)
    elif p.kind == "pass_def":
        yield Naming(p.symbol, "pass", "defines", row)
        for found in _PASS_OPTION.finditer(p.text):
            yield Naming(found["name"], "option", "option_of", row)
    elif p.kind == "option":
        yield Naming(p.symbol if p.language == "text" else option_name(p.symbol), "option", "defines", row)
    elif p.kind in {"doc", "note", "test", "python"}:
        yield from _mentions(row, p, passes, ops)


def _mentions(row: int, p: Passage, passes: _Passes, ops: frozenset[str]) -> Iterator[Naming]:
    relation: Relation = "tests" if p.kind == "test" else "uses" if p.kind == "python" else "documents"
    text = f"{p.natural}\n{p.text}" if p.kind == "test" else p.text  # a test's flags stand in its first case only
    for name in {m["name"] for m in _HYPHENATED.finditer(text)}:
        yield Naming(name, "pass" if name in passes.arguments else "option", relation, row)
    if p.kind in {"doc", "note"}:
        for name in set(_OP.findall(text)) & ops:
            yield Naming(name, "op", relation, row)


def _implementations(passages: Sequence[Passage], passes: _Passes) -> Iterator[Naming]:
    """Yield what the C++ files of each pass are to it."""
    files: dict[Place, list[int]] = defaultdict(list)
    for row, p in enumerate(passages):
        if p.language == "cpp" and p.kind != "test":
            files[p.corpus, p.path].append(row)
    implementing = _with_sources(_files_of(passages, files, passes), files)
    for place, arguments in implementing.items():
        for row in files[place]:
            relation: Relation = "implements" if _ENTRY.search(passages[row].text) else "uses"
            yield from (Naming(argument, "pass", relation, row) for argument in arguments)
    for place, arguments in _neighbours(implementing, files).items():
        for row in files[place]:
            yield from (Naming(argument, "pass", "uses", row) for argument in arguments)


def _with_sources(found: dict[Place, set[str]], files: dict[Place, list[int]]) -> dict[Place, set[str]]:
    """Add the source of a header that declares the pass: the same name in another folder, with another suffix."""
    sources: dict[Place, list[Place]] = defaultdict(list)
    for corpus, path in files:
        if path.endswith((".cpp", ".cc")):
            sources[corpus, _stem(path)].append((corpus, path))
    out = dict(found)
    for (corpus, path), arguments in found.items():
        if path.endswith((".h", ".hpp")):
            for source in sources[corpus, _stem(path)]:
                out[source] = out.get(source, set()) | arguments
    return out


def _neighbours(implementing: dict[Place, set[str]], files: dict[Place, list[int]]) -> dict[Place, set[str]]:
    """Return the other sources of folders that serve one or two passes: what those passes are made of."""
    folders: dict[Place, set[str]] = defaultdict(set)
    for (corpus, path), arguments in implementing.items():
        if path.endswith((".cpp", ".cc")):
            folders[corpus, path.rpartition("/")[0]] |= arguments
    few = {folder: arguments for folder, arguments in folders.items() if len(arguments) <= MAX_FOLDER_PASSES}
    found = {place: few.get((place[0], place[1].rpartition("/")[0]), set()) for place in files}
    return {place: arguments for place, arguments in found.items() if arguments and place not in implementing}


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _files_of(passages: Sequence[Passage], files: dict[Place, list[int]], passes: _Passes) -> dict[Place, set[str]]:
    """Return the passes each file implements; a constructor counts only for passes without a generated base."""
    found: dict[Place, set[str]] = defaultdict(set)
    constructed: dict[Place, set[str]] = defaultdict(set)
    for place, rows in files.items():
        for text in (passages[row].text for row in rows):
            records = (m["record"].upper() for m in _GENERATED.finditer(text))
            found[place].update(a for r in records if (a := passes.by_record.get((place[0], r))))
            found[place].update(m["argument"] for m in _ARGUMENT.finditer(text))
            if place[1].endswith((".cpp", ".cc")):
                names = (m["name"] for m in _CREATES.finditer(text))
                constructed[place].update(a for n in names if (a := passes.by_constructor.get((place[0], n))))
    linked = {(place[0], argument) for place, arguments in found.items() for argument in arguments}
    for place, arguments in constructed.items():
        found[place].update(a for a in arguments if (place[0], a) not in linked)
    return {place: arguments for place, arguments in found.items() if arguments}

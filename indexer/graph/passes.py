"""Passes: where they are defined, which files implement them, and the patterns they take from elsewhere.

A pass argument is defined by TableGen's `def X : Pass<"argument">` (or a catalogue entry); its implementing file says
`#define GEN_PASS_DEF_X`, returns the argument from `getArgument`, or defines the constructor that TableGen names. The
passages of that file with `runOnOperation` or `matchAndRewrite` implement it; the rest of the file is what they use.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from indexer.graph.sources import Place, Sources
from indexer.records import Naming, Passage, Relation

# A folder of more passes than this is a collection, and its files have nothing to do with each other.
MAX_FOLDER_PASSES = 3
# A function that populates patterns may call others: so deep they are followed.
MAX_POPULATE_DEPTH = 3

HYPHENATED = re.compile(r"(?<![\w-])-{0,2}(?P<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)+)(?![\w-])")
_RECORD = re.compile(r'\bdef\s+(?P<record>\w+)\s*:\s*(?:Interface)?Pass\s*<\s*(?:/\*.*?\*/\s*)?"(?P<argument>[^"]+)"')
_CONSTRUCTOR = re.compile(r'\blet\s+constructor\s*=\s*"(?:[\w:]*::)?(?P<name>\w+)')
_GENERATED = re.compile(r"#\s*define\s+GEN_PASS_DEF_(?P<record>\w+)")
_ARGUMENT = re.compile(r'getArgument\(\)\s*const[^{]*\{\s*return\s*"(?P<argument>[^"]+)"')
_CREATES = re.compile(r"\b(?P<name>create\w+)\([^;{}]{0,400}\)\s*\{")
_ENTRY = re.compile(r"\b(?:runOnOperation|matchAndRewrite\w*)\s*\(")
_POPULATES = re.compile(r"\b(?P<name>populate\w+)\s*\(")
_REGISTRATION = re.compile(r"\.(?:add|insert)\w*\s*<(?P<classes>[^;()]*)>\s*\(")
_CLASS = re.compile(r"[A-Z]\w+")
# A card says which passes make its symptom: `- passes:`, `- Pass：`, perhaps over several lines.
_CARD_PASSES = re.compile(r"^- (?:passes: |Pass：)[^\n]*(?:\n  [^\n]*)*", re.MULTILINE)


@dataclass(slots=True)
class Passes:
    """Where passes are defined and what C++ calls them, gathered over all corpora."""

    arguments: set[str] = field(default_factory=set)
    by_record: dict[tuple[str, str], str] = field(default_factory=dict)
    by_constructor: dict[tuple[str, str], str] = field(default_factory=dict)
    by_class: dict[str, str] = field(default_factory=dict)


def gather_passes(passages: Sequence[Passage]) -> Passes:
    """Read the definitions of all corpora."""
    passes = Passes()
    for p in passages:
        if p.kind == "catalog":
            passes.arguments.add(p.symbol)
        elif p.kind == "note":  # so that a pass finds its cards where no compiler's catalogue is indexed
            named = _CARD_PASSES.findall(p.text)
            passes.arguments.update(m["name"] for text in named for m in HYPHENATED.finditer(text))
        elif p.kind == "pass_def" and (found := _RECORD.search(p.text)):
            _define(passes, p, found["record"], found["argument"])
        elif p.language == "cpp" and "getArgument" in p.text:
            passes.arguments.update(m["argument"] for m in _ARGUMENT.finditer(p.text))
    return passes


def _define(passes: Passes, p: Passage, record: str, argument: str) -> None:
    passes.arguments.add(argument)
    passes.by_record[p.corpus, record.upper()] = argument
    passes.by_class[record] = argument
    # What tblgen names a constructor where the definition does not.
    names = {f"create{record}", f"create{record}Pass"}
    if constructor := _CONSTRUCTOR.search(p.text):
        names.add(constructor["name"])
    for name in names:
        passes.by_constructor.setdefault((p.corpus, name), argument)


def name_implementations(sources: Sources, passes: Passes) -> Iterator[Naming]:
    """Yield what the C++ files of each pass are to it."""
    implementing = _with_sources(_files_of(sources, passes), sources)
    for place, arguments in implementing.items():
        for row in sources.cpp[place]:
            relation: Relation = "implements" if sources.found(row, "entry") else "uses"
            yield from (Naming(argument, "pass", relation, row) for argument in sorted(arguments))
        yield from _populated(sources, place, arguments)
    for place, arguments in _neighbours(implementing, sources).items():
        for row in sources.cpp[place]:
            yield from (Naming(argument, "pass", "uses", row) for argument in sorted(arguments))


def _populated(sources: Sources, place: Place, arguments: set[str]) -> Iterator[Naming]:
    """Yield the patterns of other files that a pass populates: they do its work."""
    corpus, path = place
    asked = [name for row in sources.cpp[place] for name in sources.found(row, "populates")]
    seen: set[str] = set()
    for _ in range(MAX_POPULATE_DEPTH):
        rows = [row for name in dict.fromkeys(asked) if name not in seen for row in sources.function_rows(corpus, name)]
        seen.update(asked)
        asked = []
        for row in rows:
            asked += sources.found(row, "populates")
            for target in (row, *_registered(sources, corpus, row)):
                if sources.passages[target].path != path:
                    relation: Relation = "uses" if target == row else "implements"
                    yield from (Naming(argument, "pass", relation, target) for argument in sorted(arguments))


def _registered(sources: Sources, corpus: str, row: int) -> Iterator[int]:
    """Yield the passages of the pattern classes that a passage adds to a set."""
    for name in sources.found(row, "registered"):
        yield from (target for target in sources.class_rows(corpus, name) if sources.found(target, "entry"))


def _with_sources(found: dict[Place, set[str]], sources: Sources) -> dict[Place, set[str]]:
    """Add the source of a header that declares the pass: the same name in another folder, with another suffix."""
    named: dict[Place, list[Place]] = defaultdict(list)
    for corpus, path in sources.cpp:
        if path.endswith((".cpp", ".cc")):
            named[corpus, _stem(path)].append((corpus, path))
    out = dict(found)
    for (corpus, path), arguments in found.items():
        if path.endswith((".h", ".hpp")):
            for source in named[corpus, _stem(path)]:
                out[source] = out.get(source, set()) | arguments
    return out


def _neighbours(implementing: dict[Place, set[str]], sources: Sources) -> dict[Place, set[str]]:
    """Return the other sources of folders that serve one or two passes: what those passes are made of."""
    folders: dict[Place, set[str]] = defaultdict(set)
    for (corpus, path), arguments in implementing.items():
        if path.endswith((".cpp", ".cc")):
            folders[corpus, path.rpartition("/")[0]] |= arguments
    few = {folder: arguments for folder, arguments in folders.items() if len(arguments) <= MAX_FOLDER_PASSES}
    found = {place: few.get((place[0], place[1].rpartition("/")[0]), set()) for place in sources.cpp}
    return {place: arguments for place, arguments in found.items() if arguments and place not in implementing}


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _files_of(sources: Sources, passes: Passes) -> dict[Place, set[str]]:
    """Return the passes each file implements; a constructor counts only for passes without a generated base."""
    found: dict[Place, set[str]] = defaultdict(set)
    constructed: dict[Place, set[str]] = defaultdict(set)
    for place, rows in sources.cpp.items():
        corpus = place[0]
        for row in rows:
            records = sources.found(row, "generated")
            found[place].update(a for r in records if (a := passes.by_record.get((corpus, r))))
            found[place].update(sources.found(row, "arguments"))
            names = sources.found(row, "creates")
            constructed[place].update(a for n in names if (a := passes.by_constructor.get((corpus, n))))
    linked = {(place[0], argument) for place, arguments in found.items() for argument in arguments}
    for place, arguments in constructed.items():
        found[place].update(a for a in arguments if (place[0], a) not in linked)
    return {place: arguments for place, arguments in found.items() if arguments}


def _is_code(p: Passage) -> bool:
    return p.language == "cpp" and p.kind != "test"


def generated(p: Passage) -> list[str]:
    """Scan C++ for the records of passes whose generated base it takes, in capitals."""
    return (
        [m["record"].upper() for m in _GENERATED.finditer(p.text)] if _is_code(p) and "GEN_PASS_DEF_" in p.text else []
    )


def arguments(p: Passage) -> list[str]:
    """Scan C++ for the arguments of passes that it returns."""
    return [m["argument"] for m in _ARGUMENT.finditer(p.text)] if _is_code(p) and "getArgument" in p.text else []


def creates(p: Passage) -> list[str]:
    """Scan the sources of C++ for the constructors that they define."""
    if not _is_code(p) or "create" not in p.text or not p.path.endswith((".cpp", ".cc")):
        return []
    return [m["name"] for m in _CREATES.finditer(p.text)]


def entry(p: Passage) -> list[str]:
    """Scan C++ for where a pass or pattern does its work."""
    found = _ENTRY.search(p.text) if _is_code(p) and ("runOn" in p.text or "atchAnd" in p.text) else None
    return [found[0]] if found else []


def populates(p: Passage) -> list[str]:
    """Scan C++ for the functions that populate patterns, by their calls."""
    return list(dict.fromkeys(_POPULATES.findall(p.text))) if _is_code(p) and "populate" in p.text else []


def registered(p: Passage) -> list[str]:
    """Scan C++ for the classes that it adds to a set of patterns."""
    if not _is_code(p) or ("populate" not in p.symbol and "populate" not in p.text):
        return []
    added = (name for m in _REGISTRATION.finditer(p.text) for name in _CLASS.findall(m["classes"]))
    return list(dict.fromkeys(added))

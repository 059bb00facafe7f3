"""Operations: their definitions, and the C++ that implements, matches and makes them.

C++ names an operation by its class, `hivm::VAddOp`; the definition and its dialect's namespace say which one that is.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from indexer.graph.sources import Place, Sources
from indexer.opnames import Operation, OpNames
from indexer.records import Naming, Passage, Relation

# So many operations must agree before tests tell how a dialect is called.
MIN_VOTES = 3

_TOKEN = re.compile(r"[A-Za-z_][\w:]*")
_PATTERN = re.compile(r"Pattern|Rewrite|Conver|Lower")
_TEMPLATE = re.compile(r"\b(?P<base>[A-Z]\w+)<(?P<arguments>[^<>;{}()]{1,300})>")
_REGISTRATION = re.compile(r"\.(?:add|insert)\w*\s*<")
_MATCHED = re.compile(r"\bmatchAndRewrite\w*\s*\(\s*(?P<name>[\w:]+)\s*&?\s*\w+")
_MADE = re.compile(r"\b(?:create|replace)\w*<\s*(?P<name>[\w:]+)\s*>")
_BUILT = re.compile(r"(?<![\w:])(?P<name>[A-Za-z][\w:]*Op)::create\(")
_USING = re.compile(r"\b(?:using\s+)?namespace\s+(?P<name>[\w:]+)")
# In the tests of a tree stand the operations of dialects whose definitions it only includes.
_IN_TESTS = re.compile(r"(?<![\w.@%!#$/-])[a-z]\w*(?:\.[A-Za-z_]\w*){1,2}")


@dataclass(slots=True)
class Operations:
    """The operations of all corpora, by C++ class and by name."""

    by_row: dict[int, Operation] = field(default_factory=dict)
    # C++ class -> corpus -> namespace -> name.
    by_class: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    # Those that stand in each MLIR test, by row; and of these the ones that no indexed tree defines, by class.
    in_tests: dict[int, frozenset[str]] = field(default_factory=dict)
    undefined: dict[str, str] = field(default_factory=dict)

    def resolve(self, text: str, corpus: str, namespaces: frozenset[str]) -> str | None:
        """Return the operation that C++ of `corpus` calls `text`; what several dialects have needs a namespace."""
        *scopes, cpp_class = text.split("::")
        if not cpp_class.endswith("Op"):
            return None
        if scopes and scopes[-1] != "mlir":
            scope = scopes[-1]
            for candidates in self._of_class(cpp_class, corpus):
                if scope in candidates:
                    return candidates[scope]
            mnemonic = cpp_class.removesuffix("Op").lower()
            dialect = scope.lower()
            return self.undefined.get(f"{dialect}.{mnemonic}") or self.undefined.get(
                f"{dialect}.{mnemonic.removeprefix(dialect)}"  # affine::AffineApplyOp is affine.apply
            )
        own = next(self._of_class(cpp_class, corpus), {})
        names = set(own.values())
        if len(names) > 1:
            names = {name for scope, name in own.items() if scope in namespaces}
        return names.pop() if len(names) == 1 else None

    def _of_class(self, cpp_class: str, corpus: str) -> Iterator[Mapping[str, str]]:
        """Yield namespace -> name for a class, the corpus' own definitions first."""
        table = self.by_class.get(cpp_class, {})
        if corpus in table:
            yield table[corpus]
        yield from (found for other, found in table.items() if other != corpus)


def gather_operations(sources: Sources) -> Operations:
    """Read the definitions of all corpora, and which operations their tests show."""
    texts: dict[str, list[str]] = defaultdict(list)
    out = Operations()
    for row, p in enumerate(sources.passages):
        if p.language == "tablegen" and p.kind in {"op_def", "dialect"}:
            texts[p.corpus].append(p.text)
        elif names := sources.found(row, "shown_ops"):
            out.in_tests[row] = frozenset(names)
    tables = {corpus: OpNames(found) for corpus, found in texts.items()}
    _share_dialects(tables)
    defined = _defined(sources, tables)
    shown = frozenset[str]().union(*out.in_tests.values())
    renamed = _renamed(defined, tables, shown)
    for row, op in defined:
        known = dataclasses.replace(op, name=renamed.get(op.name, op.name))
        out.names.add(known.name)
        corpora = out.by_class.setdefault(op.cpp_class, {})
        corpora.setdefault(sources.passages[row].corpus, {})[op.namespace] = known.name
        out.by_row.update(dict.fromkeys(sources.parts(row), known))
    for name in sorted(shown - out.names):
        dialect, _, mnemonic = name.partition(".")
        out.undefined.setdefault(f"{dialect}.{mnemonic}".replace("_", ""), name)
    return out


def _defined(sources: Sources, tables: Mapping[str, OpNames]) -> list[tuple[int, Operation]]:
    return [
        (row, op)
        for row, p in enumerate(sources.passages)
        if p.kind == "op_def" and p.language == "tablegen" and (op := tables[p.corpus].operation_of(p.text))
    ]


def _share_dialects(tables: Mapping[str, OpNames]) -> None:
    """Let a tree use the dialects of the others: triton-ascend defines operations of dialects that it only includes."""
    known = {record: dialect for table in tables.values() for record, dialect in table.dialects.items()}
    for table in tables.values():
        table.dialects = {**known, **table.dialects}


def _renamed(
    defined: Sequence[tuple[int, Operation]], tables: Mapping[str, OpNames], shown: frozenset[str]
) -> dict[str, str]:
    """Return guessed name -> name for operations of a dialect that is defined nowhere here: the tests show its name."""
    records = {record for table in tables.values() for record in table.dialects}
    orphans: dict[str, set[str]] = defaultdict(set)
    for _, op in defined:
        if op.dialect not in records:
            guessed, _, mnemonic = op.name.partition(".")
            orphans[guessed].add(mnemonic)
    renamed: dict[str, str] = {}
    for guessed, mnemonics in orphans.items():
        votes = Counter(dialect for dialect, _, mnemonic in (n.partition(".") for n in shown) if mnemonic in mnemonics)
        best = max(votes, key=lambda dialect: (votes[dialect], dialect), default=guessed)
        if votes[best] >= MIN_VOTES and votes[best] > votes[guessed]:
            renamed |= {f"{guessed}.{mnemonic}": f"{best}.{mnemonic}" for mnemonic in mnemonics}
    return renamed


def name_tests(ops: Operations) -> Iterator[Naming]:
    """Yield the operations that stand in each MLIR test."""
    for row, found in ops.in_tests.items():
        yield from (Naming(name, "op", "tests", row) for name in sorted(found & ops.names))


def name_code(sources: Sources, ops: Operations) -> Iterator[Naming]:
    """Yield what each C++ passage is to the operations in it."""
    for place, rows in sources.cpp.items():
        reader = _Reader(sources, ops, place)
        for row in rows:
            yield from reader.read(row)


def _is_code(p: Passage) -> bool:
    return p.language == "cpp" and p.kind != "test"


def shown_ops(p: Passage) -> list[str]:
    """Scan MLIR for the operations that stand in it."""
    return sorted(set(_IN_TESTS.findall(p.text))) if p.language == "mlir" else []


def namespaces(p: Passage) -> list[str]:
    """Scan C++ for the namespaces that it opens or uses."""
    if not _is_code(p) or "namespace" not in p.text:
        return []
    return list(dict.fromkeys(part for m in _USING.finditer(p.text) for part in m["name"].split("::")))


def made(p: Passage) -> list[str]:
    """Scan C++ for the classes of operations that it creates."""
    if not _is_code(p) or "Op" not in p.text:
        return []
    created = _MADE.findall(p.text) if "create" in p.text or "replace" in p.text else []
    built = _BUILT.findall(p.text) if "::create(" in p.text else []
    return list(dict.fromkeys([*created, *built]))


def matched(p: Passage) -> list[str]:
    """Scan C++ for the classes of operations that its patterns match."""
    if not _is_code(p) or "Op" not in p.text or "atchAndRewrite" not in p.text:
        return []
    return [m["name"] for m in _MATCHED.finditer(p.text)]


def templates(p: Passage) -> list[list[str]]:
    """Scan C++ for patterns with operations in their arguments, as bases of a class or registered: base, then these."""
    if not _is_code(p) or "Op" not in p.text or "<" not in p.text:
        return []
    registers = _REGISTRATION.search(p.text) is not None
    found = (m for m in _TEMPLATE.finditer(p.text) if registers or _PATTERN.search(m["base"]))
    named = ((m["base"], [name for name in _TOKEN.findall(m["arguments"]) if name.endswith("Op")]) for m in found)
    return [[base, *names] for base, names in named if names]


class _Reader:
    """Reads the C++ passages of one file."""

    def __init__(self, sources: Sources, ops: Operations, place: Place) -> None:
        self.sources = sources
        self.ops = ops
        self.corpus = place[0]
        rows = sources.cpp[place]
        self.namespaces = frozenset(part for row in rows for part in sources.found(row, "namespaces"))
        self.known: dict[str, str | None] = {}

    def read(self, row: int) -> Iterator[Naming]:
        p = self.sources.passages[row]
        if "Op" not in p.text:
            return
        yield from self._methods(row, p)
        yield from self._names(row, "makes", self.sources.found(row, "made"))
        if names := self.sources.found(row, "matched"):
            matched = [op for name in names if (op := self._op(name))]
            for part in self.sources.parts(row):  # a long pattern has several passages
                yield from (Naming(op, "op", "lowers", part) for op in matched)
        yield from self._templates(row)

    def _methods(self, row: int, p: Passage) -> Iterator[Naming]:
        scopes = (symbol.rpartition("::")[0] for symbol in p.symbol.split(", ") if "::" in symbol)
        return self._names(row, "implements", scopes)

    def _templates(self, row: int) -> Iterator[Naming]:
        """Yield the operations in the arguments of patterns: bases of a class here, or instances being registered."""
        for base, *names in self.sources.found(row, "templates"):
            matched, *made = [op for name in names if (op := self._op(name))] or [""]
            if not matched:
                continue
            classes = self.sources.class_rows(self.corpus, base)
            for target in classes or (row,):
                yield Naming(matched, "op", "lowers", target)
                yield from (Naming(op, "op", "makes", target) for op in made)
            if classes:
                yield Naming(matched, "op", "uses", row)

    def _names(self, row: int, relation: Relation, texts: Iterable[str]) -> Iterator[Naming]:
        for text in texts:
            if (op := self._op(text)) is not None:
                yield Naming(op, "op", relation, row)

    def _op(self, text: str) -> str | None:
        if text not in self.known:
            self.known[text] = self.ops.resolve(text, self.corpus, self.namespaces)
        return self.known[text]

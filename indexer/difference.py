"""Two versions of one corpus compared: passes, operations and options, and what became of lines that were cited."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import groupby
from typing import Literal

from indexer.difference_parts import Part, part_of
from indexer.reading import Cutter, Job, read_bases, taken_entries
from indexer.records import Passage, Relation, Sort
from indexer.shelf import Shelf
from indexer.symbols import name_passages

# What makes a pass, an operation or an option what it is; tests and documents only speak of it.
_MAKING: frozenset[Relation] = frozenset({"defines", "implements", "option_of", "lowers"})
# With what an implementation is built of: the rest of its file, and sources beside it.
_BUILDING = _MAKING | {"uses"}
_COMPARED: frozenset[Sort] = frozenset({"pass", "op", "option"})
_SOURCES = frozenset({"cpp", "tablegen", "text"})
# Shorter blocks stand in many files by chance, and are not looked for in another one.
MIN_MOVED_LINES = 3
MIN_TELLING = 24  # characters of a line

# First and last line of a file, from 1, inclusive.
Lines = tuple[int, int]
# What a thing is made of: passages, and what each is to it.
Parts = list[tuple[Relation, Passage]]


@dataclass(frozen=True, slots=True)
class PassageChange:
    """A passage that is other than it was; without `old` it is new, without `new` it is gone.

    The lines are those of the file that differ, on each side.
    """

    relation: Relation
    old: Passage | None
    new: Passage | None
    old_lines: tuple[Lines, ...] = ()
    new_lines: tuple[Lines, ...] = ()


@dataclass(frozen=True, slots=True)
class Thing:
    """A pass, operation or option that was added, removed or changed, with its passages that differ."""

    name: str
    changes: tuple[PassageChange, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """What became of all things of one sort, each by name."""

    added: tuple[Thing, ...]
    removed: tuple[Thing, ...]
    changed: tuple[Thing, ...]


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of lines of the old version: where they stand now, and which of them differ there."""

    kind: Literal["kept", "moved", "changed", "vanished"]
    path: str = ""
    lines: Lines | None = None
    differing: tuple[Lines, ...] = ()


class Version:
    """The passages of one corpus at one commit, by file and line."""

    def __init__(self, commit: str, passages: Iterable[Passage]) -> None:
        self.commit = commit
        self.passages = sorted(passages, key=lambda p: (p.path, p.start_line))

    @cached_property
    def files(self) -> Mapping[str, list[str]]:
        """Return the lines of each file: its passages hold every one once."""
        return {
            path: [line for p in passages for line in p.text.split("\n")]
            for path, passages in groupby(self.passages, key=lambda p: p.path)
        }

    @cached_property
    def places(self) -> Mapping[str, list[tuple[str, int]]]:
        """Return where each line of some length stands: file, and number from 0."""
        found: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for path, lines in self.files.items():
            for number, line in enumerate(lines):
                if len(line) >= MIN_TELLING:
                    found[line].append((path, number))
        return found

    @cached_property
    def things(self) -> Mapping[tuple[Sort, str], Parts]:
        """Return what each pass, operation and option is made of."""
        made = {thing: [part for part in parts if part[0] in _MAKING] for thing, parts in self._built.items()}
        return {thing: parts for thing, parts in made.items() if parts}

    def sources_of(self, name: str) -> Parts:
        """Return what a pass is made of, with the sources that its implementation is built of."""
        return self._built.get(("pass", name), [])

    def is_about(self, name: str, path: str, lines: Lines) -> bool:
        """Tell whether lines of a file are of a pass: of what it is made and built of, or they name it."""
        own = (p for _, p in self.sources_of(name) if p.path == path)
        return any(p.start_line <= lines[1] and lines[0] <= p.end_line for p in own) or any(
            name in line for line in self.files.get(path, [])[lines[0] - 1 : lines[1]]
        )

    @cached_property
    def _built(self) -> Mapping[tuple[Sort, str], Parts]:
        sources = [p for p in self.passages if p.language in _SOURCES and p.kind not in {"test", "doc"}]
        found: dict[tuple[Sort, str], Parts] = defaultdict(list)
        for naming in name_passages(sources):
            if naming.sort in _COMPARED and naming.relation in _BUILDING:
                found[naming.sort, naming.name].append((naming.relation, sources[naming.row]))
        return found

    def passage_id(self, path: str, lines: Lines) -> str:
        """Return the id of lines of a file of this version."""
        corpus = self.passages[0].corpus
        return f"{corpus}@{self.commit[:12]}:{path}#L{lines[0]}-L{lines[1]}"


def version_of_shelf(shelf: Shelf, corpus: str) -> Version:
    """Return a corpus as a generation holds it."""
    passages = list(shelf.all_passages(corpus))
    return Version(passages[0].commit if passages else "", passages)


def version_of_tree(job: Job, shelf: Shelf | None) -> Version:
    """Return a corpus as its tree has it; files that `shelf` holds with the same content are not cut again."""
    corpus = job.tree.corpus
    known = shelf.files(corpus.name) if shelf is not None else {}
    entries = taken_entries(job)
    cutter = Cutter.of(job, read_bases(job, entries))
    same = [e.path for e in entries if e.path in known and known[e.path].digest == e.digest
            and known[e.path].chunker == cutter.stamp_of(e.path)]  # fmt: skip
    kept = shelf.of_files(corpus.name, same) if shelf is not None else []
    passages = [dataclasses.replace(row.passage, commit=corpus.commit) for _, row in kept]
    held = set(same)
    for entry, content in job.tree.read([e for e in entries if e.path not in held]):
        passages += cutter.cut(entry, content)[1]
    return Version(corpus.commit, passages)


def compare(old: Version, new: Version, sort: Sort, name: str | None = None) -> Changes:
    """Compare the things of one sort.

    With `name`, only that pass, with the sources that it is built of, and what shares a passage with it.
    """
    olds, news = (
        {
            n: [part_of(sort, n, relation, p) for relation, p in (version.sources_of(n) if name == n else found)]
            for (s, n), found in version.things.items()
            if s == sort and _about(version, n, sort, name)
        }
        for version in (old, new)
    )
    changed = ((n, tuple(_changes(olds[n], news[n]))) for n in sorted(olds.keys() & news.keys()))
    return Changes(
        tuple(Thing(n, tuple(_changes([], news[n]))) for n in sorted(news.keys() - olds.keys())),
        tuple(Thing(n, tuple(_changes(olds[n], []))) for n in sorted(olds.keys() - news.keys())),
        tuple(Thing(n, changes) for n, changes in changed if changes),
    )


def _about(version: Version, thing: str, sort: Sort, name: str | None) -> bool:
    """Tell whether a thing is the named pass, or shares a passage with it."""
    if name is None or (sort == "pass" and thing == name):
        return True
    if sort == "pass":
        return False
    own = {id(p) for _, p in version.things.get(("pass", name), ())}
    return any(id(p) in own for _, p in version.things[sort, thing])


def _changes(olds: Sequence[Part], news: Sequence[Part]) -> Iterator[PassageChange]:
    """Pair the parts of a thing by text, then by place and symbol; yield what has no equal."""
    texts, old_texts = {part.text for part in news}, {part.text for part in olds}
    gone = {_place(part): part for part in olds if part.text not in texts}
    for new in news:
        if new.text not in old_texts:
            old = gone.pop(_place(new), None)
            yield _changed(old, new) if old is not None else PassageChange(new.relation, None, new.passage)
    yield from (PassageChange(old.relation, old.passage, None) for old in gone.values())


def _place(part: Part) -> tuple[str, str, int, Relation]:
    return part.passage.path, part.passage.symbol, part.passage.ordinal, part.relation


def _changed(old: Part, new: Part) -> PassageChange:
    old_lines, new_lines = [], []
    for a, b in _differing(old.text.split("\n"), new.text.split("\n")):
        if a[1] > a[0]:
            old_lines.append((old.first + a[0], old.first + a[1] - 1))
        if b[1] > b[0]:
            new_lines.append((new.first + b[0], new.first + b[1] - 1))
    return PassageChange(new.relation, old.passage, new.passage, tuple(old_lines), tuple(new_lines))


def _differing(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Lines, Lines]]:
    """Yield the half-open ranges, from 0, in which two texts differ; what they begin and end with alike is skipped."""
    shortest = min(len(old), len(new))
    head = next((n for n in range(shortest) if old[n] != new[n]), shortest)
    most = shortest - head
    tail = next((n for n in range(most) if old[-1 - n] != new[-1 - n]), most)
    middle = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    for tag, a, b, c, d in middle.get_opcodes():
        if tag != "equal":
            yield (a + head, b + head), (c + head, d + head)


def fate_of(old: Version, new: Version, path: str, lines: Lines) -> Fate:
    """Tell what became of lines of the old version."""
    block = old.files.get(path, [])[lines[0] - 1 : lines[1]]
    now = new.files.get(path)
    if now is not None and (at := find_block(now, block, lines[0])) is not None:
        return Fate("kept", path, (at, at + len(block) - 1))
    if len(block) >= MIN_MOVED_LINES and (moved := _elsewhere(new, block)) is not None:
        return moved
    if now is None:
        return Fate("vanished")
    return _changed_block(old.files[path], now, path, lines)


def _elsewhere(new: Version, block: list[str]) -> Fate | None:
    """Look for a block in all files, by a line of it that is long enough to be rare."""
    offset = next((n for n, line in enumerate(block) if len(line) >= MIN_TELLING), None)
    for path, at in new.places.get(block[offset], ()) if offset is not None else ():
        first = at - (offset or 0)
        if first >= 0 and new.files[path][first : first + len(block)] == block:
            return Fate("moved", path, (first + 1, first + len(block)))
    return None


def _changed_block(old: Sequence[str], new: Sequence[str], path: str, lines: Lines) -> Fate:
    """Follow the block's first and last line through the changes of its file."""
    first, last = lines[0] - 1, lines[1]
    begin, end, differing = first, last, []
    for a, b in _differing(old, new):
        shift = (b[1] - b[0]) - (a[1] - a[0])
        if a[1] <= first and not (a[0] == a[1] == first):
            begin, end = begin + shift, end + shift
        elif a[0] < last:
            end += shift
            differing.append((b[0] + 1, max(b[0] + 1, b[1])))
    if end <= begin:
        return Fate("vanished")
    return Fate("changed", path, (begin + 1, end), tuple(differing))


def find_block(content: Sequence[str], block: Sequence[str], near: int) -> int | None:
    """Return the line at which `block` stands in a file, the nearest to line `near`; None where it does not."""
    if not block:
        return None
    starts = [
        at + 1
        for at, line in enumerate(content)
        if line == block[0] and list(content[at : at + len(block)]) == list(block)
    ]
    return min(starts, key=lambda at: abs(at - near), default=None)

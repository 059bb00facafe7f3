"""A tree -> what it changes in the index: only files whose content the index does not have are read and cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from indexer.chunk import CHUNKER_VERSION, chunk_file
from indexer.corpus import MAX_FILE_BYTES, Entry, Manifest, TextTree, Tree
from indexer.crew import Alone, Crew
from indexer.errors import BadInput
from indexer.grammar.tablegen import described, grammar_with
from indexer.grammar.tablegen_bases import NO_BASES, Bases, gather_bases
from indexer.history import history_of
from indexer.records import Corpus, Passage
from indexer.shelf import FileMark, FormerPlace, Row, Shelf

# Stage, done, total; called often, perhaps on several threads.
Progress = Callable[[str, int, int], None]

# Why a file has no passages.
UNREAD = frozenset({"binary", "too_large"})
_TABLEGEN = ".td"
# Shorter texts stand in many places by chance, and are not followed to another file.
MIN_MOVED = 80
# Fewer files are cut in less time than helpers need to start: 14 ms each, against 1 s.
CREW_FILES = 150
# What a helper is given at once.
BATCH_FILES = 16
BATCH_BYTES = 150_000


@dataclass(frozen=True, slots=True)
class Job:
    """A tree to index; `source` is what the user wrote, kept so that an update can ask again."""

    tree: Tree
    manifest: Manifest
    source: str

    @property
    def stamp(self) -> str:
        """Return what, besides its content, decides the passages of a file."""
        return f"{CHUNKER_VERSION}.{self.manifest.digest}"


@dataclass(slots=True)
class Reading:
    """What a corpus brings: passages by what becomes of them, files read anew, and where old ids lead now.

    `removed` and `shifted` are ids of the old shelf; `moved` are pairs of old and new key of a text that stands in
    another file or under another name now.
    """

    job: Job
    number: int
    files: list[FileMark] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    removed_keys: list[str] = field(default_factory=list)
    shifted: list[tuple[int, int, int]] = field(default_factory=list)
    added: list[Passage] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    moved: list[tuple[str, str]] = field(default_factory=list)
    former: list[FormerPlace] = field(default_factory=list)
    changed: int = 0
    # What commits say of each file; None: as the shelf has it.
    history: dict[str, str] | None = None


def unread(job: Job, shelf: Shelf, *, told: bool) -> Reading:
    """Return the reading of a tree that stands in `shelf` as it is, with its history unless that is `told` there."""
    name = job.tree.corpus.name
    history = None if told else history_of(job.tree, shelf.files(name))
    return Reading(job, shelf.newest_number(name), history=history)


def read_corpus(job: Job, shelf: Shelf | None, progress: Progress, crew: Crew) -> Reading:
    """Read what `shelf` lacks of the job's tree; raises `BadInput` when the tree has no file of the corpus.

    Where there are files enough, the crew cuts them.
    """
    corpus = job.tree.corpus
    entries = taken_entries(job)
    old = shelf.files(corpus.name) if shelf is not None else {}
    reading = Reading(job, _number(shelf, corpus.name, corpus.commit))
    cutter = Cutter.of(job, read_bases(job, entries), reading.number)
    changed = [e for e in entries if not _is_same(old.get(e.path), e, cutter.stamp_of(e.path))]
    reading.gone = sorted(old.keys() - {e.path for e in entries})
    before = shelf.of_files(corpus.name, [*(e.path for e in changed if e.path in old), *reading.gone]) if shelf else []
    after: list[Passage] = []
    with ThreadPoolExecutor(1) as beside:  # git reads the history while files are cut
        history = beside.submit(history_of, job.tree, {e.path for e in entries})
        for mark, passages in _cut_all(job, cutter, changed, crew if len(changed) >= CREW_FILES else Alone()):
            reading.files.append(mark)
            after += passages
            progress("read", len(reading.files), len(changed))
    _compare(reading, before, after, old)
    reading.history = history.result()
    return reading


def taken_entries(job: Job) -> list[Entry]:
    """Return the tree's files that belong to the corpus; raises `BadInput` when there are none."""
    entries = [entry for entry in job.tree.entries() if job.manifest.takes(entry.path)]
    if not entries and not isinstance(job.tree, TextTree):
        corpus, wanted = job.tree.corpus, ", ".join(job.manifest.include)
        raise BadInput("index.nothing_taken", name=corpus.name, origin=corpus.origin, wanted=wanted)
    return entries


# A file as it was indexed, and its passages.
Cut = tuple[FileMark, tuple[Passage, ...]]


@dataclass(frozen=True, slots=True)
class Cutter:
    """All that decides how the files of a corpus are cut; it can be sent to where they are.

    `stamp` is the job's; definitions of TableGen inherit from `bases`; `number` is that of the commit.
    """

    corpus: Corpus
    manifest: Manifest
    stamp: str
    bases: Bases = NO_BASES
    number: int = 0

    @classmethod
    def of(cls, job: Job, bases: Bases, number: int = 0) -> Cutter:
        """Return the one for a job."""
        return cls(job.tree.corpus, job.manifest, job.stamp, bases, number)

    def stamp_of(self, path: str) -> str:
        """Return what decides a file's passages besides its content: of TableGen, the classes of other files too."""
        return f"{self.stamp}.{self.bases.digest}" if path.endswith(_TABLEGEN) else self.stamp

    def cut(self, entry: Entry, content: bytes) -> Cut:
        """Cut one file into passages, and tell what became of it."""
        grammar, text = self.manifest.grammar(entry.path), _decoded(content)
        failure: str = ""
        passages: tuple[Passage, ...] = ()
        if grammar is None or text is None:
            failure = "too_large" if len(content) > MAX_FILE_BYTES else "binary"
        else:
            grammar = grammar_with(self.bases) if grammar.language == "tablegen" else grammar
            chunked = chunk_file(self.corpus, entry.path, text, grammar, self.manifest.kind(entry.path))
            failure, passages = chunked.fallback, chunked.passages
        stamp = self.stamp_of(entry.path)
        return FileMark(self.corpus.name, entry.path, entry.digest, stamp, failure, self.number), passages

    def cut_files(self, files: Sequence[tuple[Entry, bytes]]) -> list[Cut]:
        """Cut several files."""
        return [self.cut(entry, content) for entry, content in files]


def read_bases(job: Job, entries: Sequence[Entry]) -> Bases:
    """Read the classes that the corpus's TableGen files derive from, across files."""
    files = [e for e in entries if e.path.endswith(_TABLEGEN)]
    return gather_bases((text for _, content in job.tree.read(files) if (text := _decoded(content))), described)


def _cut_all(job: Job, cutter: Cutter, entries: Sequence[Entry], crew: Crew) -> Iterator[Cut]:
    for files in crew.map(cutter.cut_files, _batches(job.tree.read(entries))):
        yield from files


def _batches(files: Iterator[tuple[Entry, bytes]]) -> Iterator[list[tuple[Entry, bytes]]]:
    """Put files together, so that little time is lost between them and none waits long for the last."""
    batch: list[tuple[Entry, bytes]] = []
    size = 0
    for entry, content in files:
        batch.append((entry, content))
        size += len(content)
        if len(batch) >= BATCH_FILES or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _is_same(mark: FileMark | None, entry: Entry, stamp: str) -> bool:
    return mark is not None and (mark.digest, mark.chunker) == (entry.digest, stamp)


def _number(shelf: Shelf | None, corpus: str, commit: str) -> int:
    """Return the number of the corpus's commit: that of the index if it is the same, else the next."""
    if shelf is None:
        return 1
    newest = shelf.newest_number(corpus)
    return newest if newest and shelf.number_of(corpus, commit) == newest else newest + 1


def _compare(
    reading: Reading, before: Sequence[tuple[int, Row]], after: Sequence[Passage], files: Mapping[str, FileMark]
) -> None:
    """Sort the passages of changed files by what became of them."""
    olds = {row.passage.key: (id_, row.passage) for id_, row in before}
    present = set()
    for new in after:
        key = new.key
        present.add(key)
        id_, old = olds.get(key, (0, None))
        if old is None:
            reading.changed += 1
        if old is not None and (old.natural, old.kind, old.language) == (new.natural, new.kind, new.language):
            if (old.start_line, old.end_line) != (new.start_line, new.end_line):
                reading.shifted.append((id_, new.start_line, new.end_line))
        else:
            reading.added.append(new)
            if old is not None:
                _remove(reading, id_, key)
    elsewhere = {p.text: p.key for p in reading.added if len(p.text) >= MIN_MOVED}
    for key, (id_, old) in olds.items():
        now: str | None = key if key in present else elsewhere.get(old.text)
        if key not in present:
            _remove(reading, id_, key)
            if now is None:
                reading.lost.append(key)
            else:
                reading.moved.append((key, now))
        since = files[old.path].since
        if now is not None and since < reading.number:
            reading.former.append(
                FormerPlace(
                    old.corpus, old.path, old.start_line, old.end_line, reading.number - 1, since, now
                )
            )  # fmt: skip


def _remove(reading: Reading, id_: int, key: str) -> None:
    reading.removed.append(id_)
    reading.removed_keys.append(key)


def _decoded(content: bytes) -> str | None:
    """Return the text of a file, None for one that is not text or too large to be hand-written."""
    if len(content) > MAX_FILE_BYTES or b"\0" in content[:8192]:
        return None
    return content.decode("utf-8", errors="replace")

"""The knowledge base's part of the JSON contract (design, section 7), made from its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from agent.contract_parts import Doc
from agent.knowledge import Answer
from agent.matching import CorpusStatus, mending_command
from indexer.build import BuildReport
from indexer.corpus import Manifest
from retriever.records import Hit


class PassageDoc(Doc):
    """A passage as it is shown."""

    id: str
    corpus: str
    commit: str
    path: str
    start_line: int
    end_line: int
    kind: str
    symbol: str
    language: str
    sha256: str
    text: str


class HitDoc(Doc):
    """A passage with its place in an answer."""

    rank: int
    score: float
    why: list[str]
    passage: PassageDoc


class SearchDoc(Doc):
    """`tritonkb search`; `near` are known names like one that is unknown."""

    query: str
    hits: list[HitDoc]
    near: list[str]


class FailureDoc(Doc):
    """A file not read by its grammar."""

    path: str
    reason: str


class BuiltCorpusDoc(Doc):
    """A corpus after a build."""

    name: str
    commit: str
    files: int
    passages: int
    changed: int
    failures: list[FailureDoc]
    kinds: dict[str, int]
    languages: dict[str, int]


class BuildDoc(Doc):
    """`tritonkb index build` and `index update`; `kept` are corpora whose source is gone."""

    store: str
    corpora: list[BuiltCorpusDoc]
    seconds: dict[str, float]
    peak_mib: int
    embedded: int
    resumed: int
    unchanged: bool
    total_seconds: float
    kept: list[str]
    processor_seconds: float


class CorpusDoc(Doc):
    """A corpus of an index; `fix` is the command that makes it the source of the installed compilers."""

    name: str
    commit: str
    files: int
    passages: int
    updated_at: str
    matches_toolchain: bool | None
    origin: str
    target: str
    expected_commit: str | None
    fix: str | None


class StatusDoc(Doc):
    """`tritonkb index status`; `fix` mends all corpora at once."""

    store: str
    corpora: list[CorpusDoc]
    fix: str | None


class ManifestDoc(Doc):
    """A corpus that can be indexed."""

    name: str
    target: str
    commit: str
    licence: str
    repositories: list[str]
    aliases: list[str]


class CorporaDoc(Doc):
    """`tritonkb index corpora`."""

    corpora: list[ManifestDoc]


def search_doc(query: str, answer: Answer) -> SearchDoc:
    """Return the document of an answer."""
    return SearchDoc(query=query, hits=hit_docs(answer.hits), near=list(answer.near))


def hit_docs(hits: Sequence[Hit]) -> list[HitDoc]:
    """Return the documents of hits, in their order."""
    return [_hit_doc(rank, hit) for rank, hit in enumerate(hits, 1)]


def _hit_doc(rank: int, hit: Hit) -> HitDoc:
    p = hit.passage
    passage = PassageDoc(
        id=p.id, corpus=p.corpus, commit=p.commit, path=p.path, start_line=p.start_line, end_line=p.end_line,
        kind=p.kind, symbol=p.symbol, language=p.language, sha256=p.sha256, text=p.text,
    )  # fmt: skip
    return HitDoc(rank=rank, score=hit.score, why=list(hit.why), passage=passage)


def build_doc(report: BuildReport) -> BuildDoc:
    """Return the document of a build."""
    corpora = [
        BuiltCorpusDoc(
            name=c.name, commit=c.commit, files=c.files, passages=c.passages, changed=c.changed,
            failures=[FailureDoc(path=f.path, reason=f.reason) for f in c.failures],
            kinds=_counted((t.kind, t.passages) for t in c.tally),
            languages=_counted((t.language, t.passages) for t in c.tally),
        )
        for c in report.corpora
    ]  # fmt: skip
    return BuildDoc(
        store=str(report.store), corpora=corpora, seconds=report.seconds, peak_mib=report.peak_mib,
        embedded=report.embedded, resumed=report.resumed, unchanged=report.unchanged,
        total_seconds=report.total_seconds, kept=[kept.name for kept in report.kept],
        processor_seconds=report.processor_seconds,
    )  # fmt: skip


def _counted(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for name, count in counts:
        found[name] += count
    return dict(found)


def status_doc(store: Path, found: Sequence[CorpusStatus]) -> StatusDoc:
    """Return the document of an index's state."""
    corpora = [
        CorpusDoc(
            name=s.mark.name, commit=s.mark.commit, files=s.mark.files, passages=s.mark.passages,
            updated_at=s.mark.updated_at, matches_toolchain=s.matches_toolchain, origin=s.mark.origin,
            target=s.mark.target, expected_commit=s.expected or None, fix=mending_command([s], store) or None,
        )
        for s in found
    ]  # fmt: skip
    return StatusDoc(store=str(store), corpora=corpora, fix=mending_command(found, store) or None)


def corpora_doc(manifests: Sequence[Manifest]) -> CorporaDoc:
    """Return the document of the known corpora."""
    return CorporaDoc(
        corpora=[
            ManifestDoc(
                name=m.name, target=m.target, commit=m.commit, licence=m.licence, repositories=list(m.repositories),
                aliases=list(m.aliases),
            )
            for m in manifests
        ]
    )  # fmt: skip

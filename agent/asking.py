"""A question answered from the index, every sentence with its citation; in the question's language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agent.contract import Doc
from agent.knowledge_documents import HitDoc, hit_docs
from indexer.corpus import known_corpora
from indexer.errors import BadInput
from indexer.messages import Lang, message, render
from indexer.words import has_chinese
from retriever.answer import Extract, Quote, extract_answer
from retriever.facts import Conflict, OptionFact
from retriever.records import Query
from retriever.search import Index

MAX_FACTS = 3


class ClaimDoc(Doc):
    """A sentence or quoted lines with the passages that hold it; `lines` is `path:first-last`, for an editor."""

    text: str
    citations: list[str]
    lines: str = ""
    reason: str = ""


class ConflictDoc(Doc):
    """A document that contradicts the source."""

    option: str
    source_default: str
    source: str
    document_default: str
    document: str
    document_line: int


class AskDoc(Doc):
    """`tritonkb ask`; where the index does not hold the answer, `answered` is False and `suggestions` say what to do."""

    question: str
    answer: str
    mode: Literal["extractive", "model"]
    answered: bool
    confidence: float
    claims: list[ClaimDoc]
    rejected_claims: list[ClaimDoc]
    conflicts: list[ConflictDoc]
    suggestions: list[str]
    hits: list[HitDoc]


def ask(index: Index, question: str, corpora: Sequence[str] = ()) -> AskDoc:
    """Answer with the lines that answer, without a model; raises `BadInput` for an empty question."""
    if not question.strip():
        raise BadInput("ask.nothing_asked")
    found = extract_answer(index, Query(question, corpora=tuple(corpora)))
    lang = language_of(question)
    claims = [*_fact_claims(found.facts, lang), *(_quote_claim(quote) for quote in found.quotes)]
    suggestions = [] if found.answered else _suggestions(index, found, lang)
    return AskDoc(
        question=question,
        answer=_text(found, claims, suggestions, lang),
        mode="extractive",
        answered=found.answered,
        confidence=round(found.confidence.value, 3),
        claims=claims,
        rejected_claims=[],
        conflicts=[_conflict_doc(conflict) for conflict in found.conflicts],
        suggestions=suggestions,
        hits=hit_docs(found.hits),
    )


def language_of(question: str) -> Lang:
    """Return the language in which a question is to be answered."""
    return "zh" if has_chinese(question) else "en"


def _fact_claims(facts: Sequence[OptionFact], lang: Lang) -> list[ClaimDoc]:
    told = [f for f in facts if f.is_source] or list(facts)
    unlike = list({(f.value, f.passage.corpus, f.passage.kind): f for f in reversed(told)}.values())[::-1]
    return [
        ClaimDoc(
            text=render(message("ask.default", option=f.name, default=f.default, where=_place(f)), lang),
            citations=[f.passage.id],
            lines=f"{f.passage.path}:{f.line}",
        )
        for f in unlike[:MAX_FACTS]
    ]


def _place(fact: OptionFact) -> str:
    return f"{fact.passage.corpus} {fact.passage.path.rpartition('/')[2]}:{fact.line}"


def _quote_claim(quote: Quote) -> ClaimDoc:
    return ClaimDoc(
        text=quote.text, citations=[quote.passage.id], lines=f"{quote.passage.path}:{quote.first}-{quote.last}"
    )


def _conflict_doc(conflict: Conflict) -> ConflictDoc:
    return ConflictDoc(
        option=conflict.source.name,
        source_default=conflict.source.default,
        source=conflict.source.passage.id,
        document_default=conflict.document.default,
        document=conflict.document.passage.id,
        document_line=conflict.document.line,
    )


def _suggestions(index: Index, found: Extract, lang: Lang) -> list[str]:
    """Say which names nothing here knows, and which corpora are not indexed."""
    told = []
    if found.confidence.unknown:
        told.append(message("ask.unknown_names", names=", ".join(found.confidence.unknown)))
    missing = [name for name in known_corpora() if name not in {mark.name for mark in index.manifest.corpora}]
    if missing:
        told.append(message("ask.index_more", names=", ".join(missing), name=missing[0]))
    told.append(message("ask.rephrase"))
    return [render(note, lang) for note in told]


def _text(found: Extract, claims: Sequence[ClaimDoc], suggestions: Sequence[str], lang: Lang) -> str:
    if not found.answered:
        return "\n".join([render(message("ask.declined"), lang), *suggestions])
    parts = [f"{claim.text}\n[{claim.citations[0]}]" for claim in claims]
    parts += [
        render(
            message(
                "ask.conflict", option=c.source.name, document=c.document.passage.path, line=c.document.line,
                said=c.document.default, default=c.source.default,
            ),
            lang,
        )
        for c in found.conflicts
    ]  # fmt: skip
    return "\n\n".join(parts)

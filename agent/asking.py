"""A question answered from the index, every sentence with its citation; in the question's language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.asking_documents import AskDoc, ClaimDoc, ConflictDoc
from agent.knowledge_documents import hit_docs
from indexer.corpus import known_corpora
from indexer.errors import BadInput
from indexer.messages import Lang, Message, message, render
from indexer.records import Passage
from indexer.repair import store_option
from indexer.words import has_chinese, words_of
from retriever.answer import Extract, extract_answer
from retriever.conditions import Reached
from retriever.datatypes import TypesFact
from retriever.definitions import Definition
from retriever.devices import DeviceFact
from retriever.dialects import strangers
from retriever.facts import Conflict, OptionFact
from retriever.query import MAX_QUESTION
from retriever.quotes import Quote, quote_lines
from retriever.records import Query
from retriever.search import Index, Refused

MAX_FACTS = 3
# A name is likened to all that are known, which takes some milliseconds.
MAX_SLIPS = 4
MAX_ORDERS = 200  # characters of a remark
# A quote of which at most this share of words is new says what was said.
SAID_AGAIN = 0.3


def ask(index: Index, question: str, corpora: Sequence[str] = ()) -> AskDoc:
    """Answer with the lines that answer, without a model; raises `BadInput` for an empty question."""
    return extractive(index, find_answer(index, question, corpora))


def find_answer(index: Index, question: str, corpora: Sequence[str] = ()) -> Extract:
    """Find what the index says to a question; raises `BadInput` for an empty one."""
    if not question.strip():
        raise BadInput("ask.nothing_asked")
    return extract_answer(index, Query(question, corpora=tuple(corpora)))


def extractive(index: Index, found: Extract, remark: Message | None = None) -> AskDoc:
    """Write what was found as an answer; each claim's citation is checked first, and a claim without one dropped."""
    lang = language_of(found.question)
    claims, rejected = checked(index, list(_claims(found, lang)))
    suggestions = [] if found.answered else _suggestions(index, found, lang)
    notes = [remark] if remark else []
    if found.cut:
        notes.append(_cut_note(found.cut))
    if found.orders:
        notes.append(message("ask.orders", orders=" … ".join(found.orders)[:MAX_ORDERS]))
    foreign = strangers(index, found.question)
    notes += [message("ask.not_indexed", op=s.op, corpus=s.corpus, store=_store(index)) for s in foreign]
    if found.withheld:
        notes.append(message("ask.withheld", ids=", ".join(p.id for p in found.withheld)))
    remarks = [render(note, lang) for note in notes]
    return AskDoc(
        question=found.question,
        answer="\n\n".join([*remarks, *_text(found, claims, suggestions, lang)]),
        mode="extractive",
        answered=found.answered and bool(claims),
        confidence=round(found.confidence.value, 3),
        claims=claims,
        rejected_claims=rejected,
        conflicts=[_conflict_doc(conflict, lang) for conflict in found.conflicts],
        suggestions=suggestions,
        remarks=remarks,
        hits=hit_docs(found.hits),
    )


def cut_remarks(question: str) -> list[str]:
    """Return what is to be said where a question is too long to be read whole."""
    return (
        [render(_cut_note(len(question) - MAX_QUESTION), language_of(question))] if len(question) > MAX_QUESTION else []
    )


def _cut_note(count: int) -> Message:
    return message("ask.cut", count=count, most=MAX_QUESTION)


def language_of(question: str) -> Lang:
    """Return the language in which a question is to be answered."""
    return "zh" if has_chinese(question) else "en"


def checked(index: Index, claims: Sequence[tuple[ClaimDoc, Passage]]) -> tuple[list[ClaimDoc], list[ClaimDoc]]:
    """Split claims into those whose citation opens to the very text that was read, and the others, with the reason."""
    kept, rejected = [], []
    for claim, passage in claims:
        answer = index.check_citation(passage.id, passage.sha256)
        if isinstance(answer, Refused):
            rejected.append(claim.model_copy(update={"reason": answer.reason}))
        else:
            kept.append(claim)
    return kept, rejected


def _claims(found: Extract, lang: Lang) -> Iterator[tuple[ClaimDoc, Passage]]:
    stated = [*_stated_facts(found, lang), *_stated_places(found, lang)]
    yield from stated
    said = {word for claim, _ in stated for word in words_of(claim.text)}
    for quote in found.quotes:
        if _is_stated(quote, found):
            continue
        if not stated or len(_words(quote) - said) > SAID_AGAIN * len(_words(quote)):
            yield _stated(_quote_text(quote, lang), quote.passage, quote.first, quote.last)


def _is_stated(quote: Quote, found: Extract) -> bool:
    """Tell whether what a quote says is stated already, from the same lines or the same record."""
    passage = quote.passage
    return (
        any(p.id == passage.id and quote.first <= line <= quote.last for p, line in found.places)
        or any(r.passage.id == passage.id for r in (*found.pipelines, *found.emitters))
        or any(d.passage.path == passage.path for d in found.devices)
        or (quote.text.startswith("def ") and any(d.passage.id == passage.id for d in found.definitions))
    )


def _stated_facts(found: Extract, lang: Lang) -> Iterator[tuple[ClaimDoc, Passage]]:
    """Write options and definitions; a pass's option that has the compiler's default is the compiler's again."""
    told = [f for f in found.facts if f.is_source] or list(found.facts)
    unlike = list({(f.name, f.value): f for f in reversed(told)}.values())[::-1]
    for fact in unlike[:MAX_FACTS]:
        yield _stated(_fact_text(fact, lang), fact.passage, fact.line)
    for device in found.devices:
        yield _stated(_device_text(device, lang), device.passage, device.line)
    for types in found.types:
        yield _stated(_types_text(types, lang), types.passage, types.line)
    for definition in found.definitions:
        yield _stated(_definition_text(definition, lang), definition.passage, definition.line)


def _stated_places(found: Extract, lang: Lang) -> Iterator[tuple[ClaimDoc, Passage]]:
    """Write where a pass is added and a diagnostic is emitted, and under which condition."""
    for place in found.pipelines:
        yield _stated(_reached_text("pipeline", place, found.definitions, lang), place.passage, place.line)
    for place in found.emitters:
        quote = quote_lines(place.passage, place.since, place.line)
        text = _reached_text("emitter", place, (), lang)
        yield _stated(f"{text}\n{quote.text}", place.passage, quote.first, quote.last)


def _words(quote: Quote) -> set[str]:
    """Return the words of a quote; what a compiler prints of an option begins with its name."""
    text = quote.text.partition("\n")[2] if quote.passage.corpus == "toolchain" else quote.text
    return set(words_of(text))


def _stated(text: str, passage: Passage, first: int, last: int | None = None) -> tuple[ClaimDoc, Passage]:
    lines = f"{passage.path}:{first}" + (f"-{last}" if last is not None and last != first else "")
    return ClaimDoc(text=text, citations=[passage.id], lines=lines), passage


def _fact_text(fact: OptionFact, lang: Lang) -> str:
    flag = f"--{fact.name}" if fact.passage.language != "python" else fact.name
    parts = [message("ask.fact_of", option=flag, owner=fact.owner) if fact.owner else flag]
    if fact.type:
        parts.append(message("ask.fact_type", type=fact.type))
    if fact.default:
        exact = fact.default if fact.default != fact.typed_default else ""
        parts.append(message("ask.fact_default", default=fact.typed_default, exact=f" ({exact})" if exact else ""))
    if fact.choices:
        choices = ", ".join(f"{c.spelling} ({c.meaning})" if c.meaning else c.spelling for c in fact.choices)
        parts.append(message("ask.fact_values", values=choices))
    if fact.description:
        parts.append(fact.description)
    head, *rest = (render(part, lang) if isinstance(part, Message) else part for part in parts)
    return head + render(message("ask.colon"), lang) + render(message("ask.semicolon"), lang).join(rest)


def _device_text(fact: DeviceFact, lang: Lang) -> str:
    key = "ask.device_size" if fact.kib is not None else "ask.device_count"
    names = ", ".join(fact.devices)
    return render(message(key, names=names, field=fact.field, value=fact.value, kib=fact.kib), lang)


def _types_text(fact: TypesFact, lang: Lang) -> str:
    verdicts = {True: "ask.type_yes", False: "ask.type_no", None: "ask.type_unsaid"}
    parts = [message(verdicts[taken], type=name) for name, taken in fact.asked]
    if fact.takes:
        parts.append(message("ask.types", types=", ".join(fact.takes)))
    if fact.lacks:
        parts.append(message("ask.types_not", types=", ".join(fact.lacks)))
    who = message("ask.operands", operands=fact.operands) if fact.operands else fact.who
    head = render(message("ask.types_of", name=fact.name, who=who), lang)
    return head + render(message("ask.semicolon"), lang).join(render(part, lang) for part in parts)


def _definition_text(definition: Definition, lang: Lang) -> str:
    said = " ".join(
        part
        for part in (definition.summary.rstrip(".") + "." if definition.summary else "", definition.sentence)
        if part
    )
    return f"{definition.name}{render(message('ask.colon'), lang)}{said}"


def _reached_text(what: str, place: Reached, definitions: Sequence[Definition], lang: Lang) -> str:
    where = f"{place.passage.path.rpartition('/')[2]}:{place.line}"
    line = place.passage.text.split("\n")[place.line - place.passage.start_line]  # others may stand in the passage too
    name = next((d.name for d in definitions if f"{d.constructor}(" in line), "")
    if not place.conditions:
        return render(message(f"ask.{what}_always", where=where, name=name), lang)
    return render(message(f"ask.{what}", where=where, name=name, condition=_joined(place.conditions)), lang)


def _quote_text(quote: Quote, lang: Lang) -> str:
    """Write a quote; before an error the conditions of its report that stand above."""
    if not quote.within:
        return quote.text
    return f"{render(message('ask.within', condition=_joined(quote.within)), lang)}\n{quote.text}"


def _joined(conditions: Sequence[str]) -> str:
    """Write conditions, of which the nearest comes first, as one."""
    parts = [f"({c})" if "||" in c and len(conditions) > 1 else c for c in reversed(conditions)]
    return " && ".join(parts)


def _conflict_doc(conflict: Conflict, lang: Lang) -> ConflictDoc:
    return ConflictDoc(
        option=conflict.source.name,
        source_default=conflict.source.default,
        source=conflict.source.passage.id,
        document_default=conflict.document.default,
        document=conflict.document.passage.id,
        document_line=conflict.document.line,
        text=_conflict_text(conflict, lang),
    )


def _store(index: Index) -> str:
    """Return ` --store STORE` where the index is not the one that a command takes by itself."""
    return store_option(index.generation.folder.parents[1])


def _suggestions(index: Index, found: Extract, lang: Lang) -> list[str]:
    """Say which names nothing here knows, what they may be misspelt for, and which corpora are not indexed."""
    told = []
    if found.confidence.unknown:
        told.append(message("ask.unknown_names", names=", ".join(found.confidence.unknown)))
    slips = {name: index.names.slips(name) for name in found.confidence.unknown[:MAX_SLIPS]}
    told += [message("ask.misspelt", name=name, near=", ".join(near)) for name, near in slips.items() if near]
    missing = [name for name in known_corpora() if name not in {mark.name for mark in index.manifest.corpora}]
    if missing:
        told.append(message("ask.index_more", names=", ".join(missing), name=missing[0], store=_store(index)))
    told.append(message("ask.rephrase"))
    return [render(note, lang) for note in told]


def _text(found: Extract, claims: Sequence[ClaimDoc], suggestions: Sequence[str], lang: Lang) -> list[str]:
    if not found.answered:
        return ["\n".join([render(message("ask.declined"), lang), *suggestions])]
    return [
        *(f"{claim.text}\n[{claim.citations[0]}]" for claim in claims),
        *(_conflict_text(c, lang) for c in found.conflicts),
    ]


def _conflict_text(conflict: Conflict, lang: Lang) -> str:
    note = message(
        "ask.conflict", option=conflict.source.name, document=conflict.document.passage.path,
        line=conflict.document.line, said=conflict.document.default, default=conflict.source.typed_default,
    )  # fmt: skip
    return render(note, lang)

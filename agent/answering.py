"""An answer by a language model, every claim checked against the passages it cites; what fails is cut and listed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from agent.asking import checked, extractive, language_of
from agent.asking_documents import AskDoc, ClaimDoc
from agent.llm.chat import Chat, Unusable
from agent.llm.records import Request
from agent.prompts import prompt
from indexer.errors import ModelError
from indexer.messages import Lang, Message, message, render
from indexer.records import Passage
from retriever.addressed import speaks_to_model
from retriever.answer import Extract
from retriever.search import Index
from retriever.support import support

MAX_PASSAGES = 10
# Of one passage; a longer one is given from the lines that answer on.
MAX_CHARACTERS = 3_000
LANGUAGES: Mapping[Lang, str] = {"en": "English", "zh": "Chinese (简体中文)"}


class ModelClaim(BaseModel):
    """One claim as the model gives it."""

    text: str
    passages: list[str]


class ModelAnswer(BaseModel):
    """What the model is asked for."""

    claims: list[ModelClaim]


class ModelVerdict(BaseModel):
    """What the model says of one claim."""

    claim: int
    supported: bool
    reason: str = ""


class ModelVerdicts(BaseModel):
    """What the model is asked for when it checks."""

    verdicts: list[ModelVerdict] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class GivenPassages:
    """The passages that a model is given, by the names it cites them with, and what is shown of each."""

    passages: Mapping[str, Passage]
    shown: Mapping[str, str]

    @property
    def characters(self) -> int:
        """Return the size of what is sent of them."""
        return sum(map(len, self.shown.values()))


def choose_passages(found: Extract) -> GivenPassages:
    """Return what a model is given: the facts' passages and the best hits, cut around the lines that answer."""
    lines = {q.passage.id: q.first for q in reversed(found.quotes)}
    lines |= {p.id: line for p, line in reversed(found.places)}
    stated = [p for p, _ in found.places][: MAX_PASSAGES // 2]
    ranked = {p.id: p for p in (*stated, *(hit.passage for hit in found.hits))}
    fit = [p for p in ranked.values() if not speaks_to_model(p.text)][:MAX_PASSAGES]
    passages = {f"P{number}": p for number, p in enumerate(fit, 1)}
    return GivenPassages(passages, {name: _window(p, lines.get(p.id, p.start_line)) for name, p in passages.items()})


def first_request(chat: Chat, found: Extract, given: GivenPassages) -> Request:
    """Return the request that answering sends first."""
    mark = _mark(found.question, [*given.shown.values()])
    system = prompt("answer", language=LANGUAGES[language_of(found.question)], mark=mark)
    return chat.request(system, _question_text(found, given, mark), ModelAnswer)


def answer_with_model(index: Index, found: Extract, given: GivenPassages, chat: Chat) -> AskDoc:
    """Ask the model; where nothing it says holds, answer without it and say why. Raises `ModelError`."""
    lang = language_of(found.question)
    request = first_request(chat, found, given)
    answer = chat.ask(request, ModelAnswer)
    if isinstance(answer, Unusable):
        return extractive(index, found, message("ask.model_unusable", reason=answer.reason))
    claims, rejected = _lexically(index, found, given, answer.value, lang)
    claims, refuted, remark = _by_model(chat, found, given, claims, lang)
    rejected += refuted
    if not claims:
        doc = extractive(index, found, message("ask.model_nothing", count=len(rejected)))
        return doc.model_copy(update={"rejected_claims": [*doc.rejected_claims, *rejected]})
    kept = extractive(index, found)
    remarks = [*([render(remark, lang)] if remark is not None else []), *kept.remarks]
    text = [f"{claim.text}\n[{', '.join(claim.citations)}]" for claim in claims]
    return kept.model_copy(
        update={
            "answer": "\n\n".join([*text, *(c.text for c in kept.conflicts), *remarks]),
            "mode": "model", "answered": True,
            "claims": claims, "rejected_claims": rejected, "remarks": remarks,
        }
    )  # fmt: skip


def _lexically(
    index: Index, found: Extract, given: GivenPassages, answer: ModelAnswer, lang: Lang
) -> tuple[list[ClaimDoc], list[ClaimDoc]]:
    """Split the model's claims by what can be checked without it: the citation, its text, and the words."""
    kept: list[ClaimDoc] = []
    rejected: list[ClaimDoc] = []
    for claim in answer.claims:
        reason = _objection(index, found, given, claim)
        passages = [given.passages[name] for name in _cited(claim, given) if name in given.passages]
        doc = ClaimDoc(
            text=claim.text.strip(), citations=[p.id for p in passages] or claim.passages,
            lines=", ".join(f"{p.path}:{p.start_line}-{p.end_line}" for p in passages),
            reason=render(reason, lang) if reason else "",
        )  # fmt: skip
        (rejected if reason else kept).append(doc)
    return kept, rejected


def _objection(index: Index, found: Extract, given: GivenPassages, claim: ModelClaim) -> Message | None:
    """Return why a claim cannot stand, None where the words allow it."""
    names = _cited(claim, given)
    if not claim.text.strip() or not names:
        return message("ask.claim_uncited")
    invented = [name for name in names if name not in given.passages]
    if invented:
        return message("ask.claim_invented", names=", ".join(invented))
    passages = [given.passages[name] for name in names]
    _, refused = checked(index, [(ClaimDoc(text=claim.text, citations=[p.id]), p) for p in passages])
    if refused:
        return message("ask.claim_stale", id=refused[0].citations[0], reason=refused[0].reason)
    words = support(index, claim.text, passages, found.question)
    if words.missing:
        return message("ask.claim_missing", names=", ".join(words.missing))
    if not words.holds:
        return message("ask.claim_other_words", share=round(100 * words.share))
    return None


def _cited(claim: ModelClaim, given: GivenPassages) -> list[str]:
    """Return the names that a claim cites; a model may write a passage's id, or put brackets around its name."""
    ids = {p.id: name for name, p in given.passages.items()}
    return list(dict.fromkeys(ids.get(plain := name.strip(" []()\"'`"), plain) for name in claim.passages))


def _by_model(
    chat: Chat, found: Extract, given: GivenPassages, claims: Sequence[ClaimDoc], lang: Lang
) -> tuple[list[ClaimDoc], list[ClaimDoc], Message | None]:
    """Let the model check its claims in one further call; where that fails they stand by their words, and we say so."""
    if not claims:
        return [], [], None
    names = {p.id: name for name, p in given.passages.items()}
    cited = {name: given.shown[name] for claim in claims for id_ in claim.citations if (name := names[id_])}
    mark = _mark(found.question, [*cited.values(), *(c.text for c in claims)])
    told = [f"{n}. {c.text} [{', '.join(names[id_] for id_ in c.citations)}]" for n, c in enumerate(claims, 1)]
    text = "\n".join([*_delimited(cited, given, mark), "", "Claims:", *told])
    request = chat.request(prompt("check", language=LANGUAGES[lang], mark=mark), text, ModelVerdicts)
    try:
        answer = chat.ask(request, ModelVerdicts)
    except ModelError as error:
        return list(claims), [], message("ask.not_model_checked", reason=error.note)
    if isinstance(answer, Unusable):
        return list(claims), [], message("ask.not_model_checked", reason=answer.reason)
    verdicts = {v.claim: v for v in answer.value.verdicts}
    kept, rejected = [], []
    for number, claim in enumerate(claims, 1):
        verdict = verdicts.get(number)
        if verdict is not None and verdict.supported:
            kept.append(claim)
        else:
            said = verdict.reason if verdict is not None else ""
            reason = message("ask.claim_refuted", said=said) if said else message("ask.claim_not_confirmed")
            rejected.append(claim.model_copy(update={"reason": render(reason, lang)}))
    return kept, rejected, None


def _question_text(found: Extract, given: GivenPassages, mark: str) -> str:
    return "\n".join([*_delimited(given.shown, given, mark), "", "Question:", found.question])


def _delimited(shown: Mapping[str, str], given: GivenPassages, mark: str) -> Iterator[str]:
    for name, text in shown.items():
        p = given.passages[name]
        yield f"----- {mark} {name} begins: {p.kind} of {p.corpus}, {p.path} -----"
        yield text
        yield f"----- {mark} {name} ends -----"


def _mark(question: str, texts: Sequence[str]) -> str:
    """Return a mark that no passage can hold: it depends on all of them."""
    return hashlib.sha256("\0".join([question, *texts]).encode(errors="replace")).hexdigest()[:16]


def _window(passage: Passage, line: int) -> str:
    """Return the passage, or the part of it around `line` that may be sent."""
    if len(passage.text) <= MAX_CHARACTERS:
        return passage.text
    lines = passage.text.split("\n")
    first = last = min(max(0, line - passage.start_line), len(lines) - 1)
    size = len(lines[first])
    while size < MAX_CHARACTERS and (first > 0 or last + 1 < len(lines)):
        if last + 1 < len(lines):
            last += 1
            size += len(lines[last]) + 1
        if first > 0 and size < MAX_CHARACTERS:
            first -= 1
            size += len(lines[first]) + 1
    return "\n".join(lines[first : last + 1])[:MAX_CHARACTERS]

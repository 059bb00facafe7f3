"""The first text of a model's round: the kernel, and the evidence that the ladder may use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agent.contract import RoundDoc
from agent.diagnose import Diagnosis
from agent.ladder import LADDERS, Ladder
from agent.memory import LessonDoc
from agent.propose.fence import fenced, mark_of
from agent.propose.passages import Shelf
from agent.propose.records import Proposal
from agent.propose.said import say_cost, say_diagnostics, say_finding, say_launch, say_round, say_steps
from indexer.messages import Message, render

# Findings and rounds that are told; the rest hold next to nothing, or are long past.
MOST_FINDINGS = 8
MOST_ROUNDS = 8
MOST_LAUNCHES = 4
# Tokens for passages in the first text.
PASSAGE_TOKENS = 8_000


@dataclass(frozen=True, slots=True)
class Situation:
    """What a round begins with: the climb, what the rules propose, past rounds, lessons, and what ladder is allowed."""

    diagnosis: Diagnosis
    offers: Sequence[Proposal]
    rounds: Sequence[RoundDoc]
    lessons: Sequence[LessonDoc]
    ladder: Ladder = "full"


@dataclass(frozen=True, slots=True)
class FirstText:
    """The text, and the mark that its fences have."""

    text: str
    mark: str


def first_text(now: Situation, shelf: Shelf | None, tokens: int = PASSAGE_TOKENS) -> FirstText:
    """Write the first text of a round; `tokens` is what its passages may take."""
    given = list(_passages(now, shelf, tokens))
    parts = [*_framing(now), *_findings(now, shelf), *given, *_experience(now)]
    mark = mark_of(text for _, text in parts)
    return FirstText("\n\n".join(fenced(mark, name, text) for name, text in parts if text), mark)


def _framing(now: Situation) -> Iterator[tuple[str, str]]:
    lowering = now.diagnosis.lowering
    yield f"kernel file {lowering.source.path.name}", lowering.source.text
    for index in lowering.active[:MOST_LAUNCHES]:
        yield f"launch {index}", say_launch(lowering.launches[index].launch)


def _findings(now: Situation, shelf: Shelf | None) -> Iterator[tuple[str, str]]:
    rungs = LADDERS[now.ladder]
    lowering = now.diagnosis.lowering
    if rungs:
        yield "what the compiler says", say_diagnostics(lowering)
    if "profile" in rungs:
        yield "cost", say_cost(lowering.cost, lowering.source.text)
    yield "ladder", say_steps(step for step in now.diagnosis.ladder if step.entered)
    for number, finding in enumerate(now.diagnosis.findings[:MOST_FINDINGS], 1):
        names = [shelf.name_of(e.passage) for e in finding.evidence] if shelf is not None else []
        yield f"finding F{number}", say_finding(finding, [n for n in names if n is not None], rungs)


def _passages(now: Situation, shelf: Shelf | None, tokens: int) -> Iterator[tuple[str, str]]:
    if shelf is None:
        return
    shown = shelf.pack(now.diagnosis.findings[:MOST_FINDINGS], tokens)
    for name, text in shown.items():
        passage = shelf.known[name]
        yield f"passage {name}, {passage.kind} of {passage.corpus}, {passage.path}", text


def _experience(now: Situation) -> Iterator[tuple[str, str]]:
    offers = [f"{o.name} for {o.symptom}, line: {o.line_text}; {_text(o.claim.text)}" for o in now.offers]
    yield "what the rules propose in this round, besides you", "\n".join(offers)
    yield "earlier rounds", "\n\n".join(say_round(entry) for entry in now.rounds[-MOST_ROUNDS:])
    yield "what other kernels taught", "\n".join(say_lessons(now.lessons))


def say_lessons(lessons: Iterable[LessonDoc]) -> Iterator[str]:
    """Tell lessons, one a line."""
    for each in lessons:
        effect = f", cost x {each.effect:.2f} ({each.basis})" if each.effect is not None else ""
        when = ", ".join(f"{k} {v}" for k, v in each.conditions.items() if v)
        yield f"{each.symptom}: {each.change} ({each.author}): {each.verdict}{effect}; where {when}"


def _text(said: str | Message) -> str:
    return render(said, "en") if isinstance(said, Message) else said

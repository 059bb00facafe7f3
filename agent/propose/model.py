"""A language model as one who proposes: a bounded conversation that ends with an edit and its claim, or without."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from agent.contract_run import ActionDoc, ModelTurnDoc
from agent.ladder import LADDERS, Ladder
from agent.llm.chat import TOO_LONG, Chat, Unusable
from agent.llm.records import Request, Turn
from agent.prompts import prompt
from agent.propose.actions import Action
from agent.propose.citing import Objection, check_claim
from agent.propose.edits import Unfit, apply_edit
from agent.propose.passages import Shelf
from agent.propose.prompting import PASSAGE_TOKENS, FirstText, Situation, first_text
from agent.propose.records import Claim, Proposal
from agent.propose.tokens import tokens_doc
from agent.propose.tools import Tools
from agent.records import Finding
from agent.request import Price
from agent.workbench import Workbench
from indexer.errors import ModelError
from indexer.messages import Lang, Message, message, render
from retriever.search import Index

# Turns of one round, the proposal included: two look-ups, two trials and two mends are enough for a change of a line,
# and each turn sends the whole conversation again.
ACTIONS = 8
# For passages, where a model reads less than our first text.
FEWER_TOKENS = (2_000, 0)
MAX_NAME = 60
MAX_THOUGHT = 1_000
MAX_SAID = 600
MOST_FEWER = 6
MAX_TOLD = 2_000  # of an action's answer in a run's documents; the exchanges have it whole
LANGUAGES = {"en": "English", "zh": "Chinese (简体中文)"}

Ended = Literal["edit", "gave_up", "dropped", "unusable", "endless"]
IsNew = Callable[[Proposal], bool]


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """What a model's round came to: a proposal, or why there is none."""

    ended: Ended
    proposal: Proposal | None
    doc: ModelTurnDoc


@dataclass(slots=True)
class _Talk:
    """One round's conversation as it stands."""

    now: Situation
    tools: Tools
    request: Request
    is_new: IsNew
    sent_back: bool = False
    done: list[ActionDoc] = field(default_factory=list)
    thought: str = ""

    def answer(self, action: Action, text: str) -> None:
        """Tell the model what came of an action."""
        said = (Turn("assistant", action.model_dump_json()), Turn("user", text))
        self.request = dataclasses.replace(self.request, turns=(*self.request.turns, *said))
        self.done.append(ActionDoc(action=action.action, detail=_detail(action), answer=text[:MAX_TOLD]))


class ModelProposer:
    """Asks one model for one proposal a round; `shelf` is new each round, what a server does not know is remembered."""

    def __init__(  # noqa: PLR0913, PLR0917 - one who asks, and what it asks about
        self, chat: Chat, bench: Workbench, index: Index | None, lang: Lang, ladder: Ladder, endpoint: str = "",
        price: Price | None = None,
    ) -> None:  # fmt: skip
        self.chat = chat
        self.endpoint = endpoint
        self.bench = bench
        self.index = index if "source" in LADDERS[ladder] else None
        self.lang: Lang = lang
        self.ladder: Ladder = ladder
        self.price = price
        self.passage_tokens = PASSAGE_TOKENS

    def propose(self, now: Situation, is_new: IsNew) -> ModelTurn:
        """Let the model act until it proposes, gives up or has no actions left.

        Raises `ModelError` when the endpoint fails or the budget is used up.
        """
        budget = self.chat.budget
        budget.ends = None  # the time is that of one round
        before = (budget.prompt, budget.completion, budget.requests)
        talk = self._begin(now, is_new)
        ended, proposal, reason = self._talk(talk)
        spent = (budget.prompt - before[0], budget.completion - before[1], budget.requests - before[2])
        doc = ModelTurnDoc(
            ended=ended, reason="" if reason is None else render(reason, self.lang), thought=talk.thought,
            actions=talk.done, tokens=tokens_doc(*spent, self.price),
        )  # fmt: skip
        return ModelTurn(ended, proposal, doc)

    def first_request(self, now: Situation) -> Request:
        """Return what a round would send first."""
        return self._begin(now, lambda _proposal: True).request

    def _begin(self, now: Situation, is_new: IsNew) -> _Talk:
        shelf = Shelf(self.index, self.bench.target.arch) if self.index is not None else None
        first = first_text(now, shelf, self.passage_tokens)
        tools = Tools(self.bench, now.diagnosis, shelf, self.ladder, first.mark)
        return _Talk(now, tools, self._request(first, tools), is_new)

    def _request(self, first: FirstText, tools: Tools) -> Request:
        citing = (
            "the name of the passage that states the condition your edit meets; you may cite only what you were given"
        )
        if tools.shelf is None:
            citing = 'leave it empty, and "quote" too: there are no passages in this run'
        system = prompt(
            "propose", target=self.bench.target.name, actions=str(ACTIONS), citing=citing,
            language=LANGUAGES[self.lang], mark=first.mark,
        )  # fmt: skip
        missing = tools.missing()
        if missing:
            system += f"\nNot available in this run: {', '.join(missing)}."
        return self.chat.request(system, first.text, Action)

    def _talk(self, talk: _Talk) -> tuple[Ended, Proposal | None, Message | None]:
        for left in range(ACTIONS, 0, -1):
            answer = self._ask(talk)
            if isinstance(answer, Unusable):
                return "unusable", None, answer.reason
            action = answer
            talk.thought = action.thought[:MAX_THOUGHT]
            if action.action == "give_up":
                return "gave_up", None, message("propose.gave_up", thought=talk.thought)
            if action.action == "edit":
                outcome = self._proposed(talk, action)
                if isinstance(outcome, Proposal):
                    talk.done.append(ActionDoc(action="edit", detail=_detail(action), answer=""))
                    return "edit", outcome, None
                if isinstance(outcome, Objection) and talk.sent_back:
                    return "dropped", None, message("propose.dropped", reason=outcome.reason)
                talk.sent_back |= isinstance(outcome, Objection)
                text = f"Not taken: {render(outcome.reason, 'en')}"
            else:
                text = talk.tools.use(action)
            talk.answer(action, text + _left(left - 1))
        return "endless", None, message("propose.endless", actions=ACTIONS)

    def _ask(self, talk: _Talk) -> Action | Unusable:
        """Ask for the next action; where the first text is too long for the model, with fewer passages."""
        try:
            answer = self.chat.ask(talk.request, Action)
        except ModelError as error:
            too_long = TOO_LONG.search(str(error.note.values.get("detail", ""))) is not None
            if not too_long or talk.done or not self.passage_tokens:
                raise
            self.passage_tokens = next(least for least in FEWER_TOKENS if least < self.passage_tokens)
            fewer = self._begin(talk.now, talk.is_new)
            talk.tools, talk.request = fewer.tools, fewer.request
            return self._ask(talk)
        return answer if isinstance(answer, Unusable) else answer.value

    def _proposed(self, talk: _Talk, action: Action) -> Proposal | Objection | Unfit:
        """Return the proposal that an edit and its claim make, or what is wrong with them."""
        finding = _finding(talk.now, action.claim.finding)
        cited = check_claim(action.claim, talk.tools.shelf, finding)
        if isinstance(cited, Objection):
            return cited
        new = apply_edit(talk.now.diagnosis.lowering.source.text, action.blocks, action.source)
        if isinstance(new, Unfit):
            return new
        said = action.claim
        claim = Claim(
            said.change.strip()[:MAX_SAID], said.condition.strip()[:MAX_SAID], cited,
            said.quote.strip()[:MAX_SAID] if cited else "", said.gone and finding is not None,
            tuple(op for op in said.fewer if op.strip())[:MOST_FEWER], said.cost,
        )  # fmt: skip
        proposal = Proposal("model", name_of(said.change), new, claim, finding)
        return proposal if talk.is_new(proposal) else Unfit(message("propose.tried_before"))


def name_of(change: str) -> str:
    """Return a change as a name: its first words on one line."""
    line = " ".join(change.split())
    return line if len(line) <= MAX_NAME else f"{line[: MAX_NAME - 1].rpartition(' ')[0]}…"


def _finding(now: Situation, name: str) -> Finding | None:
    """Return the finding that a model means by `F2`."""
    digits = "".join(c for c in name if c.isdecimal())[:3]
    number = int(digits) if digits else 0
    findings = now.diagnosis.findings
    return findings[number - 1] if 0 < number <= len(findings) else None


def _left(actions: int) -> str:
    if actions == 1:
        return "\n\nThis is your last action in this round: edit or give_up."
    return f"\n\n{actions} actions are left in this round." if actions else ""


def _detail(action: Action) -> str:
    """Tell an action in a line: what it asked for, or how large its edit is."""
    if action.query:
        return " ".join(action.query.split())[:200]
    if action.line:
        return str(action.line)
    if action.source:
        return f"{action.source.count(chr(10)) + 1} lines"
    return f"{len(action.blocks)} blocks" if action.blocks else ""

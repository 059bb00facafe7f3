"""A conversation of a given form in a budget: what a server does not know is left out, what it answers is read."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from agent.llm.records import CHARACTERS_A_TOKEN, FORMS, Form, Reply, Request, Send, shortened
from indexer.errors import ModelError
from indexer.messages import Message, message

# Braces of an answer at which an object is looked for.
MAX_BRACES = 64
# Parameters that some models or servers refuse; a request is sent again without the one that the refusal names.
OPTIONAL = ("temperature", "max_tokens", "stream_options", "stream")
# What servers say of a request that is longer than the model reads; no other form would help.
TOO_LONG = re.compile(r"context (?:size|length|window)|maximum context|too long|too many tokens", re.IGNORECASE)
# What Pydantic adds to a schema for people: docstrings are not for the model.
_NOT_SENT = frozenset({"title", "default", "description"})
T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Given(Generic[T]):
    """The model's answer, in the form that was asked for."""

    value: T


@dataclass(frozen=True, slots=True)
class Unusable:
    """The model answered, but not what was asked for."""

    reason: Message


@dataclass(slots=True)
class Budget:
    """What all requests of a chat may take together; the time begins with the first one.

    `spent` is `prompt` and `completion` tokens together; where a server does not tell them, they are estimated from the
    text. `requests` are those that were answered.
    """

    seconds: float = 180.0
    tokens: int = 60_000
    answer_tokens: int = 1_500
    prompt: int = 0
    completion: int = 0
    requests: int = 0
    ends: float | None = None

    @property
    def spent(self) -> int:
        """Return the tokens that are used up."""
        return self.prompt + self.completion

    def add(self, request: Request, reply: Reply) -> None:
        """Count an exchange."""
        prompt = reply.prompt_tokens or request.estimated_prompt
        self.prompt += min(prompt, reply.tokens) if reply.tokens else prompt
        self.completion += max(0, reply.tokens - prompt) if reply.tokens else len(reply.text) // CHARACTERS_A_TOKEN
        self.requests += 1

    def seconds_left(self) -> float:
        """Return what is left of the time; raises `ModelError` when nothing is."""
        now = time.monotonic()
        self.ends = now + self.seconds if self.ends is None else self.ends
        if now >= self.ends:
            raise ModelError("llm.out_of_time", seconds=round(self.seconds))
        return self.ends - now

    def check(self, request: Request) -> None:
        """Raise `ModelError` where the request could need more tokens than are left."""
        needed = self.spent + request.estimated_tokens
        if needed > self.tokens:
            raise ModelError("llm.out_of_tokens", tokens=self.tokens, needed=needed)


@dataclass(slots=True)
class Chat:
    """Asks one model for answers of a given form, in a budget; what its server does not know is left out by and by."""

    send: Send
    model: str
    budget: Budget = field(default_factory=Budget)
    form: Form = "json_schema"
    without: tuple[str, ...] = ()

    def ask(self, request: Request, wanted: type[T]) -> Given[T] | Unusable:
        """Ask once, and once more where the answer was cut off or is not of the form.

        Raises `ModelError` when the endpoint fails, or time or tokens are used up.
        """
        answer = self._read(request, wanted)
        if isinstance(answer, Unusable) and answer.reason.key in {"llm.cut_off", "llm.no_json"}:
            more = 2 if answer.reason.key == "llm.cut_off" else 1
            answer = self._read(replace(request, max_tokens=request.max_tokens * more), wanted)
        return answer

    def request(self, system: str, user: str, wanted: type[BaseModel]) -> Request:
        """Return what `ask` would send first."""
        schema = closed_schema(wanted)
        system = (
            f"{system.strip()}\n\nAnswer with one JSON object of this schema, and nothing else:\n{json.dumps(schema)}"
        )
        return Request(self.model, system, user, schema, self.budget.answer_tokens)

    def _read(self, request: Request, wanted: type[T]) -> Given[T] | Unusable:
        reply = self._exchange(request)
        self.budget.add(request, reply)
        if reply.refusal or reply.finish == "content_filter":
            return Unusable(message("llm.refusal", said=shortened(reply.refusal or reply.finish)))
        given = next((g for value in _objects(reply.text) if (g := _given(value, wanted)) is not None), None)
        return given or Unusable(message("llm.cut_off" if reply.finish == "length" else "llm.no_json"))

    def _exchange(self, request: Request) -> Reply:
        """Send, dropping what the server refuses: first an optional parameter that it names, then the form."""
        while True:
            request = replace(request, form=self.form, without=self.without)
            self.budget.check(request)
            answer = self.send(request, self.budget.seconds_left())
            if isinstance(answer, Reply):
                return answer
            named = next((n for n in OPTIONAL if n in answer.detail and n not in self.without), None)
            too_long = TOO_LONG.search(answer.detail) is not None
            if named is not None and not too_long:
                self.without = (*self.without, named)
            elif self.form != FORMS[-1] and not too_long:
                self.form = FORMS[FORMS.index(self.form) + 1]
            else:
                raise ModelError("llm.rejected", status=answer.status, detail=answer.detail, model=self.model)


def closed_schema(wanted: type[BaseModel]) -> dict[str, Any]:
    """Return a model's JSON schema as strict servers want it: no further properties, none optional, no references."""
    schema = wanted.model_json_schema()
    definitions = schema.pop("$defs", {})
    closed: dict[str, Any] = _closed(schema, definitions)
    return closed


def _closed(part: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(part, list):
        return [_closed(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _closed(definitions[part["$ref"].rpartition("/")[2]], definitions)
    kept = {name: _closed(value, definitions) for name, value in part.items() if name not in _NOT_SENT}
    if "properties" in part:
        properties = {name: _closed(value, definitions) for name, value in part["properties"].items()}
        kept |= {"properties": properties, "required": list(properties), "additionalProperties": False}
    return kept


def _objects(text: str) -> Iterator[Any]:
    """Yield the JSON objects in a text, wherever they begin: models put prose and fences around them."""
    at = text.find("{")
    for _ in range(MAX_BRACES):
        if at < 0:
            return
        value, end = _object_at(text, at)
        if value is not None:
            yield value
        at = text.find("{", end)


def _given(value: Any, wanted: type[T]) -> Given[T] | None:
    """Read a value as the form that is wanted; half of a character, which JSON can write, becomes a question mark."""
    try:
        return Given(wanted.model_validate_json(json.dumps(value, ensure_ascii=False).encode(errors="replace")))
    except ValidationError:
        return None


def _object_at(text: str, at: int) -> tuple[Any, int]:
    try:
        return json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at + 1

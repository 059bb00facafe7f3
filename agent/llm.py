"""A language model behind an OpenAI-compatible endpoint: answers of a given form, in bounds of time and tokens.

Layers wrap one another: `Endpoint` sends one request, with retries; `Recording` keeps what was sent and answered,
without keys, and `Replay` answers from such a record; `Chat` knows the form wanted and the budget. An endpoint that
fails raises `ModelError`; a model that answers, but not usably, is a result: `Unusable`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ValidationError

from indexer.errors import BadInput, ModelError
from indexer.messages import Message, message

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI
    from openai.types.chat import ChatCompletion

DEFAULT_URL = "https://api.openai.com/v1"
# Seconds between the tries of one request where the endpoint is busy or broken; it may ask for more, up to the limit.
WAITS = (0.5, 1.0, 2.0, 4.0)
MAX_WAIT_SECONDS = 30.0
BUSY = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
# A server that does not know a form refuses it with one of these; llama_cpp.server with 500.
REFUSES_FORM = frozenset({400, 404, 415, 422, 500, 501})
# Without a tokeniser: of English and code, fewer characters than these are a token on the average.
CHARACTERS_A_TOKEN = 3
# Braces of an answer at which an object is looked for.
MAX_BRACES = 64
MAX_DETAIL = 300  # characters of an error's text

Form = Literal["json_schema", "json_object", "text"]
FORMS: tuple[Form, ...] = ("json_schema", "json_object", "text")
# Parameters that some models refuse; a request is sent again without the one that the refusal names.
OPTIONAL = ("temperature", "max_tokens")
# What Pydantic adds to a schema for people: docstrings are not for the model.
_NOT_SENT = frozenset({"title", "default", "description"})
T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent: the model's name, instructions, text, and the form that the answer must have."""

    model: str
    system: str
    user: str
    schema: Mapping[str, Any]
    max_tokens: int
    form: Form = "json_schema"
    without: tuple[str, ...] = ()

    @property
    def estimated_tokens(self) -> int:
        """Return about how many tokens the request and its answer take."""
        return (len(self.system) + len(self.user)) // CHARACTERS_A_TOKEN + self.max_tokens


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back; `finish` is `length` where it was cut off, `refusal` what a model says that will not answer."""

    text: str
    finish: str
    refusal: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The endpoint would not take the request as it is."""

    status: int
    detail: str


# Sends one request in at most so many seconds.
Send = Callable[[Request, float], Reply | Refused]


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
    """What all requests of a chat may take together; the time begins with the first one."""

    seconds: float = 180.0
    tokens: int = 60_000
    answer_tokens: int = 1_500
    spent: int = 0
    ends: float | None = None

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


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible server; the key is never shown."""

    url: str
    key: str = field(repr=False)

    @property
    def shown(self) -> str:
        """Return the address without user, password and query."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    def __call__(self, request: Request, seconds: float) -> Reply | Refused:
        """Send, and again while the endpoint is busy; raises `ModelError` when it stays so, or cannot be used."""
        from openai import APIConnectionError, APIStatusError, APITimeoutError, OpenAIError  # noqa: PLC0415 - 0.5 s

        ends = time.monotonic() + seconds
        for wait in (*WAITS, None):
            try:
                return _reply(self._send(request, max(0.1, ends - time.monotonic())))
            except APITimeoutError as error:
                raise ModelError("llm.out_of_time", seconds=round(seconds)) from error
            except APIConnectionError as error:
                failure, asked = ModelError("llm.unreachable", url=self.shown, reason=_cause(error)), None
                cause: Exception = error
            except APIStatusError as error:
                if error.status_code in REFUSES_FORM and not (error.status_code in BUSY and request.form == "text"):
                    return Refused(error.status_code, _detail(error))
                failure, asked, cause = _failure(self.shown, request, error), _asked_wait(error), error
                if error.status_code not in BUSY:
                    raise failure from error
            except (OpenAIError, ValueError, TypeError, AttributeError, IndexError) as error:
                raise ModelError("llm.not_openai", url=self.shown, reason=_short(str(error))) from error
            pause = None if wait is None else max(wait, asked or 0.0)
            if pause is None or time.monotonic() + pause >= ends:
                raise failure from cause
            time.sleep(pause)
        raise AssertionError("the last wait is None")

    def _send(self, request: Request, seconds: float) -> ChatCompletion:
        body: dict[str, Any] = {"temperature": 0, "max_tokens": request.max_tokens}
        for name in request.without:
            value = body.pop(name, None)
            if name == "max_tokens":  # what models that reason call it
                body["max_completion_tokens"] = value
        if request.form == "json_schema":
            schema = {"name": "answer", "schema": request.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.form == "json_object":
            body["response_format"] = {"type": "json_object"}
        body["messages"] = [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}]
        completion: ChatCompletion = self._client.chat.completions.create(model=request.model, timeout=seconds, **body)
        return completion

    @cached_property
    def _client(self) -> OpenAI:
        from openai import OpenAI  # noqa: PLC0415 - 0.5 s

        return OpenAI(base_url=self.url, api_key=self.key or "none", max_retries=0)


@dataclass(frozen=True, slots=True)
class Recording:
    """Appends every exchange to a file, a JSON object a line: no key, no header."""

    send: Send
    path: Path

    def __call__(self, request: Request, seconds: float) -> Reply | Refused:
        """Send, and keep what was sent and answered."""
        began = time.monotonic()
        answer = self.send(request, seconds)
        entry = {
            "request": asdict(request), "answer": type(answer).__name__, **asdict(answer),
            "seconds": round(time.monotonic() - began, 3),
        }  # fmt: skip
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        return answer


class Replay:
    """Answers each request as a record does, without a network; raises `ModelError` for one that is not in it."""

    def __init__(self, path: Path) -> None:
        self._answers: dict[str, list[Reply | Refused]] = {}
        try:
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                kind: type[Reply | Refused] = {"Reply": Reply, "Refused": Refused}[entry["answer"]]
                answer = kind(**{each.name: entry[each.name] for each in fields(kind)})
                self._answers.setdefault(_key(entry["request"]), []).append(answer)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput("llm.no_record", path=path, reason=error) from error

    def __call__(self, request: Request, seconds: float) -> Reply | Refused:  # noqa: ARG002 - a record needs no time
        """Answer from the record, in its order."""
        answers = self._answers.get(_key(asdict(request)))
        if not answers:
            raise ModelError("llm.not_recorded", model=request.model)
        return answers.pop(0)


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
        self.budget.spent += reply.tokens or request.estimated_tokens
        if reply.refusal or reply.finish == "content_filter":
            return Unusable(message("llm.refusal", said=_short(reply.refusal or reply.finish)))
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
            if named is not None:
                self.without = (*self.without, named)
            elif self.form != FORMS[-1]:
                self.form = FORMS[FORMS.index(self.form) + 1]
            else:
                raise ModelError("llm.rejected", status=answer.status, detail=answer.detail, model=self.model)


def open_endpoint(environ: Mapping[str, str] = os.environ) -> Endpoint:
    """Return the endpoint of `OPENAI_BASE_URL`, with the key of `OPENAI_API_KEY`; OpenAI itself where none is named.

    Raises `BadInput` for an address that is none, `ModelError` where OpenAI is meant and there is no key.
    """
    url, key = address(environ), environ.get("OPENAI_API_KEY", "")
    if url == DEFAULT_URL and not key:
        raise ModelError("llm.no_key", url=url)
    return Endpoint(url, key)


def address(environ: Mapping[str, str] = os.environ) -> str:
    """Return the address of the endpoint; raises `BadInput` for one that is none."""
    url = environ.get("OPENAI_BASE_URL") or DEFAULT_URL
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise BadInput("llm.bad_url", url=parts.netloc.rpartition("@")[2] or url)
    return url


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
    try:
        return Given(wanted.model_validate(value))
    except ValidationError:
        return None


def _object_at(text: str, at: int) -> tuple[Any, int]:
    try:
        return json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at + 1


def _reply(completion: ChatCompletion) -> Reply:
    choice = completion.choices[0]
    usage = completion.usage
    return Reply(
        choice.message.content or "", choice.finish_reason or "", choice.message.refusal or "",
        (usage.total_tokens or 0) if usage else 0,
    )  # fmt: skip


def _failure(url: str, request: Request, error: APIStatusError) -> ModelError:
    values = {"url": url, "status": error.status_code, "detail": _detail(error), "model": request.model}
    if error.status_code in {401, 403}:
        return ModelError("llm.not_allowed", **values)
    return ModelError("llm.busy" if error.status_code in BUSY else "llm.rejected", **values)


def _asked_wait(error: APIStatusError) -> float | None:
    """Return the seconds that the server asks to wait."""
    try:
        return min(MAX_WAIT_SECONDS, float(error.response.headers.get("retry-after", "")))
    except ValueError:
        return None


def _detail(error: APIStatusError) -> str:
    body = error.body
    said = body.get("message") if isinstance(body, dict) else None
    return _short(str(said or error.message))


def _cause(error: Exception) -> str:
    return _short(str(error.__cause__ or error))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_DETAIL else line[:MAX_DETAIL] + "…"


def _key(request: Mapping[str, Any]) -> str:
    return json.dumps({name: request[name] for name in ("model", "system", "user", "form")}, sort_keys=True)

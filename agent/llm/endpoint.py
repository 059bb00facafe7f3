"""One request to an OpenAI-compatible server: retries, time limits, streams, and errors told as ours."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from agent.llm.records import Refused, Reply, Request, shortened
from indexer.errors import BadInput, ModelError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openai import APIStatusError, OpenAI
    from openai.types.chat import ChatCompletion, ChatCompletionChunk
    from openai.types.completion_usage import CompletionUsage

DEFAULT_URL = "https://api.openai.com/v1"
# Seconds between the tries of one request where the endpoint is busy or broken; it may ask for more, up to the limit.
WAITS = (0.5, 1.0, 2.0, 4.0)
# The same for what nobody waits for at a screen: a limit of requests a minute passes in it.
PATIENT_WAITS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
MAX_WAIT_SECONDS = 30.0
BUSY = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
# A server that does not know a form refuses it with one of these; llama_cpp.server with 500.
REFUSES_FORM = frozenset({400, 404, 415, 422, 500, 501})


class OutOfTime(Exception):
    """A stream went on for longer than it may."""


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible server; the key is never shown.

    `watch`, where it is given, is told the characters that have come so far: then answers are streamed. A `patient` one
    waits longer for an endpoint that is busy.
    """

    url: str
    key: str = field(repr=False)
    watch: Callable[[int], None] | None = None
    patient: bool = False

    @property
    def shown(self) -> str:
        """Return the address without user, password and query."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    def __call__(self, request: Request, seconds: float) -> Reply | Refused:
        """Send, and again while the endpoint is busy; raises `ModelError` when it stays so, or cannot be used."""
        from httpx import HTTPError  # noqa: PLC0415 - as below
        from openai import APIConnectionError, APIStatusError, APITimeoutError, OpenAIError  # noqa: PLC0415 - 0.5 s

        ends = time.monotonic() + seconds
        for wait in (*(PATIENT_WAITS if self.patient else WAITS), None):
            try:
                return self._send(request, ends)
            except (APITimeoutError, OutOfTime) as error:
                raise ModelError("llm.out_of_time", seconds=round(seconds)) from error
            except (APIConnectionError, HTTPError) as error:  # httpx's own come from a stream that breaks off
                failure, asked = ModelError("llm.unreachable", url=self.shown, reason=_cause(error)), None
                cause: Exception = error
            except APIStatusError as error:
                if error.status_code in REFUSES_FORM and not (error.status_code in BUSY and request.form == "text"):
                    return Refused(error.status_code, _detail(error))
                failure, asked, cause = _failure(self.shown, request, error), _asked_wait(error), error
                if error.status_code not in BUSY:
                    raise failure from error
            except (OpenAIError, ValueError, TypeError, AttributeError, IndexError) as error:
                raise ModelError("llm.not_openai", url=self.shown, reason=shortened(str(error))) from error
            pause = None if wait is None else max(wait, asked or 0.0)
            if pause is None or time.monotonic() + pause >= ends:
                raise failure from cause
            time.sleep(pause)
        raise AssertionError("the last wait is None")

    def _send(self, request: Request, ends: float) -> Reply:
        body = _body(request)
        seconds = max(0.1, ends - time.monotonic())
        completions = self._client.chat.completions
        if self.watch is None or "stream" in request.without:
            return _reply(completions.create(model=request.model, timeout=seconds, **body))
        if "stream_options" not in request.without:
            body["stream_options"] = {"include_usage": True}
        raw = completions.with_raw_response.create(model=request.model, timeout=seconds, stream=True, **body)
        if "event-stream" in raw.headers.get("content-type", ""):
            return _reply_of_stream(raw.parse(), ends, self.watch)
        from openai.types.chat import ChatCompletion  # noqa: PLC0415 - loaded by now

        # A server that does not stream answers at once, and the client would read no event from that.
        return _reply(ChatCompletion.model_validate_json(raw.http_response.read()))

    @cached_property
    def _client(self) -> OpenAI:
        from openai import OpenAI  # noqa: PLC0415 - 0.5 s

        return OpenAI(base_url=self.url, api_key=self.key or "none", max_retries=0)


def open_endpoint(
    environ: Mapping[str, str] = os.environ, watch: Callable[[int], None] | None = None, *, patient: bool = False
) -> Endpoint:
    """Return the endpoint of `OPENAI_BASE_URL`, with the key of `OPENAI_API_KEY`; OpenAI itself where none is named.

    Raises `BadInput` for an address that is none, `ModelError` where OpenAI is meant and there is no key.
    """
    url, key = address(environ), environ.get("OPENAI_API_KEY", "")
    if url == DEFAULT_URL and not key:
        raise ModelError("llm.no_key", url=url)
    return Endpoint(url, key, watch, patient)


def address(environ: Mapping[str, str] = os.environ) -> str:
    """Return the address of the endpoint; raises `BadInput` for one that is none."""
    url = environ.get("OPENAI_BASE_URL") or DEFAULT_URL
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise BadInput("llm.bad_url", url=parts.netloc.rpartition("@")[2] or url)
    return url


def _body(request: Request) -> dict[str, Any]:
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
    first = [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}]
    body["messages"] = [*first, *({"role": turn.role, "content": turn.text} for turn in request.turns)]
    return body


def _reply(completion: ChatCompletion) -> Reply:
    choice = completion.choices[0]
    said = choice.message
    return Reply(
        _writable(said.content or ""), choice.finish_reason or "", _writable(said.refusal or ""),
        *_tokens(completion.usage),
    )  # fmt: skip


def _reply_of_stream(chunks: Iterable[ChatCompletionChunk], ends: float, watch: Callable[[int], None]) -> Reply:
    """Put the pieces of a streamed answer together; one that ends without saying so was cut off."""
    text, refusal, finish, size = [], [], "length", 0
    usage: CompletionUsage | None = None
    for chunk in chunks:
        if time.monotonic() > ends:
            raise OutOfTime
        usage = chunk.usage or usage
        for choice in chunk.choices[:1]:
            finish = choice.finish_reason or finish
            text.append(choice.delta.content or "")
            refusal.append(choice.delta.refusal or "")
            size += len(text[-1])
            watch(size)
    return Reply(_writable("".join(text)), finish, _writable("".join(refusal)), *_tokens(usage))


def _writable(text: str) -> str:
    """Replace halves of characters, which no file can hold."""
    return text.encode(errors="replace").decode()


def _tokens(usage: CompletionUsage | None) -> tuple[int, int]:
    return (usage.total_tokens or 0, usage.prompt_tokens or 0) if usage else (0, 0)


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
    return shortened(str(said or error.message))


def _cause(error: Exception) -> str:
    return shortened(str(error.__cause__ or error))

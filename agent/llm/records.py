"""The nouns of talking to a model: what is sent, what comes back, and what a sender is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

# Without a tokeniser: of English and code, fewer characters than these are a token on the average.
CHARACTERS_A_TOKEN = 3
MAX_DETAIL = 300  # characters of an error's text

Form = Literal["json_schema", "json_object", "text"]
FORMS: tuple[Form, ...] = ("json_schema", "json_object", "text")


@dataclass(frozen=True, slots=True)
class Turn:
    """A part of a conversation after its first text: what the model said, or what it was told then."""

    role: Literal["assistant", "user"]
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent: the model's name, instructions, the first text and what followed, and the form of the answer."""

    model: str
    system: str
    user: str
    schema: Mapping[str, Any]
    max_tokens: int
    form: Form = "json_schema"
    without: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()

    @property
    def estimated_prompt(self) -> int:
        """Return about how many tokens the request takes."""
        size = len(self.system) + len(self.user) + sum(len(turn.text) for turn in self.turns)
        return size // CHARACTERS_A_TOKEN

    @property
    def estimated_tokens(self) -> int:
        """Return about how many tokens the request and its answer take."""
        return self.estimated_prompt + self.max_tokens


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back; `finish` is `length` where it was cut off, `refusal` what a model says that will not answer.

    `tokens` are those of the request and the answer, 0 where the server does not tell.
    """

    text: str
    finish: str
    refusal: str
    tokens: int
    prompt_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Refused:
    """The endpoint would not take the request as it is."""

    status: int
    detail: str


# Sends one request in at most so many seconds.
Send = Callable[[Request, float], Reply | Refused]


def shortened(text: str) -> str:
    """Return a text as one line that is not too long for a message."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_DETAIL else line[:MAX_DETAIL] + "…"

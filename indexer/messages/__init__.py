"""Every sentence a user reads, in English and Chinese, kept as data.

A message is a key and its values; it becomes text only at the edge that prints it, in the language asked for there.
Catalogues are `messages/<area>.toml` in each of the three packages, a table a key: `[no_index]`, `en = "…"`,
`zh = "…"`; the key is written `area.no_index`. Placeholders are those of `str.format`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Literal

from indexer.toml import parse_toml

Lang = Literal["en", "zh"]
LANGUAGES: tuple[Lang, ...] = ("en", "zh")
PACKAGES = ("indexer", "retriever", "agent")


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence to be: the catalogue key, and the values of its placeholders (messages among them are rendered)."""

    key: str
    values: Mapping[str, object] = field(default_factory=dict)


def message(key: str, **values: object) -> Message:
    """Build a message; the key is checked when it is rendered, and by a test for every key in the source."""
    return Message(key, values)


def render(note: Message, lang: Lang) -> str:
    """Give the sentence of `note` in `lang`; raises `KeyError` for an unknown key or a missing value."""
    template = catalogue()[note.key][lang]
    values = {name: render(v, lang) if isinstance(v, Message) else v for name, v in note.values.items()}
    return template.format(**values)


@cache
def catalogue() -> dict[str, dict[Lang, str]]:
    """Read all catalogues: `area.key` -> language -> template."""
    found: dict[str, dict[Lang, str]] = {}
    for package in PACKAGES:
        folder = resources.files(package).joinpath("messages")
        for entry in sorted(folder.iterdir(), key=lambda e: e.name):
            if entry.name.endswith(".toml"):
                area = entry.name.removesuffix(".toml")
                for key, texts in parse_toml(entry.read_text(encoding="utf-8")).items():
                    found[f"{area}.{key}"] = {lang: texts[lang] for lang in LANGUAGES}
    return found

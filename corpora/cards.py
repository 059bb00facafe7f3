"""Our knowledge cards, `notes/<symptom>.md`: their form, and reading them.

A card has the symptom's id as heading and one section a language, English and Chinese, with the same facts. A fact is a
list item; the lines below it that hold nothing but a place in back ticks are its citations:

    - condition: what must hold, with the `Names` that the compiler's source uses.
      `corpus@commit12:path#Lstart-Lend`

The first facts name the symptom, the passes that make it and the operations seen, in back ticks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

_CITATION = re.compile(
    r"\s+`(?P<corpus>[\w-]+)@(?P<commit>[0-9a-f]{12}):(?P<path>\S+)#L(?P<start>\d+)-L(?P<end>\d+)`\s*$"
)
_LANGUAGE = {"English: ": "en", "中文：": "zh"}
_PASSES = re.compile(r"- (?:passes: |Pass：)")
_NAME = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Citation:
    """Lines `start..end` of a file of a corpus at a commit."""

    corpus: str
    commit: str
    path: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.corpus}@{self.commit}:{self.path}#L{self.start}-L{self.end}"


@dataclass(frozen=True, slots=True)
class Fact:
    """One list item: its text in one line, and the places that support it."""

    text: str
    citations: tuple[Citation, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return what stands in back ticks."""
        return tuple(_NAME.findall(self.text))


@dataclass(frozen=True, slots=True)
class Section:
    """The facts in one language (`en`, `zh`)."""

    language: str
    title: str
    facts: tuple[Fact, ...]

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Return every place cited, each once, in order."""
        return tuple(dict.fromkeys(c for fact in self.facts for c in fact.citations))

    @property
    def passes(self) -> tuple[str, ...]:
        """Return the arguments of the passes that make the symptom, likeliest first."""
        return next((fact.names for fact in self.facts if _PASSES.match(fact.text)), ())


@dataclass(frozen=True, slots=True)
class Card:
    """One card; `text` is the file."""

    symptom: str
    heading: str
    text: str
    sections: tuple[Section, ...]


def read_cards() -> dict[str, Card]:
    """Return all cards that come with tritonkb, by symptom."""
    files = [f for f in resources.files("corpora").joinpath("notes").iterdir() if f.name.endswith(".md")]
    texts = {f.name.removesuffix(".md"): f.read_text(encoding="utf-8") for f in files}
    return {symptom: read_card(symptom, texts[symptom]) for symptom in sorted(texts)}


def read_card(symptom: str, text: str) -> Card:
    """Read one card; what does not have the form is left out, so that a check can miss it."""
    heading, *parts = re.split(r"^#{1,2} ", text, flags=re.MULTILINE)[1:]
    return Card(symptom, heading.strip(), text, tuple(_sections(parts)))


def _sections(parts: list[str]) -> Iterator[Section]:
    for part in parts:
        first, _, body = part.partition("\n")
        for prefix, language in _LANGUAGE.items():
            if first.startswith(prefix):
                facts = re.split(r"^(?=- )", body, flags=re.MULTILINE)[1:]
                yield Section(language, first.removeprefix(prefix), tuple(map(_fact, facts)))


def _fact(item: str) -> Fact:
    lines = item.rstrip().split("\n")
    places = [_CITATION.match(line) for line in lines]
    text = " ".join(line.strip() for line, place in zip(lines, places, strict=True) if not place)
    cited = (Citation(m["corpus"], m["commit"], m["path"], int(m["start"]), int(m["end"])) for m in places if m)
    return Fact(text, tuple(cited))

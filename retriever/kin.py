"""Files that are one thing twice: a document and its translation, a file for A2/A3 and the one for the 950."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from indexer.twins import document_key
from indexer.words import has_chinese

Place = tuple[str, str]
Tie = Literal["translation", "variant"]

_DOCUMENTS = (".md", ".rst")
_CODE = (".cpp", ".cc", ".h", ".hpp", ".td")
# The 950's own version of a file lies in a folder of that name, or in the corpus of its history.
_A5_FOLDER = re.compile(r"(?:^|(?<=/))regbase/", re.IGNORECASE)
_A5_CORPUS = "-a5"
# A target may stand right beside Chinese characters, which are no part of it: ASCII.
_SAID_A5 = re.compile(r"\bA5\b|(?<![\w.])(?:Ascend\s?)?950|\breg-?base\b", re.IGNORECASE | re.ASCII)
_SAID_A3 = re.compile(r"\bA[23]\b|910\s?_?[BC9]|\bmem-?base\b", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Relative:
    """A file that is the same thing again, and in which way; `preferred` is true where it is the one asked for."""

    place: Place
    tie: Tie
    preferred: bool


@dataclass(frozen=True, slots=True)
class Preference:
    """Which of two relatives is asked for: the Chinese document or not, the file for the 950 or not (None: any)."""

    chinese: bool
    a5: bool | None

    def of(self, tie: Tie, place: Place) -> bool:
        """Tell whether the file is the one asked for."""
        if tie == "translation":
            return document_key(place[1])[1] == self.chinese
        return self.a5 is not None and _is_a5(place) == self.a5


ANY = Preference(chinese=False, a5=None)


def preference(text: str, target: str) -> Preference:
    """Read what a question asks for: the target that was given, else the one that it speaks of, if only one."""
    a5, a3 = target.startswith("a5"), target.startswith("a3")
    if not target:
        a5, a3 = bool(_SAID_A5.search(text)), bool(_SAID_A3.search(text))
    return Preference(has_chinese(text), a5 if a5 != a3 else None)


class Kin:
    """The relatives of every file of an index."""

    def __init__(self, places: Sequence[Place]) -> None:
        groups: dict[tuple[Tie, str, str], list[Place]] = defaultdict(list)
        self._keys: dict[Place, tuple[Tie, str, str]] = {}
        self._numbers = {place: number for number, place in enumerate(places)}
        for place in places:
            if key := _key(*place):
                groups[key].append(place)
                self._keys[place] = key
        self._groups: Mapping[tuple[Tie, str, str], list[Place]] = groups

    def number_of(self, place: Place) -> int:
        """Return the number of a file in the index's columns."""
        return self._numbers[place]

    def of(self, place: Place, wanted: Preference) -> list[Relative]:
        """Return the relatives of a file."""
        key = self._keys.get(place)
        if key is None:
            return []
        return [Relative(other, key[0], wanted.of(key[0], other)) for other in self._groups[key] if other != place]


def _key(corpus: str, path: str) -> tuple[Tie, str, str] | None:
    if path.endswith(_DOCUMENTS):
        return "translation", corpus, document_key(path)[0]
    if path.endswith(_CODE):
        return "variant", corpus.removesuffix(_A5_CORPUS), _A5_FOLDER.sub("", path)
    return None


def _is_a5(place: Place) -> bool:
    return place[0].endswith(_A5_CORPUS) or _A5_FOLDER.search(place[1]) is not None

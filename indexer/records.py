"""The nouns of the knowledge base, shared by all layers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal[
    "pass_def", "pass_impl", "pattern", "op_def", "type_def", "dialect", "option", "enum", "test", "doc", "python",
    "note", "catalog", "code",
]  # fmt: skip
Language = Literal["cpp", "tablegen", "mlir", "python", "markdown", "rst", "text"]
# What a passage is to a thing: a pattern `lowers` the operation that it matches and `makes` those that it creates.
Relation = Literal["defines", "implements", "tests", "documents", "uses", "option_of", "lowers", "makes"]
Sort = Literal["pass", "op", "option", "symbol", "diagnostic"]
# Raised whenever the same passages would get other names or links: nothing is skipped then.
SYMBOLS_VERSION = 4


@dataclass(frozen=True, slots=True)
class Corpus:
    """A source tree or wheel at one commit; `commit` is a git commit or a content hash, `target` what it serves."""

    name: str
    origin: str
    commit: str
    target: str


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines `start_line..end_line` (1-based, inclusive) of one file, with what a search sees of them.

    `ordinal` tells apart passages of one file with the same symbol and text. `natural` is the natural-language text
    that is embedded: comments, descriptions, symbols, messages; never raw code.
    """

    corpus: str
    commit: str
    path: str
    start_line: int
    end_line: int
    kind: Kind
    symbol: str
    language: Language
    text: str
    natural: str
    ordinal: int = 0

    @property
    def key(self) -> str:
        """Return the storage key: unchanged by an update that does not change this passage (design, section 3)."""
        parts = (self.corpus, self.path, self.symbol, self.text, str(self.ordinal))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @property
    def sha256(self) -> str:
        """Return the hash of the text, against which a citation is checked."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def id(self) -> str:
        """Return `corpus@commit12:path#Lstart-Lend`, which a person can open."""
        return f"{self.corpus}@{self.commit[:12]}:{self.path}#L{self.start_line}-L{self.end_line}"


# Of the next two a build makes hundreds of thousands, and puts each into a dictionary: tuples are twice as fast.


class Naming(NamedTuple):
    """The passage at `row` is, to the thing called `name`, what `relation` says."""

    name: str
    sort: Sort
    relation: Relation
    row: int


class Link(NamedTuple):
    """An edge of the symbol graph: the passage at row `source` is, to what the one at `target` defines, `relation`."""

    source: int
    target: int
    relation: Relation

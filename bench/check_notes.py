"""Open every range that the knowledge cards cite, and look for the names that stand beside it.

    python bench/check_notes.py --sources DIR [--json] [--names]

DIR holds a checkout or a bare repository for each corpus, named like it (`ascendnpu-ir`, `triton-ascend`; a corpus
`x-a5` is read from `x` where it has no folder of its own). A citation fails when its file is not there at that commit,
or the range lies outside the file or is blank. A name in back ticks that no range of its fact contains is reported: it
may be right (a name of the IR or of the kernel language), so it does not fail.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from corpora.cards import Card, Citation, Fact, read_cards

# What can be a name of the compiler's source: an identifier, perhaps qualified or with a template argument. Dotted
# names are operations of the IR or of the kernel language, hyphenated ones passes and options.
_IDENTIFIER = re.compile(r"(?:\w+::)*[A-Za-z_]\w*(?:<\w+>)?")
_GIT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class CardReport:
    """What was found for one card."""

    card: str
    citations: int
    failures: tuple[str, ...]
    names: int
    missing: tuple[str, ...]


def check_card(sources: Path, card: Card) -> CardReport:
    """Open what one card cites; the Chinese section cites and names the same."""
    english = next(s for s in card.sections if s.language == "en")
    failures = tuple(f for f in (_fault(sources, cited) for cited in english.citations) if f)
    named = [pair for fact in english.facts if fact.citations for pair in _names(sources, fact)]
    missing = tuple(dict.fromkeys(name for name, there in named if not there))
    return CardReport(card.symptom, len(english.citations), failures, len(named), missing)


def _fault(sources: Path, cited: Citation) -> str | None:
    lines = _lines(sources, cited.corpus, cited.commit, cited.path)
    if lines is None:
        return f"{cited}: no such file"
    if cited.end > len(lines):
        return f"{cited}: the file has {len(lines)} lines"
    edges = lines[cited.start - 1], lines[cited.end - 1]
    return None if all(edge.strip() for edge in edges) else f"{cited}: begins or ends with a blank line"


def _names(sources: Path, fact: Fact) -> Iterator[tuple[str, bool]]:
    """Yield the names of a fact and whether one of its ranges contains them."""
    texts = [
        "\n".join(lines[c.start - 1 : c.end])
        for c in fact.citations
        if (lines := _lines(sources, c.corpus, c.commit, c.path)) is not None
    ]
    for name in fact.names:
        if _IDENTIFIER.fullmatch(name):
            pattern = re.compile(rf"(?<!\w){re.escape(name.split('::')[-1])}(?!\w)")
            yield name, any(pattern.search(text) for text in texts)


@cache
def _lines(sources: Path, corpus: str, commit: str, path: str) -> list[str] | None:
    folder = sources / corpus
    if not folder.exists():
        folder = sources / corpus.removesuffix("-a5")
    shown = subprocess.run(
        ["git", "-C", folder, "show", f"{commit}:{path}"], capture_output=True, timeout=_GIT_SECONDS, check=False
    )
    return shown.stdout.decode(errors="replace").split("\n") if shown.returncode == 0 else None


def main() -> int:
    """Print a table, or one JSON document; the status is 1 when a citation fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--names", action="store_true", help="list the names that no range of their fact contains")
    given = parser.parse_args()
    cards = read_cards()
    reports = [check_card(given.sources, card) for card in cards.values()]
    distinct = {c for card in cards.values() for section in card.sections for c in section.citations}
    failures = [failure for r in reports for failure in r.failures]
    if given.json:
        found = [dataclasses.asdict(r) for r in reports]
        print(json.dumps({"cards": found, "citations": len(distinct), "failures": failures}))
    else:
        print(f"{'card':24}{'citations':>10}{'failed':>8}{'names':>7}{'in range':>10}")
        for r in reports:
            print(f"{r.card:24}{r.citations:10}{len(r.failures):8}{r.names:7}{r.names - len(r.missing):10}")
            for line in (*r.failures, *(r.missing if given.names else ())):
                print(f"    {line}")
        names, missing = sum(r.names for r in reports), sum(len(r.missing) for r in reports)
        print(
            f"{len(reports)} cards, {len(distinct)} ranges, {len(failures)} failed; "
            f"{names} names beside citations, {missing} not in the range"
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

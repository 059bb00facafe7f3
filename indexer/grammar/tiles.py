"""Definitions that may nest or leave lines open -> units that tile the file."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence

from indexer.grammar.base import Grammar, Unit

_RULER = re.compile(r"^\s*(?://|#|/\*)\s*[-=*/#]{3,}.*[-=*/#]{10,}\s*$")


def cover(units: Iterable[Unit], lines: list[str], grammar: Grammar) -> list[Unit]:
    """Return units that hold each line once, in order: a line goes to the innermost definition that has it."""
    return list(_Cover(lines, grammar).fill(sorted(units, key=lambda u: (u.start, -u.end)), 1, len(lines), None))


class _Cover:
    def __init__(self, lines: list[str], grammar: Grammar) -> None:
        self.lines = lines
        self.grammar = grammar

    def fill(self, units: Sequence[Unit], low: int, high: int, owner: Unit | None) -> Iterator[Unit]:
        """Yield what covers `low..high`; what no unit holds is the owner's, or nameless."""
        at = place = 0
        at = low
        while place < len(units):
            unit = units[place]
            inner = place + 1
            while inner < len(units) and units[inner].start <= unit.end:
                inner += 1
            start, end = max(unit.start, at), min(unit.end, high)
            if start <= end:
                first = self._first_comment(start, at)
                yield from self._between(at, first - 1, owner, unit.scope)
                yield from self._inside(dataclasses.replace(unit, start=first, end=end), units[place + 1 : inner])
                at = end + 1
            place = inner
        yield from self._between(at, high, owner, "")

    def _inside(self, unit: Unit, held: Sequence[Unit]) -> Iterator[Unit]:
        members = [u for u in held if unit.open or u.kind == "option"]
        if members:
            yield from self.fill(members, unit.start, unit.end, unit)
        else:
            yield unit

    def _first_comment(self, start: int, low: int) -> int:
        """Return where the comments above a definition begin; a banner of rulers may stand a blank line higher."""
        while start > low:
            above = self.lines[start - 2]
            banner = not above.strip() and start - 1 > low and _RULER.match(self.lines[start - 3])
            if not banner and not self.grammar.leading.match(above):
                break
            start -= 1
        return start

    def _between(self, start: int, end: int, owner: Unit | None, scope: str) -> Iterator[Unit]:
        if end < start:
            return
        cuts = tuple(n for n in range(start + 1, end + 1) if self._is_border(n))
        if owner is None or not any(line.strip(" \t{};") for line in self.lines[start - 1 : end]):
            scope = owner.symbol if owner else scope
            yield Unit(start, end, self.grammar.default, "", scope, cuts=cuts)
            return
        # Behind the first lines, which have the signature, every part lacks it.
        context = owner.context if start <= owner.start else owner.context or owner.signature
        yield dataclasses.replace(
            owner, start=start, end=end, scope=owner.symbol, context=context, cuts=cuts, inner_cuts=owner.cuts,
            alone=False, open=False,
        )  # fmt: skip

    def _is_border(self, line: int) -> bool:
        above = self.lines[line - 2]
        return not above.strip() or above in {"}", "};"}

"""The cheat scan: what a candidate's text does that the original's does not, and that an honest rewrite never needs.

A rule states facts about one file; a cheat is a fact that the candidate has more often than the original. So a host
that reads files, or compares a shape, may go on doing so: only what a rewrite brings in counts.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent.verify.escapes import see_fallback, see_introspection, see_monkey_patch, see_outside_access
from agent.verify.module import Fact, KernelModule
from agent.verify.rules import see_cached_answer, see_input_special_case, see_reference_called, see_torch_work
from indexer.messages import Message, message

Rule = Callable[[KernelModule], Iterator[Fact]]
# Each has a message `verify.cheat_<name>`, as have `protected_changed` and `no_launch`, which compare whole files.
RULES: tuple[tuple[str, Rule], ...] = (
    ("reference_called", see_reference_called),
    ("cached_answer", see_cached_answer),
    ("input_special_case", see_input_special_case),
    ("torch_work", see_torch_work),
    ("outside_access", see_outside_access),
    ("introspection", see_introspection),
    ("monkey_patch", see_monkey_patch),
    ("fallback", see_fallback),
)


@dataclass(frozen=True, slots=True)
class Cheat:
    """One breach of one rule: the candidate's line, and the message that says what was seen."""

    rule: str
    line: int
    note: Message


def find_cheats(original: str, candidate: str) -> tuple[Cheat, ...]:
    """Scan `candidate` against `original`, both whole files; a file with a syntax error has none: it does not run."""
    try:
        old, new = KernelModule(ast.parse(original)), KernelModule(ast.parse(candidate))
    except (SyntaxError, ValueError, RecursionError):
        return ()
    found = [_cheat(name, fact) for name, rule in RULES for fact in _added(rule, old, new)]
    found += [_cheat("protected_changed", fact) for fact in _changed(old, new)]
    if any(map(old.is_launch, old.nodes)) and not any(map(new.is_launch, new.host_nodes)):
        found.append(_cheat("no_launch", Fact("", 1)))
    return tuple(found)


def _cheat(rule: str, fact: Fact) -> Cheat:
    return Cheat(rule, fact.line, message(f"verify.cheat_{rule}", what=fact.what, line=fact.line))


def _added(rule: Rule, old: KernelModule, new: KernelModule) -> Iterator[Fact]:
    known = Counter(fact.what for fact in rule(old))
    for fact in rule(new):
        known[fact.what] -= 1
        if known[fact.what] < 0:
            yield fact


def _changed(old: KernelModule, new: KernelModule) -> Iterator[Fact]:
    """Yield each protected name that is bound otherwise, with what it needs; and each that is new or gone."""
    for name in sorted(old.protected | new.protected):
        before, after = old.bindings.get(name, []), new.bindings.get(name, [])
        if [ast.dump(s) for s in before] != [ast.dump(s) for s in after]:
            yield Fact(name, after[-1].lineno if after else 1)

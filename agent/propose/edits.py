"""A model's edit turned into a whole file, and what an edit may not touch."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from agent.propose.actions import Block
from agent.verify.module import Definition, KernelModule
from indexer.messages import Message, message

# The types of a launch's arguments, where a file states them: changing them would be another task.
_FIXED = ("SIG",)


@dataclass(frozen=True, slots=True)
class Unfit:
    """An edit that cannot be taken, and why."""

    reason: Message


def apply_edit(text: str, blocks: Sequence[Block], source: str) -> str | Unfit:
    """Return the file that an edit makes of `text`; blocks are applied in order, a source replaces what it defines."""
    if source.strip():
        new = _with_source(text, _unfenced(source))
    elif blocks:
        new = _with_blocks(text, blocks)
    else:
        return Unfit(message("propose.no_edit"))
    return new if isinstance(new, Unfit) else _checked(text, new)


def _with_blocks(text: str, blocks: Sequence[Block]) -> str | Unfit:
    for number, block in enumerate(blocks, 1):
        count = text.count(block.search) if block.search.strip() else 0
        if count == 1:
            text = text.replace(block.search, block.replace)
            continue
        found = _loosely(text, block) if count == 0 and block.search.strip() else None
        if found is None:
            key = "propose.block_twice" if count else "propose.block_missing"
            return Unfit(message(key, number=number, count=count))
        text = found
    return text


def _loosely(text: str, block: Block) -> str | None:
    """Find a block whose lines are right but for the indentation of all; None unless exactly one place fits."""
    lines, wanted = text.split("\n"), block.search.strip("\n").split("\n")
    bare = [line.strip() for line in wanted]
    places = [at for at in range(len(lines) - len(bare) + 1) if [x.strip() for x in lines[at : at + len(bare)]] == bare]
    if len(places) != 1:
        return None
    at = places[0]
    indent, given = _indent(lines[at]), _indent(wanted[0])
    new = [indent + line.removeprefix(given) if line.strip() else "" for line in block.replace.strip("\n").split("\n")]
    return "\n".join([*lines[:at], *new, *lines[at + len(bare) :]])


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _unfenced(source: str) -> str:
    """Drop the fence that models put around code."""
    lines = source.strip().split("\n")
    if lines[0].startswith("```") and lines[-1].strip() == "```":
        lines = lines[1:-1]
    return "\n".join(lines).strip("\n") + "\n"


def _with_source(text: str, source: str) -> str | Unfit:
    """Take a whole file as it is; of a part, such as the kernel alone, each definition replaces its namesake."""
    try:
        old, new = ast.parse(text), ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        return Unfit(message("propose.no_syntax", reason=error))
    known = {s.name: s for s in old.body if isinstance(s, Definition)}
    given = {s.name: s for s in new.body if isinstance(s, Definition)}
    if known.keys() <= given.keys() or not given.keys() & known.keys():
        return source
    lines, fresh = text.split("\n"), source.split("\n")
    for name in sorted(given.keys() & known.keys(), key=lambda n: -known[n].lineno):
        first, last = _span(known[name])
        begin, end = _span(given[name])
        lines[first:last] = fresh[begin:end]
    added = [fresh[slice(*_span(given[name]))] for name in given if name not in known]
    at = min(_span(s)[0] for s in known.values())
    for block in reversed(added):
        lines[at:at] = [*block, "", ""]
    return "\n".join(lines)


def _span(definition: ast.stmt) -> tuple[int, int]:
    """Return the lines of a definition with its decorators, from zero, the end not included."""
    decorators: list[ast.expr] = getattr(definition, "decorator_list", [])
    first = min([definition.lineno, *(d.lineno for d in decorators)])
    return first - 1, definition.end_lineno or definition.lineno


def _checked(text: str, new: str) -> str | Unfit:
    """Refuse what is no Python, changes nothing, or touches what is not the model's to change."""
    try:
        old_tree, new_tree = ast.parse(text), ast.parse(new)
    except (SyntaxError, ValueError, RecursionError) as error:
        return Unfit(message("propose.no_syntax", reason=error))
    if ast.dump(old_tree) == ast.dump(new_tree):
        return Unfit(message("propose.same_file"))
    before, after = KernelModule(old_tree), KernelModule(new_tree)
    fixed = before.protected | after.protected | set(_FIXED)
    touched = sorted(name for name in fixed if _bound(before, name) != _bound(after, name))
    return Unfit(message("propose.fixed_part", names=", ".join(touched))) if touched else new


def _bound(module: KernelModule, name: str) -> list[str]:
    return [ast.dump(s) for s in module.bindings.get(name, [])]

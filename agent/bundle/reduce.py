"""Delta debugging: a kernel made smaller step by step, as long as what it shows stays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import libcst as cst
from libcst import matchers as m

from agent.bundle.units import Statement, closure, statements_of, without

# A size below this is too small to read anything from, and often too small for the structure.
_SMALLEST = 16
_RANGES = m.Call(func=m.Name("range") | m.Attribute(attr=m.Name("range") | m.Name("static_range")))
Item = TypeVar("Item", cst.Arg, cst.Param)
_LEFT_OUT = frozenset({"mask", "other", "care_padding", "cache_modifier", "eviction_policy"})


@dataclass(frozen=True, slots=True)
class Reduction:
    """The smallest text found, and how many were tried."""

    text: str
    tried: int


class _Trial:
    """Tries texts while the budget lasts; one that keeps the symptom is the new best."""

    def __init__(self, text: str, keeps: Callable[[str], bool], most: int) -> None:
        self.best = text
        self._keeps = keeps
        self._seen = {text}
        self._most = most

    @property
    def tried(self) -> int:
        """Return how many texts were tried."""
        return len(self._seen) - 1

    @property
    def is_over(self) -> bool:
        """Tell whether the budget is spent."""
        return self.tried >= self._most

    def take(self, text: str) -> bool:
        """Try one text; a text seen before costs nothing and is no gain."""
        if text in self._seen or self.is_over:
            return False
        self._seen.add(text)
        if not self._keeps(text):
            return False
        self.best = text
        return True


def reduce_kernel(text: str, shown: str, keeps: Callable[[str], bool], most: int) -> Reduction:
    """Make `text` smaller while `keeps` holds of it, trying at most `most` texts.

    Statements go first, by halves; then loops and branches are opened, masks left out, operations replaced by an
    operand, sizes made smaller, and parameters that nothing reads dropped. A statement whose text is `shown` stays: it
    is what is reported.
    """
    trial = _Trial(text, keeps, most)
    before = ""
    while before != trial.best and not trial.is_over:
        before = trial.best
        _drop_statements(trial, shown)
        for candidates in (_uncalled, _opened, _unmasked, _simpler, _shrunk, _fewer_parameters):
            _greedy(trial, shown, candidates)
    return Reduction(trial.best, trial.tried)


def _greedy(trial: _Trial, shown: str, candidates: Callable[[str, str], Iterator[str]]) -> None:
    """Take each candidate that keeps the symptom, and look again for more from there."""
    found = True
    while found and not trial.is_over:
        found = any(trial.take(text) for text in candidates(trial.best, shown))


def _drop_statements(trial: _Trial, shown: str) -> None:
    size = max(1, len(statements_of(cst.parse_module(trial.best))) // 2)
    while size and not trial.is_over:
        if not any(trial.take(text) for text in _less(trial.best, shown, size)):
            size //= 2


def _less(text: str, shown: str, size: int) -> Iterator[str]:
    """Yield the text without each run of `size` statements, last ones first, and without what hangs on them."""
    module = cst.parse_module(text)
    found = statements_of(module)
    for stop in range(len(found), 0, -size):
        dropped = closure(found, set(range(max(0, stop - size), stop)))
        if not any(shown and found[i].text == shown for i in dropped) and len(dropped) < len(found):
            yield without(module, [found[i].node for i in dropped]).code


def _opened(text: str, shown: str) -> Iterator[str]:
    """Yield the text with one loop or branch replaced by its body, run once."""
    module = cst.parse_module(text)
    for statement in statements_of(module):
        if isinstance(statement.node, cst.For | cst.If) and statement.text != shown:
            yield _open(module, statement)


def _open(module: cst.Module, statement: Statement) -> str:
    target = statement.node

    class Opener(cst.CSTTransformer):
        def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> object:  # type: ignore[override]
            if original_node is target:
                return cst.FlattenSentinel(_body(updated_node))
            return updated_node

    made = module.visit(Opener())
    assert isinstance(made, cst.Module)  # noqa: S101 - a module stays one
    return made.code


def _body(node: cst.CSTNode) -> Iterable[cst.BaseStatement]:
    assert isinstance(node, cst.For | cst.If)  # noqa: S101 - the caller asked for these
    if isinstance(node, cst.For):
        start = cst.SimpleStatementLine([cst.Assign([cst.AssignTarget(node.target)], _first(node.iter))])
        yield start
    yield from (item for item in node.body.body if isinstance(item, cst.BaseStatement))


def _first(iterated: cst.BaseExpression) -> cst.BaseExpression:
    """Return the first value of a range."""
    if m.matches(iterated, _RANGES) and isinstance(iterated, cst.Call) and len(iterated.args) > 1:
        return iterated.args[0].value
    return cst.Integer("0")


def _unmasked(text: str, shown: str) -> Iterator[str]:
    """Yield the text with masks and hints left out of all calls but those on the line shown, then of each."""
    module = cst.parse_module(text)
    masked = [
        call for s in statements_of(module) if s.text != shown and not isinstance(s.node, cst.BaseCompoundStatement)
        for call in m.findall(s.node, m.Call())
        if isinstance(call, cst.Call) and any(a.keyword is not None and a.keyword.value in _LEFT_OUT for a in call.args)
    ]  # fmt: skip
    for chosen in ([masked] if len(masked) > 1 else []) + [[call] for call in masked]:
        yield _stripped(module, chosen)


def _stripped(module: cst.Module, calls: list[cst.Call]) -> str:
    wanted = {id(call) for call in calls}

    class Stripper(cst.CSTTransformer):
        def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> object:  # type: ignore[override]
            if id(original_node) not in wanted or not isinstance(updated_node, cst.Call):
                return updated_node
            kept = [a for a in updated_node.args if a.keyword is None or a.keyword.value not in _LEFT_OUT]
            return updated_node.with_changes(args=_ended(kept))

    made = module.visit(Stripper())
    assert isinstance(made, cst.Module)  # noqa: S101 - a module stays one
    return made.code


def _simpler(text: str, shown: str) -> Iterator[str]:
    """Yield the text with one operation or cast replaced by one of its operands, off the line shown."""
    module = cst.parse_module(text)
    for statement in statements_of(module):
        if statement.text == shown or isinstance(statement.node, cst.BaseCompoundStatement):
            continue
        for node in m.findall(statement.node, m.BinaryOperation() | m.Call(func=m.Attribute(attr=m.Name("to")))):
            made = (module.deep_replace(node, kept) for kept in _operands(node))
            yield from (changed.code for changed in made if isinstance(changed, cst.Module))


def _operands(node: cst.CSTNode) -> list[cst.BaseExpression]:
    if isinstance(node, cst.BinaryOperation):
        return [node.left, node.right]
    return [node.func.value] if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else []


def _shrunk(text: str, _shown: str) -> Iterator[str]:
    """Yield the text with one size at its smallest, or halved."""
    sizes = _stated(text, "CONSTS")
    for name, value in sizes.items():
        if isinstance(value, int) and not isinstance(value, bool) and value > _SMALLEST:
            for smaller in dict.fromkeys((_SMALLEST, value // 2)):
                yield _restated(text, "CONSTS", {**sizes, name: smaller})


def _fewer_parameters(text: str, _shown: str) -> Iterator[str]:
    """Yield the text without the parameters of the kernel that nothing reads."""
    module = cst.parse_module(text)
    name = next((line.partition(" = ")[2] for line in text.splitlines() if line.startswith("KERNEL = ")), "")
    read = {n for s in statements_of(module) if s.function == name for n in s.reads}
    types, sizes = _stated(text, "SIG"), _stated(text, "CONSTS")
    idle = (set(types) | set(sizes)) - read
    if not idle:
        return

    class Dropper(cst.CSTTransformer):
        def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> object:  # type: ignore[override]
            if not isinstance(original_node, cst.FunctionDef) or original_node.name.value != name:
                return updated_node
            assert isinstance(updated_node, cst.FunctionDef)  # noqa: S101 - a function stays one
            kept = _ended([p for p in updated_node.params.params if p.name.value not in idle])
            return updated_node.with_changes(params=updated_node.params.with_changes(params=kept))

    made = module.visit(Dropper())
    assert isinstance(made, cst.Module)  # noqa: S101 - a module stays one
    less = _restated(made.code, "SIG", {n: t for n, t in types.items() if n not in idle})
    yield _restated(less, "CONSTS", {n: v for n, v in sizes.items() if n not in idle})


def _uncalled(text: str, _shown: str) -> Iterator[str]:
    """Yield the text without the functions that nothing calls any more."""
    module = cst.parse_module(text)
    functions = [f for f in module.body if isinstance(f, cst.FunctionDef)]
    called = {n for s in statements_of(module) for n in s.reads} | {text.partition("KERNEL = ")[2].split("\n")[0]}
    idle = [f for f in functions if f.name.value not in called]
    if idle:
        yield without(module, idle).code


def _ended(items: list[Item]) -> list[Item]:
    """Return a list whose last entry has no comma."""
    made = list(items)
    if made:
        made[-1] = made[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return made


def _stated(text: str, name: str) -> dict[str, object]:
    """Read a table that `standalone` wrote; empty where the file has none."""
    line = next((line for line in text.splitlines() if line.startswith(f"{name} = ")), f"{name} = {{}}")
    found = ast.literal_eval(line.partition(" = ")[2])
    assert isinstance(found, dict)  # noqa: S101 - written so
    return found


def _restated(text: str, name: str, table: dict[str, object]) -> str:
    lines = [f"{name} = {table!r}" if line.startswith(f"{name} = ") else line for line in text.splitlines()]
    return "\n".join(lines) + "\n"

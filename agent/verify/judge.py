"""Compares what a candidate's host left with what was expected: outputs, changed inputs, launches, stray writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from agent.verify.compare import Comparison, compare
from agent.verify.running import Inputs, Ran
from agent.verify.values import Malformed, TensorView, Values, elements_of, read_view, tensor_nodes, widen
from indexer.messages import Message, message

# A host may compute this much with torch: a few sizes or factors, and no result.
_FREE_ELEMENTS = 64


@dataclass(frozen=True, slots=True)
class Right:
    """What is right for one case: the original's run, the reference's outputs where there are any to believe.

    `plain` is given when noise was put into what the original overwrites: its run without. What the original leaves
    otherwise then depends on what was there before, is the file's own contract, and is not compared.
    """

    baseline: Ran
    reference: Values | None = None
    plain: Ran | None = None


@dataclass(slots=True)
class Finding:
    """What comparing one case showed: faults (empty: right), the largest relative error, elements that became NaN.

    `cheats` say how a right result came about otherwise than by the kernels.
    """

    faults: list[Message] = field(default_factory=list)
    cheats: list[Message] = field(default_factory=list)
    max_error: float = 0.0
    tolerances: dict[str, float] = field(default_factory=dict)
    spread: int = 0

    def note(self, comparison: Comparison, dtype: str, what: Message) -> None:
        """Take one comparison in."""
        self.max_error = max(self.max_error, comparison.max_error)
        self.tolerances[dtype] = max(comparison.tolerance, self.tolerances.get(dtype, 0.0))
        self.spread += comparison.spread
        found = comparison.mismatch
        if found is not None:
            self.faults.append(
                message(
                    f"verify.wrong_{found.fault}",
                    what=what,
                    index=list(found.index),
                    actual=f"{found.actual:.6g}",
                    expected=f"{found.expected:.6g}",
                    error=f"{comparison.max_error:.2g}",
                    tolerance=f"{comparison.tolerance:.2g}",
                    percent=f"{100 * found.share:.3g}",
                )
            )


def judge(got: Ran, right: Right, inputs: Inputs, *, injected: bool = False) -> Finding:
    """Compare a candidate's run with what is right.

    `injected` says that NaN or infinity was put into the inputs: then a number may become NaN, which is counted.
    """
    comparing = _Comparing(got, right, inputs, injected)
    comparing.manner()
    try:
        comparing.form()
        if not comparing.found.faults:
            comparing.outputs()
            comparing.changes()
    except Malformed as error:
        comparing.found.faults.append(message("verify.malformed_output", problem=error))
    return comparing.found


@dataclass(frozen=True, slots=True)
class _Comparing:
    """One comparison under way."""

    got: Ran
    right: Right
    inputs: Inputs
    injected: bool
    found: Finding = field(default_factory=Finding)

    def manner(self) -> None:
        """Compare what the hosts did beside launching: an original that does the same cannot hold it against one."""
        before, cheats = self.right.baseline, self.found.cheats
        broken = [name for name in self.got.broken if name not in before.broken]
        if broken:
            cheats.append(message("verify.cheat_replaced", what=", ".join(broken[:5])))
        more = {name: n for name, n in self.got.work.items() if n > max(_FREE_ELEMENTS, 2 * before.work.get(name, 0))}
        if more:
            cheats.append(message("verify.cheat_torch_ran", what=", ".join(more), count=max(more.values())))

    def form(self) -> None:
        """Compare all but the numbers: nesting, plain values, shapes, types; and whether a kernel ran, and where."""
        got, baseline, faults = self.got, self.right.baseline, self.found.faults
        if got.launches == 0 and baseline.launches:
            faults.append(message("verify.nothing_launched"))
        if got.reused and not baseline.reused:
            faults.append(message("verify.reused_output"))
        # An original that does the same cannot hold it against a candidate.
        if got.strays and not baseline.strays:
            faults.append(message("verify.out_of_bounds", where=", ".join(got.strays)))
        if _without_tensors(got.outputs.tree) != _without_tensors(baseline.outputs.tree):
            faults.append(message("verify.other_form"))
            return
        for number, (new, old) in enumerate(zip(got.outputs.tensors(), baseline.outputs.tensors(), strict=True)):
            if (new.shape, new.dtype) != (old.shape, old.dtype):
                faults.append(_other_type(message("verify.output", number=number), new, old))

    def outputs(self) -> None:
        """Compare the outputs, with the reference's where there are any."""
        right = self.right
        expected = right.baseline.outputs if right.reference is None else right.reference
        plain = None if right.plain is None else right.plain.outputs
        for number, (view, wanted) in enumerate(zip(self.got.outputs.tensors(), expected.tensors(), strict=True)):
            free = None if plain is None else (plain.tensors()[number], plain)
            what = message("verify.output", number=number)
            self._compare(what, (view, self.got.outputs), (wanted, expected), free)

    def changes(self) -> None:
        """Compare the inputs that were changed in place; those that are outputs too were compared as outputs."""
        given, baseline = self.inputs.given, self.right.baseline
        views, nodes = given.tensors(), tensor_nodes(given.tree)
        returned = {node["blob"] for node in tensor_nodes(self.got.outputs.tree)}
        for number in sorted({*self.got.changed, *baseline.changed}):
            new = self.got.changed.get(number)
            if number not in baseline.changed:
                if new is not None and _differs(new, Values(nodes[number], given.blobs)):
                    self.found.faults.append(message("verify.input_changed", number=number))
            elif new is None or read_view(new.tree).storage not in returned:
                actual = (views[number], given) if new is None else _only(new)
                plain = None if self.right.plain is None else self.right.plain.changed.get(number)
                expected = _only(baseline.changed[number])
                what = message("verify.input", number=number)
                self._compare(what, actual, expected, None if plain is None else _only(plain))

    def _compare(self, what: Message, actual: _Tensor, expected: _Tensor, plain: _Tensor | None) -> None:
        """Compare two tensors; where `plain` differs from what is expected, anything is right."""
        view, wanted = actual[0], expected[0]
        if view.elements != wanted.elements:
            self.found.faults.append(_other_type(what, view, wanted))
            return
        new, old = _read(actual), _read(expected).reshape(view.shape)
        if plain is not None and plain[0].elements == view.elements:
            settled = _same(_read(plain).reshape(view.shape), old)
            new = np.where(settled, new, old)
        length = max((v.elements for v in self.inputs.given.tensors()), default=1) / max(1, view.elements)
        compared = compare(new, old, view.dtype, sum_length=length, spread_allowed=self.injected)
        self.found.note(compared, view.dtype, what)


_Tensor = tuple[TensorView, Values]


def _only(values: Values) -> _Tensor:
    """Return the tensor of a value that is one tensor."""
    return read_view(values.tree), values


def _read(tensor: _Tensor) -> npt.NDArray[Any]:
    view, values = tensor
    return widen(elements_of(view, values.blobs[view.storage]), view.dtype)


def _same(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.asarray((first == second) | ((first != first) & (second != second)))  # noqa: PLR0124 - NaN is not itself


def _differs(new: Values, old: Values) -> bool:
    one, other = (values.tensors() for values in (new, old))
    if [(v.shape, v.dtype) for v in one] != [(v.shape, v.dtype) for v in other]:
        return True  # and of whatever size it says: it is not read
    first, second = (elements_of(v, values.blobs[v.storage]) for values in (new, old) for v in values.tensors())
    return first.tobytes() != second.tobytes()


def _other_type(what: Message, new: TensorView, old: TensorView) -> Message:
    actual, expected = (f"{view.dtype}{list(view.shape)}" for view in (new, old))
    return message("verify.other_type", what=what, actual=actual, expected=expected)


def same_bits(first: Ran, second: Ran) -> bool:
    """Tell whether two runs left the same, bit by bit."""
    pairs = [(first.outputs, second.outputs), *((first.changed.get(n), new) for n, new in second.changed.items())]
    return first.changed.keys() == second.changed.keys() and all(
        one is not None and same_contents(one, other) for one, other in pairs
    )


def same_contents(first: Values, second: Values) -> bool:
    """Tell whether two values hold the same elements, bit by bit."""
    one, other = (
        [elements_of(view, values.blobs[view.storage]).tobytes() for view in values.tensors()]
        for values in (first, second)
    )
    return one == other


def _without_tensors(tree: Any) -> Any:
    """Return a tree with its tensors left out; lists and tuples count as the same."""
    if not isinstance(tree, dict):
        return tree
    if tree.get("kind") == "tensor":
        return "tensor"
    if tree.get("kind") == "dict":
        return {"kind": "dict", "items": [(item[0], _without_tensors(item[1])) for item in tree["items"]]}
    return [_without_tensors(item) for item in tree["items"]] if "items" in tree else tree

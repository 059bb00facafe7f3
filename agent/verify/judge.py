"""Compares what a candidate's host left with what was expected: outputs, changed inputs, launches, stray writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agent.verify.compare import Comparison, compare
from agent.verify.running import Inputs, Ran
from agent.verify.values import (
    Malformed,
    TensorView,
    Values,
    elements_of,
    read_view,
    tensor_nodes,
    widen,
)
from indexer.messages import Message, message


@dataclass(slots=True)
class Finding:
    """What comparing one case showed: faults (empty: right), the largest relative error, elements that became NaN."""

    faults: list[Message] = field(default_factory=list)
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


def judge(got: Ran, baseline: Ran, reference: Values | None, inputs: Inputs, *, injected: bool = False) -> Finding:
    """Compare a candidate's run with the original's; outputs with `reference` where there is one.

    `injected` says that NaN or infinity was put into the inputs: then a number may become NaN, which is counted.
    """
    found = Finding()
    try:
        _judge_form(found, got, baseline)
        if not found.faults:
            _judge_outputs(found, got, baseline, reference, inputs, injected=injected)
            _judge_changes(found, got, baseline, inputs, injected=injected)
    except Malformed as error:
        found.faults.append(message("verify.malformed_output", problem=error))
    return found


def _judge_form(found: Finding, got: Ran, baseline: Ran) -> None:
    """Compare all but the numbers: nesting, plain values, shapes, types; and whether a kernel ran."""
    if got.launches == 0 and baseline.launches:
        found.faults.append(message("verify.nothing_launched"))
    # An original that does the same cannot hold it against a candidate.
    if got.strays and not baseline.strays:
        found.faults.append(message("verify.out_of_bounds", where=", ".join(got.strays)))
    if _plain(got.outputs.tree) != _plain(baseline.outputs.tree):
        found.faults.append(message("verify.other_form"))
        return
    for number, (new, old) in enumerate(zip(got.outputs.tensors(), baseline.outputs.tensors(), strict=True)):
        if (new.shape, new.dtype) != (old.shape, old.dtype):
            found.faults.append(
                message(
                    "verify.other_type",
                    what=message("verify.output", number=number),
                    actual=f"{new.dtype}{list(new.shape)}",
                    expected=f"{old.dtype}{list(old.shape)}",
                )
            )


def _plain(tree: Any) -> Any:
    """Return a tree with its tensors left out."""
    if not isinstance(tree, dict):
        return tree
    if tree.get("kind") == "tensor":
        return "tensor"
    if tree.get("kind") == "dict":
        return {"kind": "dict", "items": [(item[0], _plain(item[1])) for item in tree["items"]]}
    # Hosts return lists and tuples alike.
    return [_plain(item) for item in tree["items"]] if "items" in tree else tree


def _judge_outputs(
    found: Finding, got: Ran, baseline: Ran, reference: Values | None, inputs: Inputs, *, injected: bool
) -> None:
    expected = baseline.outputs if reference is None else reference
    for number, (view, wanted) in enumerate(zip(got.outputs.tensors(), expected.tensors(), strict=True)):
        _compare_views(
            found,
            message("verify.output", number=number),
            (view, got.outputs),
            (wanted, expected),
            inputs,
            injected=injected,
        )


def _judge_changes(found: Finding, got: Ran, baseline: Ran, inputs: Inputs, *, injected: bool) -> None:
    """Compare the inputs that were changed in place; those that are outputs too were compared as outputs."""
    given = inputs.given
    views = given.tensors()
    returned = {node["blob"] for node in tensor_nodes(got.outputs.tree)}
    for number in sorted({*got.changed, *baseline.changed}):
        new = got.changed.get(number)
        if number not in baseline.changed:
            if _differs(new, Values(tensor_nodes(given.tree)[number], given.blobs)):
                found.faults.append(message("verify.input_changed", number=number))
            continue
        if new is not None and read_view(new.tree).storage in returned:
            continue
        old = baseline.changed[number]
        actual = (views[number], given) if new is None else (read_view(new.tree), new)
        _compare_views(
            found, message("verify.input", number=number), actual, (read_view(old.tree), old), inputs, injected=injected
        )


def _differs(new: Values | None, old: Values) -> bool:
    if new is None:
        return False
    (first, second) = (elements_of(v, values.blobs[v.storage]) for values in (new, old) for v in values.tensors())
    return first.tobytes() != second.tobytes()


def _compare_views(
    found: Finding,
    what: Message,
    actual: tuple[TensorView, Values],
    expected: tuple[TensorView, Values],
    inputs: Inputs,
    *,
    injected: bool,
) -> None:
    (view, got), (wanted, right) = actual, expected
    if view.elements != wanted.elements:
        found.faults.append(
            message("verify.other_type", what=what, actual=list(view.shape), expected=list(wanted.shape))
        )
        return
    new = widen(elements_of(view, got.blobs[view.storage]), view.dtype)
    old = widen(elements_of(wanted, right.blobs[wanted.storage]), wanted.dtype).reshape(view.shape)
    length = max((v.elements for v in inputs.given.tensors()), default=1) / max(1, view.elements)
    found.note(compare(new, old, view.dtype, sum_length=length, spread_allowed=injected), view.dtype, what)

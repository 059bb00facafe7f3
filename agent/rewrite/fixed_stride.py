"""Let the compiler know a small stride that the host passes, and pick the elements in UB."""

from __future__ import annotations

from dataclasses import replace

from agent.records import Launch, ScalarArgument, Structure
from agent.rewrite.accesses import find_loads
from agent.rewrite.algebra import Poly
from agent.rewrite.flow import assigned_in, read_body
from agent.rewrite.pick_stride import MOST_STRIDE, pick_stride
from agent.rewrite.source import KernelFile, read_kernel
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message


def fixed_stride(subject: Subject, structure: Structure) -> Rewrite | None:
    """Make the stride of the last axis a constexpr, then replace the strided load as `pick_stride` does.

    The kernel is compiled once more for each other stride, and keeps the strided load for them.
    """
    file = read_kernel(subject.source, subject.launch.kernel)
    if file is None:
        return None
    body = read_body(file, subject.launch)
    for load in find_loads(body.at_line(structure.line)):
        lane = load.lane(-1)
        name = _parameter(load.offsets.coefficients[lane]) if lane is not None else None
        value = _value(subject.launch, name) if name is not None else None
        source = _annotated(file, name) if name is not None and value is not None else None
        if name is None or value is None or source is None:
            continue
        known = replace(subject, source=source, launch=_specialised(subject.launch, name, value))
        found = pick_stride(known, structure)
        if found is not None:
            claim = message("rewrite.fixed_stride_claim", name=name, stride=value, next=found.claim)
            return Rewrite("fixed_stride", found.source, claim, found.precondition)
    return None


def _parameter(factor: Poly) -> str | None:
    """Return the parameter that is the whole stride."""
    symbols = factor.symbols
    return symbols[0].text if len(symbols) == 1 and factor.terms[0][1] == 1 and len(factor.terms) == 1 else None


def _value(launch: Launch, name: str) -> int | None:
    for given in launch.arguments:
        if isinstance(given, ScalarArgument) and given.name == name and name in launch.signature:
            return given.value if isinstance(given.value, int) and 1 < given.value <= MOST_STRIDE else None
    return None


def _annotated(file: KernelFile, name: str) -> str | None:
    """Return the file with the parameter `name` made a constexpr; None where it has another type or is changed."""
    for parameter in file.kernel.params.params:
        if parameter.name.value == name and parameter.annotation is None and name not in assigned_in(file.kernel):
            return file.apply([file.replace(parameter.name, f"{name}: {file.language}.constexpr")])
    return None


def _specialised(launch: Launch, name: str, value: int) -> Launch:
    signature = {key: dtype for key, dtype in launch.signature.items() if key != name}
    return replace(launch, signature=signature, constexprs={**launch.constexprs, name: value})

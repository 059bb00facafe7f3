"""What a lowering, a finding, a round says to a model: short texts of facts, in English, the same each time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from agent.contract import RoundDoc
from agent.ladder import Step
from agent.records import Cost, Finding, Launch, Lowering, Rung, TensorArgument
from agent.symptoms.structure import device_functions
from indexer.messages import render

MOST_LINES = 8
MOST_OPS = 16
MOST_DIAGNOSTICS = 3


def say_launch(launch: Launch) -> str:
    """Tell a launch: grid, constants, options, arguments."""
    arguments = [
        f"{a.name}: {a.dtype} shape {list(a.shape)} strides {list(a.strides)}"
        if isinstance(a, TensorArgument)
        else f"{a.name}: {a.dtype} = {a.value}"
        for a in launch.arguments
    ]
    options = ", ".join(f"{k}={v}" for k, v in launch.options.items()) or "-"
    constants = ", ".join(f"{k}={v}" for k, v in launch.constexprs.items()) or "-"
    head = f"kernel {launch.kernel}, line {launch.line}, grid {list(launch.grid)}, launched {launch.count} time(s)"
    return "\n".join([head, f"constexprs: {constants}", f"options: {options}", *arguments])


def say_cost(cost: Cost | None, source: str) -> str:
    """Tell a cost: its basis, what limits it, the lines that spend it."""
    if cost is None:
        return "no cost: the compiler rejects the kernel"
    terms = ", ".join(f"{k} {v:.1f}" for k, v in sorted(cost.terms.items(), key=lambda item: -item[1]) if v >= 0.05)
    lines = source.splitlines()
    worst = sorted(((v, k) for k, v in cost.by_line.items() if k is not None), key=lambda item: (-item[0], item[1]))
    spent = [
        f"line {number}: {us:.1f} us: {lines[number - 1].strip() if number <= len(lines) else ''}"
        for us, number in worst[:MOST_LINES]
        if us >= 0.005 * cost.value
    ]
    return "\n".join([f"{cost.value:.1f} us ({cost.basis}), limited by {cost.limiter}; {terms}", *spent])


def say_steps(steps: Iterable[Step]) -> str:
    """Tell what the ladder's rungs said."""
    return "\n".join(f"{step.rung}: {render(step.reason, 'en')}" for step in steps)


def say_finding(finding: Finding, evidence: Sequence[str], rungs: frozenset[Rung]) -> str:
    """Tell a finding as far as the rungs may be used: without `ir` no operation, pass or counterfactual."""
    told = [
        f"{finding.symptom}: {render(finding.title, 'en')} ({finding.severity:.0%} of the cost)",
        f"line {finding.line}: {finding.text}" if finding.line is not None else "of the whole launch",
        render(finding.explanation, "en"),
        f"advice: {render(finding.advice, 'en')}",
    ]
    seen, proof = finding.structure, finding.counterfactual
    if "ir" in rungs:
        made = f"made by pass {seen.pass_argument}" if seen.pass_argument else "of the source itself"
        told += [f"in the IR after {seen.stage}, {made}:", seen.excerpt]
        told += [f"tried: {render(proof.change, 'en')} -> {proof.verdict}"]
    if evidence:
        told.append(f"passages about it: {', '.join(evidence)}")
    return "\n".join(part for part in told if part)


def say_round(entry: RoundDoc) -> str:
    """Tell a past round and what it taught."""
    tried = entry.rewrite
    if tried is None:
        return f"round {entry.n}: nothing was proposed; {entry.reason}"
    cost = f"{entry.cost.value:.1f} us" if entry.cost is not None else "no cost"
    parts = "; ".join(f"{part.text}: {part.verdict}" for part in tried.expected)
    told = [
        f"round {entry.n}, by {tried.author}: {tried.name} for {tried.symptom or '-'}: {tried.claim}",
        f"{entry.verdict}, {cost}; claimed: {parts or '-'}",
    ]
    reasons = [entry.reason, *entry.checks.reasons]
    told += [f"why: {reason}" for reason in reasons if reason]
    told += [
        f"also tried: {other.rewrite.name} for {other.rewrite.symptom or '-'}: {other.verdict}"
        for other in entry.candidates
        if other.verdict != "untried"
    ]
    return "\n".join(told)


def say_diagnostics(lowering: Lowering) -> str:
    """Tell what the compiler refused."""
    errors = [
        f"line {d.line}: {d.message}" if d.line else d.message
        for item in lowering.launches
        for d in item.compilation.diagnostics
        if d.severity == "error"
    ]
    return "\n".join(dict.fromkeys(errors[:MOST_DIAGNOSTICS]))


def count_final_ops(lowering: Lowering) -> Counter[str]:
    """Count the operations of the final IR of all launches by name."""
    finals = [item.compilation.hivm for item in lowering.launches]
    return Counter(op.name for final in finals if final is not None for f in device_functions(final) for op in f.walk())


def say_change(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """Tell which operations there are more or fewer of."""
    moved = {op: after.get(op, 0) - before.get(op, 0) for op in {*before, *after}}
    ranked = sorted((item for item in moved.items() if item[1]), key=lambda item: (-abs(item[1]), item[0]))
    return "\n".join(f"{op}: {before.get(op, 0)} -> {after.get(op, 0)}" for op, _ in ranked[:MOST_OPS]) or "no change"


def say_blame(lowering: Lowering, line: int) -> str:
    """Tell which operations of the final IR a line became, and by which pass."""
    told = [
        f"{b.count} x {b.op}, made by {b.pass_argument or 'the source'}"
        + (f", replaced {', '.join(b.replaced)}" if b.replaced else "")
        for item in lowering.launches
        for b in item.blames
        if b.line == line
    ]
    near = sorted({b.line for item in lowering.launches for b in item.blames})
    return "\n".join(told[:MOST_OPS]) or f"no operation is left of line {line}; lines with operations: {near}"

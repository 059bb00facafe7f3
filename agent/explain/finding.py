"""An explanation as a finding: a kernel that does not compile has a reason like any other, with proof and evidence."""

from __future__ import annotations

from agent.explain.records import Explanation
from agent.records import Counterfactual, Finding, Lowering, Structure
from indexer.messages import message

_OVERFLOWS = frozenset({"ub_overflow", "l1_overflow", "l0c_overflow"})


def as_finding(told: Explanation, lowering: Lowering) -> Finding:
    """Give the finding of a refused launch; the largest tile that compiles is its counterfactual."""
    lines = lowering.source.text.splitlines()
    text = lines[told.line - 1].strip() if told.line is not None and 0 < told.line <= len(lines) else ""
    excerpt = "\n".join(f"{b.bytes} bytes: {b.type} (line {b.line})" for b in told.buffers if b.at_peak) or told.said
    structure = Structure(
        told.cause, told.line, (told.op,) if told.op else (), excerpt, told.stage, told.pass_argument, None
    )
    return Finding(
        symptom=told.cause,
        title=told.title,
        explanation=message("explain.said", stage=told.stage, words=told.said),
        advice=told.way_out,
        severity=1.0,
        severity_basis="rejected",
        file=lowering.source.path,
        line=told.line,
        text=text,
        structure=structure,
        counterfactual=_proof(told, excerpt),
        evidence=told.place,
        launch_index=told.launch_index,
    )


def _proof(told: Explanation, excerpt: str) -> Counterfactual:
    if told.fit is not None:
        change = message("explain.change_fit", name=told.fit.name, value=told.fit.value, fits=told.fit.fits)
        return Counterfactual(change, "confirmed", excerpt)
    key = "explain.change_none" if told.cause in _OVERFLOWS else "explain.change_other"
    return Counterfactual(message(key), "open", excerpt)

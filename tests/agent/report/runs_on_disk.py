"""Run folders as the journal writes them, without a compiler: every field that a report shows holds a given text."""

from __future__ import annotations

from pathlib import Path

from agent.contract import CostDoc, OptimizeDoc, RoundDoc
from agent.journal import Journal, Terms
from agent.records import KernelSource

# Stands for text of a kernel, a model or a compiler.
TEXT = "some text"
INITIAL = "a = 1\nb = 2\n"
VERDICTS = ("kept", "slower", "wrong", "rejected", "cheating")


def a_cost(value: float, basis: str = "predicted", text: str = TEXT) -> dict:
    return {
        "value": value, "unit": "us", "basis": basis, "interval": {"low": value * 0.8, "high": value * 1.3},
        "limiter": "load", "terms": {"load": value * 0.75, text: value * 0.25}, "remarks": [text],
    }  # fmt: skip


def a_finding(text: str = TEXT, ir: str = "") -> dict:
    return {
        "symptom": text, "title": text, "explanation": text, "severity": 0.5, "severity_basis": text,
        "source": {"file": text, "line": 3, "text": text},
        "ir": {"stage": text, "ops": [text], "excerpt": ir or text},
        "pass": {"argument": text, "position": 4},
        "counterfactual": {"change": text, "verdict": "confirmed", "before": ir or text, "after": ir and f"{ir}\nend"},
        "evidence": [{"passage": f"notes@0123456789ab:{text}#L1-L3", "why": [text], "title": text}],
        "advice": text, "launch_index": 0, "limit_of": text,
    }  # fmt: skip


def a_rewrite(text: str = TEXT) -> dict:
    return {
        "name": text, "author": "model", "symptom": text, "line_text": text, "claim": text, "precondition": text,
        "citations": [f"notes@0123456789ab:{text}#L1-L3"], "diff": f"--- a\n+++ b\n@@ -1 +1 @@\n-{text}\n+{text} ",
        "quote": text, "supported": False, "expected": [{"text": text, "verdict": "open"}],
    }  # fmt: skip


def a_round(n: int, verdict: str, cost: dict | None, text: str = TEXT, ir: str = "") -> RoundDoc:
    rewrite = a_rewrite(text)
    return RoundDoc.model_validate({
        "n": n, "entry_rung": "pattern", "deepest_rung": "source", "entry_reason": text,
        "escalations": [{"from": "pattern", "to": text, "reason": text}],
        "ladder": [{"rung": "ir", "entered": True, "reason": text, "localized": True}] if n % 2 else [],
        "findings": [a_finding(text, ir), a_finding(text)], "rewrite": rewrite, "verdict": verdict, "cost": cost,
        "checks": {
            "level": "linalg_cpu", "verdict": "right", "cases": 3, "seeds": [0, 1], "shapes": [text],
            "max_error": 1e-6, "tolerance": text, "reasons": [text], "not_covered": [text], "sandbox": [text],
        },
        "claim_verdict": "realised", "reason": text, "seconds": 1.5, "lessons": [text],
        "ir_before": ir or text, "ir_after": f"{ir}\n{text} ",
        "candidates": [
            {"rewrite": rewrite, "verdict": "untried", "claim_verdict": "open", "cost": None, "reason": text,
             "sha256": "0"},
        ],
        "model": {
            "ended": text, "reason": text, "thought": text, "tokens": {"prompt": 5, "completion": 2, "requests": 1},
            "actions": [{"action": text, "detail": text, "answer": text}],
        },
        "passages": [{"id": f"notes@0123456789ab:{text}#L1-L3", "title": text, "kind": "note", "text": text}],
        "tokens": {"prompt": 5, "completion": 2, "requests": 1, "cost": 0.25, "currency": text},
    })  # fmt: skip


def a_result(
    folder: Path, rounds: list[RoundDoc], before: dict | None, after: dict | None, text: str = TEXT
) -> OptimizeDoc:
    kept = [r.n for r in rounds if r.verdict == "kept"]
    ends = [CostDoc.model_validate(cost) for cost in (before, after) if cost is not None]
    return OptimizeDoc.model_validate({
        "kernel": text, "target": text, "file": text, "out": str(folder),
        "baseline": {
            "cost": before, "status": "rejected" if before is None else "ok",
            "diagnostics": [
                {"severity": text, "message": text, "line": line, "stage": text, "pass": None} for line in (None, 2)
            ],
        },
        "findings": [a_finding(text), a_finding("other")],
        "best": {
            "round": kept[-1] if kept else 0, "cost": after, "file": text, "repaired": before is None,
            "speedup": ends[0].value / ends[1].value if len(ends) == 2 else None,
        },
        "rounds": rounds, "stopped": text, "seconds": 9.5, "ladder": text,
        "tokens": {"prompt": 5, "completion": 2, "requests": 1, "cost": 0.25, "currency": text},
        "model": {"name": text, "endpoint": text, "left": text},
        "launch": {
            "kernel": text, "line": 1, "signature": {}, "constexprs": {text: text}, "grid": [4, 1, 1], "options": {},
            "arguments": [{"name": text, "dtype": text, "shape": [3, 5]}], "group": "", "count": 1,
            "data_dependent": False,
        },
    })  # fmt: skip


def begin(folder: Path, rounds: list[RoundDoc], text: str = TEXT) -> Journal:
    """Write a run as far as its rounds; unfinished so far."""
    journal = Journal(folder)
    journal.begin(KernelSource(Path(text), f"{INITIAL}# {text}\n"), Terms(target=text, rounds=12))
    for entry in rounds:
        journal.record(entry, f"{INITIAL}c = {entry.n}  # {text}\n")
    return journal


def a_run(folder: Path, text: str = TEXT, ir: str = "", costs: tuple[float, ...] = (100.0, 40.0, 50.0)) -> Path:
    """Write a finished run of rounds of all verdicts; the first cost is the baseline's, a last round has none."""
    before, *others = costs
    tried = [a_round(n, VERDICTS[(n - 1) % 5], a_cost(c, text=text), text, ir) for n, c in enumerate(others, 1)]
    tried.append(a_round(len(tried) + 1, "rejected", None, text, ir))
    kept = [r.cost.value for r in tried if r.verdict == "kept" and r.cost is not None]
    result = a_result(folder, tried, a_cost(before, text=text), a_cost(kept[-1] if kept else before, text=text), text)
    begin(folder, tried, text).finish(result)
    return folder

"""Predicted and measured times never meet in one ratio: not in the code, not in an output."""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from agent.contract import CostDoc, DiagnoseDoc, OptimizeDoc
from agent.contract_bench import BenchDoc
from agent.contract_parts import Doc
from agent.perf.predict import sum_costs
from agent.profile.documents import profiles_doc
from agent.profile.records import KernelProfile, Profiles
from agent.ratios import speedup, speedup_of
from agent.records import Cost, Interval
from agent.report.html.view import _ratio
from agent.report.html.write import write_report
from agent.report.terminal import Terminal
from indexer.messages import Lang
from tests.agent.report.runs_on_disk import a_cost, a_result, a_round, begin

AGENT = Path(__file__).parents[2] / "agent"
# Where two times are divided, by file and function, and why that is right.
DIVIDING = {
    ("ratios.py", "speedup"): "refuses two bases",
    ("report/html/view.py", "_ratio"): "gives none for two bases",
    ("diagnose.py", "_severity"): "both predicted, before and after a counterfactual",
    ("perf/predict.py", "sum_costs"): "costs of one basis, or none are summed",
    ("evaluate_cost.py", "score"): "the error of a prediction, which is called so",
    ("evaluate_cost_documents.py", "timing_doc"): "the error of a prediction, which is called so",
    ("cli/eval_cost.py", "_show"): "the error of a prediction, which is called so",
}
# Packages in which every time is a device's: they import nothing that predicts.
MEASURED_ONLY = ("handoff", "measure")
PREDICTED, MEASURED = 7.0, 12.5  # no figure of an output is by chance near their ratio
ENDS = {PREDICTED / MEASURED, MEASURED / PREDICTED}
RATIOS = ENDS | {abs(end - 1) for end in ENDS} | {100 * end for end in ENDS} | {100 * abs(end - 1) for end in ENDS}


def tells_time(node: ast.AST) -> bool:
    """Tell whether an expression has a time in it, by the names that times have."""
    names = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return any(name in {"value", "us"} or name.endswith("_us") for name in names)


def divisions(path: Path) -> set[str]:
    """Return the functions of a file, or classes, in which a time is divided by a time."""
    text = path.read_text(encoding="utf-8")
    return set(_dividing(ast.parse(text), "")) if " / " in text else set()


def _dividing(node: ast.AST, inside: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        is_division = isinstance(child, ast.BinOp) and isinstance(child.op, ast.Div)
        if is_division and tells_time(child.left) and tells_time(child.right):
            yield inside
        yield from _dividing(child, child.name if isinstance(child, ast.FunctionDef) else inside)


def test_times_are_divided_in_few_named_places() -> None:
    files = [path for path in AGENT.rglob("*.py") if path.relative_to(AGENT).parts[0] not in MEASURED_ONLY]
    found = {(path.relative_to(AGENT).as_posix(), name) for path in files for name in divisions(path)}
    assert found == set(DIVIDING)


def test_what_reads_times_of_devices_imports_nothing_that_predicts() -> None:
    files = [path for name in MEASURED_ONLY for path in (AGENT / name).rglob("*.py")]
    imported = re.compile(r"^\s*(?:from|import) agent\.perf", re.MULTILINE)
    assert not [path for path in files if imported.search(path.read_text(encoding="utf-8"))]


def cost(value: float, basis: str) -> Cost:
    return Cost(value, basis, Interval(value, value), "load")  # type: ignore[arg-type]


def test_a_measured_and_a_predicted_time_have_no_ratio() -> None:
    measured, predicted = cost(MEASURED, "measured"), cost(PREDICTED, "predicted")
    with pytest.raises(ValueError, match="no ratio"):
        speedup(measured, predicted)
    assert speedup_of(measured, predicted) is None
    assert speedup_of(measured, None) is None
    assert speedup_of(cost(25.0, "measured"), measured) == 2.0
    with pytest.raises(ValueError, match="one basis"):
        sum_costs([measured, predicted])
    docs = (CostDoc.model_validate(a_cost(MEASURED, "measured")), CostDoc.model_validate(a_cost(PREDICTED)))
    assert _ratio(*docs) is None


def diagnosed(lang: Lang) -> DiagnoseDoc:
    """Say what was measured beside a prediction of the same kernel."""
    seen = KernelProfile("k", "msprof", (Path("p.csv"),), MEASURED, "load", {"load": 0.9}, (11.0, 11.0), 4)
    launch = optimized(Path()).launch
    return DiagnoseDoc.model_validate({
        "kernel": "k", "target": "t", "status": "ok", "launch": launch, "launches": [launch], "ladder": [],
        "cost": a_cost(PREDICTED), "findings": [], "diagnostics": [],
        "profile": profiles_doc(Profiles((seen,), ()), lang),
    })  # fmt: skip


def optimized(folder: Path) -> OptimizeDoc:
    """Describe a run whose ends have different bases, as `speedup_of` leaves it."""
    rounds = [a_round(1, "kept", a_cost(MEASURED, "measured"))]
    doc = a_result(folder, rounds, a_cost(PREDICTED), a_cost(MEASURED, "measured"))
    baseline = doc.baseline.model_copy(update={"diagnostics": []})
    doc = doc.model_copy(update={"findings": [], "stopped": "plateau", "baseline": baseline})
    assert doc.baseline.cost is not None
    return doc.model_copy(update={
        "best": doc.best.model_copy(update={"speedup": speedup_of(doc.baseline.cost, doc.best.cost)})
    })  # fmt: skip


def benched() -> BenchDoc:
    launch = optimized(Path()).launch
    kernels = [
        {"kernel": "k", "file": "f", "target": "t", "launch": launch, "cost": one, "diagnostics": []}
        for one in (a_cost(PREDICTED), a_cost(MEASURED, "measured"))
    ]
    return BenchDoc.model_validate({"kernels": kernels})


def outputs(lang: Lang, folder: Path) -> dict[str, str]:
    """Return every output in which both a measured and a predicted time of one kernel can stand."""
    diagnose, optimize, bench = diagnosed(lang), optimized(folder), benched()
    journal = begin(folder, optimize.rounds)
    journal.finish(optimize)
    shown = {
        f"{name} json": json.dumps(doc.to_json())
        for name, doc in {"diagnose": diagnose, "optimize": optimize, "bench": bench}.items()
    }
    for name in ("diagnose", "optimize", "bench"):
        buffer = io.StringIO()
        terminal = Terminal(Console(file=buffer, width=200), lang)
        getattr(terminal, name)({"diagnose": diagnose, "optimize": optimize, "bench": bench}[name])
        shown[f"{name} terminal"] = buffer.getvalue()
    shown["report"] = re.sub(r"<style>.*?</style>|<svg.*?</svg>|<[^>]*>", " ", report(folder, lang), flags=re.DOTALL)
    return shown


def report(folder: Path, lang: Lang) -> str:
    write_report(folder, None, lang)
    return (folder / "report.html").read_text(encoding="utf-8")


def figures(text: str) -> set[float]:
    return {float(found) for found in re.findall(r"\d+(?:\.\d+)?", text)}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_output_holds_a_ratio_of_a_measured_and_a_predicted_time(tmp_path: Path, lang: Lang) -> None:
    for name, text in outputs(lang, tmp_path).items():
        both = figures(text)
        assert MEASURED in both, name
        near = [figure for figure in both for ratio in RATIOS if abs(figure - ratio) <= 0.006 * max(1.0, ratio)]
        assert not near, (name, near)


def test_a_document_that_names_a_speedup_is_one_that_is_known_here() -> None:
    """A new field for a ratio is added here, after it was seen to be of one basis."""

    def below(kind: type[Doc]) -> set[type[Doc]]:
        return {kind}.union(*(below(child) for child in kind.__subclasses__()))

    named = {
        (kind.__name__, field)
        for kind in below(Doc)
        for field in kind.model_fields
        if re.search(r"speedup|(^|_)ratio|(^|_)gain|faster", field)
        and kind.__module__.split(".")[1] not in MEASURED_ONLY
    }
    assert named <= {("BestDoc", "speedup")}

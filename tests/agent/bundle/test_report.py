"""What a bug report says, whose it is, and what it keeps to itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent.bundle.evidence import Sight, nameless
from agent.bundle.owner import is_compilers, project_of, suspected_file
from agent.bundle.report import Report, report_text
from agent.records import Counterfactual, Evidence, Finding, Structure
from indexer.messages import message
from tests.agent.symptoms.lowered import snapshot, subject

BODY = '    "hivm.hir.vexp"() : () -> () loc(unknown)'


def finding(symptom: str, made_by: str | None, stage: str = "hivm") -> Finding:
    structure = Structure(symptom, 9, (), "", stage, made_by, 4)
    said = message(f"symptoms.{symptom}_title") if symptom == "erf_poly" else message("bundle.what")
    verdict = Counterfactual(message("bundle.ir"), "open")
    return Finding(
        symptom, said, said, said, 0.5, "b", Path("/srv/ann/secret.py"), 9, "y = tl.erf(x)", structure, verdict
    )


@pytest.mark.parametrize(
    ("symptom", "owned"),
    [("erf_poly", True), ("compiler_crash", True), ("gather_scalar", False), ("ub_overflow", False)],
)
def test_only_what_a_better_compiler_would_mend_is_the_compilers(symptom: str, owned: bool) -> None:  # noqa: FBT001
    assert is_compilers(finding(symptom, "some-pass")) is owned


@pytest.mark.parametrize(
    ("made_by", "stage", "project"),
    [
        ("hfusion-normalize-ops", "hfusion", "AscendNPU-IR"),
        ("triton-to-unstructure", "adapter", "triton-ascend"),
        ("cse", "hivm", "LLVM/MLIR"),
        (None, "ttir", "Triton"),
    ],
)
def test_the_project_is_that_of_the_pass(made_by: str | None, stage: str, project: str) -> None:
    states = [snapshot(0, "triton-to-unstructure", BODY, "adapter"), snapshot(1, "hfusion-normalize-ops", BODY)]
    assert project_of(finding("erf_poly", made_by, stage), subject(states).compilation) == project


def test_the_file_suspected_is_the_first_of_the_compilers_source() -> None:
    cited = [
        "notes@3824a9a67cd5:erf_poly.md#L1-L9",
        "ascendnpu-ir@52f96a130b52:docs/ops.md#L1-L2",
        "ascendnpu-ir@52f96a130b52:lib/Normalize.cpp#L3-L9",
    ]
    assert suspected_file([Evidence(passage, "", ()) for passage in cited]) == cited[2]
    assert not suspected_file([])


def test_folders_of_this_machine_are_left_out_and_links_stay() -> None:
    assert nameless('loc("/srv/ann/kernels/k.py":3:1) at /tmp/x1/dumps/a.mlir') == 'loc("k.py":3:1) at a.mlir'
    assert nameless("https://github.com/Ascend/AscendNPU-IR") == "https://github.com/Ascend/AscendNPU-IR"


def test_the_report_says_what_is_needed_in_both_languages() -> None:
    sight = Sight(7, "y = tl.erf(x)", "hfusion-normalize-ops", 4, "%1 = vmul /srv/ann/k.py")
    file, versions, dumps = "ascendnpu-ir@52f96a:lib/Normalize.cpp#L3-L9", {"ascendnpu-ir": "1.2.0"}, ("after.mlir",)
    told = Report(
        finding("erf_poly", "hfusion-normalize-ops"), "AscendNPU-IR", "ascend910b3", sight, "import triton\n", (40, 9),
        12, file, versions, dumps,
    )  # fmt: skip
    english, chinese = report_text(told, "en"), report_text(told, "zh")
    for text in (english, chinese):
        for said in ("hfusion-normalize-ops", "github.com/Ascend/AscendNPU-IR", "Normalize.cpp", "1.2.0", "after.mlir"):
            assert said in text
        assert "import triton" in text
        assert "/srv" not in text
        assert "secret" not in text
    assert "Not your kernel" in english
    assert "不是内核的问题" in chinese


def test_a_pass_that_a_crash_does_not_name_comes_after_the_last_that_ended() -> None:
    sight = Sight(7, "y = x.to(tl.float32)", None, None, "", "convert-arith-to-hfusion")
    told = Report(finding("compiler_crash", None), "AscendNPU-IR", "ascend910b3", sight, None, None, 0, "", {}, ())
    assert "not named; the last one that ended is `convert-arith-to-hfusion`" in report_text(told, "en")


def test_a_kernel_that_does_not_stand_alone_is_not_in_the_report() -> None:
    sight = Sight(None, "", None, None, "")
    told = Report(
        finding("erf_poly", None), "Triton", "ascend910b3", sight, None, None, 0, "", {}, ()
    )  # fmt: skip
    text = report_text(replace(told, versions={"python": "3.11"}), "en")
    assert "without its host code" in text
    assert "```python" not in text

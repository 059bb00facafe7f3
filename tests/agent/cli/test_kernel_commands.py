"""The commands over a kernel file as a user types them: the real compilers, the real sandbox, the printed lines."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agent.cli.main import run
from agent.contract import BlameDoc, CompileDoc, DiagnoseDoc, OptimizeDoc

pytestmark = pytest.mark.toolchain

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
COPY = """
@triton.jit
def copy_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(o_ptr + offs, tl.load(x_ptr + offs, mask=mask), mask=mask)


def make_inputs(seed):
    return (torch.randn(5000, generator=torch.Generator().manual_seed(seed)),)


def run(x):
    out = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out


def reference(x):
    return x.clone()
"""
WIDE = """
@triton.jit
def wide(x_ptr, o_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(o_ptr + offs, tl.exp(tl.load(x_ptr + offs)))


def make_inputs(seed):
    return (torch.randn(65536),)


def run(x):
    out = torch.empty_like(x)
    wide[(1,)](x, out, BLOCK=65536)
    return out
"""
ENDLESS = COPY.replace("    out = torch.empty_like(x)", "    while True:\n        pass\n    out = torch.empty_like(x)")
RAISING = COPY.replace("    out = torch.empty_like(x)", "    raise ValueError('the host is broken')")


def in_file(folder: Path, text: str) -> Path:
    path = folder / "kernel.py"
    path.write_text(HEAD + text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "extra", "code", "told"),
    [
        ("def broken(:\n", (), 2, r"kernel.py:6: syntax error"),
        ("x = 1\n", (), 2, r"no .*kernel"),
        (RAISING, (), 2, r"ValueError.*the host is broken"),
        (ENDLESS, ("--host-seconds", "3"), 6, r"3"),
        (COPY, ("--target", "ascend911"), 2, r"ascend911.*ascend910b"),
        (COPY, ("--kernel", "copy_kernal"), 2, r"copy_kernel"),
        (COPY, ("--grid", "0"), 2, r"--grid"),
    ],
)
def test_bad_input_gives_one_line_with_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, extra: tuple[str, ...], code: int, told: str
) -> None:
    assert run(["compile", str(in_file(tmp_path, text)), *extra]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert re.search(told, err), err
    assert "Traceback" not in err


def test_a_missing_file_names_what_is_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    in_file(tmp_path, COPY)
    assert run(["diagnose", str(tmp_path / "kernl.py")]) == 2
    assert "kernel.py" in capsys.readouterr().err


def test_a_missing_toolchain_is_exit_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITONKB_TOOLCHAIN_PYTHON", str(tmp_path / "none" / "python"))
    assert run(["compile", str(in_file(tmp_path, COPY))]) == 4
    assert "tritonkb toolchain install ascend" in capsys.readouterr().err


def test_compile_prints_the_contract_and_keeps_every_stage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "ir"
    assert run(["compile", str(in_file(tmp_path, COPY)), "--json", "--out", str(kept)]) == 0
    doc = CompileDoc.model_validate_json(capsys.readouterr().out)
    assert doc.status == "ok"
    assert doc.resources.ub_bytes is not None
    assert 0 < doc.resources.ub_bytes < doc.resources.ub_limit_bytes == 192 * 1024
    assert {"hivm-plan-memory", "one-shot-bufferize"} <= {stage.name for stage in doc.stages}
    assert all(Path(file).exists() for file in doc.files.values())
    assert kept.is_dir()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "limit"), [("ascend910b3", 1572864), pytest.param("ascend950", 2031616, marks=pytest.mark.slow)]
)
def test_a_rejected_kernel_names_the_overflow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str, limit: int
) -> None:
    assert run(["compile", str(in_file(tmp_path, WIDE)), "--target", target, "--json"]) == 1
    doc = CompileDoc.model_validate_json(capsys.readouterr().out)
    assert doc.status == "rejected"
    first = doc.diagnostics[0]
    assert str(limit) in first.message.replace(",", "") or str(limit // 8) in first.message.replace(",", "")
    assert "pipeline" not in first.message.lower()


def test_blame_of_a_line_names_its_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = in_file(tmp_path, COPY)
    line = path.read_text().splitlines().index("    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)") + 3
    assert run(["blame", f"{path}:{line}", "--json"]) == 0
    doc = BlameDoc.model_validate_json(capsys.readouterr().out)
    assert [entry.line for entry in doc.lines] == [line]
    ops = {op.name: op.pass_argument for op in doc.lines[0].ops}
    assert ops["hivm.hir.load"] is not None
    assert doc.resolved_share == 1.0


def test_blame_walks_a_line_through_the_passes_that_changed_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = in_file(tmp_path, COPY)
    line = next(i for i, text in enumerate(path.read_text().splitlines(), 1) if "tl.store" in text)
    assert run(["blame", f"{path}:{line}", "--pass-by-pass", "--json"]) == 0
    doc = BlameDoc.model_validate_json(capsys.readouterr().out)
    assert doc.steps[0].pass_argument is None
    assert "tt.load" in doc.steps[0].made
    made_by = {name: step.pass_argument for step in doc.steps for name in step.made}
    assert made_by["hivm.hir.load"] == next(op.pass_argument for op in doc.lines[0].ops if op.name == "hivm.hir.load")
    assert all(step.diff for step in doc.steps)
    assert doc.lines[0].bytes == 2 * 5000 * 4
    assert doc.lines[0].buffer_bytes["ub"] >= 1024 * 4
    assert {entry.line for entry in doc.source} >= {line - 4, line}


def test_a_walk_needs_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["blame", str(in_file(tmp_path, COPY)), "--pass-by-pass"]) == 2
    assert "LINE" in capsys.readouterr().err


def test_blame_of_a_line_without_operations_says_which_lines_have_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["blame", f"{in_file(tmp_path, COPY)}:1"]) == 2
    assert "11" in capsys.readouterr().err


def test_diagnose_of_a_rejected_kernel_is_exit_1_with_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diagnose", str(in_file(tmp_path, WIDE)), "--json"]) == 1
    doc = DiagnoseDoc.model_validate_json(capsys.readouterr().out)
    assert doc.cost is None
    assert "ub_overflow" in {finding.symptom for finding in doc.findings}


def test_diagnose_stops_at_the_rung_that_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", str(in_file(tmp_path, COPY)), "--max-rung", "profile", "--json"]) == 0
    doc = DiagnoseDoc.model_validate_json(capsys.readouterr().out)
    assert [rung.entered for rung in doc.ladder] == [True, True, False, False]


@pytest.mark.slow
def test_an_interrupted_run_is_resumed_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = in_file(tmp_path, WIDE64)
    out = tmp_path / "run"
    first = run(["optimize", str(path), "--out", str(out), "--rounds", "1", "--json"])
    once = OptimizeDoc.model_validate_json(capsys.readouterr().out)
    assert first == 0
    assert once.stopped == "rounds"
    assert once.best.round == 1
    assert run(["optimize", str(path), "--resume", str(out), "--rounds", "2", "--json"]) == 0
    again = OptimizeDoc.model_validate_json(capsys.readouterr().out)
    assert again.rounds[: len(once.rounds)] == once.rounds
    assert again.best.speedup is not None
    assert once.best.speedup is not None
    assert again.best.speedup >= once.best.speedup
    assert json.loads((out / "run.json").read_text()) == again.to_json()


WIDE64 = """
@triton.jit
def scaled(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs.to(tl.int64) < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(o_ptr + offs, tl.where(mask, x * 3.0, 0.0), mask=mask)


def make_inputs(seed):
    return (torch.randn(5000, generator=torch.Generator().manual_seed(seed)),)


def run(x):
    out = torch.empty_like(x)
    scaled[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out


def reference(x):
    return x * 3.0
"""


def test_an_optimised_kernel_is_cheaper_checked_and_says_predicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = in_file(tmp_path, WIDE64)
    assert run(["optimize", str(path), "--out", str(tmp_path / "run"), "--json"]) == 0
    doc = OptimizeDoc.model_validate_json(capsys.readouterr().out)
    kept = [entry for entry in doc.rounds if entry.verdict == "kept"]
    assert kept
    assert kept[0].checks.level == "linalg_cpu"
    assert kept[0].checks.verdict == "right"
    assert len(kept[0].checks.seeds) >= 3
    assert doc.best.cost is not None
    assert doc.best.cost.basis == "predicted"
    assert doc.best.speedup is not None
    assert doc.best.speedup > 1.2
    assert (tmp_path / "run" / "best.py").read_text() != path.read_text()
    assert path.read_text() == HEAD + WIDE64


@pytest.mark.slow
def test_a_relative_out_folder_keeps_the_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = in_file(tmp_path, COPY)
    monkeypatch.chdir(tmp_path)
    assert run(["compile", str(path), "--out", "ir", "--json"]) == 0
    doc = CompileDoc.model_validate_json(capsys.readouterr().out)
    assert all(Path(file).is_relative_to(tmp_path / "ir") for file in doc.files.values())


def test_a_chinese_file_name_keeps_its_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "我的 核函数.py"
    path.write_text(HEAD + COPY, encoding="utf-8")
    assert run(["blame", str(path), "--json"]) == 0
    doc = BlameDoc.model_validate_json(capsys.readouterr().out)
    assert doc.resolved_share == 1.0
    assert [entry.line for entry in doc.lines]


TUNED = """
@triton.autotune(configs=[triton.Config({"BLOCK": 1024}), triton.Config({"BLOCK": 131072})], key=["n"])
@triton.jit
def tuned(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(o_ptr + offs, tl.exp(tl.load(x_ptr + offs, mask=mask)), mask=mask)


def make_inputs(seed):
    return (torch.randn(5000),)


def run(x):
    out = torch.empty_like(x)
    tuned[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
    return out
"""


@pytest.mark.slow
def test_a_configuration_that_overflows_is_passed_over_as_the_tuner_would(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diagnose", str(in_file(tmp_path, TUNED)), "--json"]) == 0
    doc = DiagnoseDoc.model_validate_json(capsys.readouterr().out)
    assert len(doc.launches) == 2
    assert doc.launch.constexprs["BLOCK"] == 1024
    assert doc.cost is not None
    assert "ub_overflow" not in {finding.symptom for finding in doc.findings}


@pytest.mark.slow
def test_files_of_one_name_get_folders_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    first, second = in_file(tmp_path / "a", WIDE64), in_file(tmp_path / "b", "def broken(:\n")
    code = run(
        ["optimize", str(first), str(second), "--out", str(tmp_path / "runs"), "--rounds", "1", "--jobs", "1", "--json"]
    )
    out, err = capsys.readouterr()
    document = json.loads(out)
    good, bad = document["runs"]
    assert code == 2
    together = document["summary"]
    assert (together["kernels"], together["failed"], together["kept"], together["basis"]) == (2, 1, 1, "predicted")
    assert together["reference"]["basis"] == "measured"
    assert OptimizeDoc.model_validate(good).best.round == 1
    assert bad["error"]["exit_code"] == 2
    assert "kernel.py:6" in bad["error"]["message"]
    assert "kernel.py:6" in err
    assert (tmp_path / "runs" / "kernel" / "run.json").exists()


def test_a_report_in_chinese_leaves_no_english_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", str(in_file(tmp_path, WIDE64)), "--lang", "zh"]) == 0
    out = capsys.readouterr().out
    words = [line for line in out.splitlines() if line.strip() and not re.search(r"[\u4e00-\u9fff]", line)]
    assert words == []
    assert not [line for line in out.splitlines() if line != line.rstrip()]

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agent.cli.main import run
from agent.profile.reading import read_profiles
from agent.profile.running import HARNESS, PROFILERS, find_missing, run_profiler
from indexer.errors import ToolchainError
from indexer.messages import render

KERNEL = """
from pathlib import Path

def make_inputs(seed):
    return (seed,)

def run(seed):
    Path(__file__).with_name("ran").open("a").write("x")
"""
# Stand for a device's torch and its profiler: our own programs, which do what the real ones are started for.
TORCH = "class Tensor: ...\nclass cuda:\n    synchronize = staticmethod(lambda: None)\n"
PROFILER = """#!{python}
import subprocess, sys
from pathlib import Path
words = sys.argv[1:]
out = words[words.index("--log-file") + 1]
at = next(i for i, word in enumerate(words) if word == sys.executable or word.endswith("python"))
code = subprocess.run(words[at:], env={{"PYTHONPATH": "{folder}"}}).returncode
Path(out).write_text(Path("{measured}").read_text())
sys.exit(code)
"""
MEASURED = Path(__file__).parent / "h200" / "raw" / "raw.ncu.csv"


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for profiler in PROFILERS:
        assert find_missing(profiler, tmp_path) == profiler.program
        tool = tmp_path / profiler.program
        tool.write_text("#!/bin/sh\n")
        tool.chmod(0o755)
        assert find_missing(profiler, tmp_path) == f"{tmp_path}/{profiler.nodes}"
        node = tmp_path / profiler.nodes.replace("[0-9]*", "0")
        node.touch()
        assert find_missing(profiler, tmp_path) == ""
        tool.unlink()
        node.unlink()


def test_a_profiler_that_is_not_here_says_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match="give the folder to --profile") as caught:
        run_profiler("msprof", tmp_path / "k.py", tmp_path / "out", sys.executable)
    assert render(caught.value.note, "en") != render(caught.value.note, "zh")


def test_the_kernels_inputs_run_under_the_profiler_and_what_it_wrote_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "k.py").write_text(KERNEL)
    (tmp_path / "torch.py").write_text(TORCH)
    tool = tmp_path / "ncu"
    tool.write_text(PROFILER.format(python=sys.executable, folder=tmp_path, measured=MEASURED))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "nvidia0").touch()
    run_profiler("ncu", tmp_path / "k.py", tmp_path / "out", sys.executable, devices=tmp_path)
    assert (tmp_path / "ran").read_text() == "xxx"
    assert {p.kernel for p in read_profiles(tmp_path / "out").kernels} == {"scale_rows", "mm"}
    (tmp_path / "k.py").write_text("raise SystemExit(3)")
    with pytest.raises(ToolchainError, match="ended with 3"):
        run_profiler("ncu", tmp_path / "k.py", tmp_path / "out", sys.executable, devices=tmp_path)
    assert HARNESS.is_file()


def test_a_profiler_needs_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.py").write_text(KERNEL)
    assert run(["diagnose", str(tmp_path / "k.py"), "--run-profiler", "ncu"]) == 2
    assert "--profile DIR" in capsys.readouterr().err

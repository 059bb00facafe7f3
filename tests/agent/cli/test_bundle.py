import json
from pathlib import Path

import pytest

from agent.cli.main import run

SUITE = Path(__file__).parents[3] / "bench" / "suite"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITONKB_HOME", str(tmp_path / "home"))


def test_make_writes_a_folder_that_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bundle"
    arguments = ["bundle", "make", str(SUITE / "add_relu.py"), "--target", "cuda:90", "--candidates", "8"]
    assert run([*arguments, "--out", str(out), "--json"]) == 0
    doc = json.loads(capsys.readouterr().out)
    assert doc["kernels"] == ["add_relu"]
    assert 0 < doc["candidates"] <= 16
    assert {p.name for p in out.iterdir()} == {"plan.json", "run.py", "kernels", "measure"}
    assert run(["bundle", "take", str(out)]) == 2
    assert "run.py" in capsys.readouterr().err
    assert run([*arguments, "--out", str(out)]) == 2
    assert "already holds a bundle" in capsys.readouterr().err


def test_two_kernels_of_one_name_are_not_mixed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(SUITE / "add_relu.py")
    assert run(["bundle", "make", file, file, "--target", "cuda:90", "--out", str(tmp_path / "bundle")]) == 2
    assert "add_relu" in capsys.readouterr().err


def test_a_device_of_another_form_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    arguments = ["bundle", "make", str(SUITE / "add_relu.py"), "--target", "cuda:90", "--out", str(out)]
    assert run([*arguments, "--device", "gpu0"]) == 2
    assert not out.exists()


def test_a_folder_without_a_bundle_is_no_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bundle", "take", str(tmp_path)]) == 2
    assert "bundle make" in capsys.readouterr().err

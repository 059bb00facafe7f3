"""Doctor tells what works, what does not, and how to get it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.cli.main import run
from agent.toolchain.doctor import CHECKS, Surroundings, check_disk, check_index, check_sandbox, check_toolchain
from agent.toolchain.provision import read_installed
from indexer.errors import SandboxError, StoreError, ToolchainError
from tests.without_landlock import run_without_landlock

NOWHERE = Surroundings(store=None, embedder=None)


@pytest.fixture
def _bare_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRITONKB_HOME", str(tmp_path))
    monkeypatch.delenv("TRITONKB_TOOLCHAIN_PYTHON", raising=False)


@pytest.mark.usefixtures("_bare_home")
def test_without_a_toolchain_doctor_exits_4_and_gives_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json"]) == ToolchainError.exit_code
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert len(checks) == len(CHECKS)
    assert checks["toolchain"]["ok"] is False
    assert checks["toolchain"]["fix"] == "tritonkb toolchain install ascend"
    assert all(set(check) == {"name", "ok", "detail", "fix"} for check in checks.values())
    assert all(check["fix"] for check in checks.values() if not check["ok"])


@pytest.mark.usefixtures("_bare_home")
def test_a_missing_index_is_essential_and_tells_how_to_build_it() -> None:
    check = check_index(NOWHERE)
    assert (check.ok, check.fix, check.exit_code) == (False, "tritonkb index build", StoreError.exit_code)


@pytest.mark.usefixtures("_bare_home")
def test_disk_space_is_looked_up_where_the_data_will_be(tmp_path: Path) -> None:
    check = check_disk(Surroundings(store=str(tmp_path / "not/yet/there"), embedder=None))
    assert check.detail.values["folder"] == tmp_path / "not/yet/there"


def test_without_any_sandbox_it_is_essential_and_missing() -> None:
    code = "from agent.toolchain.doctor import Surroundings, check_sandbox\n"
    code += "check = check_sandbox(Surroundings(store='', embedder=None))\nprint(check.ok, check.exit_code, check.fix)"
    told = run_without_landlock(code, "/nowhere").stdout
    assert told.startswith(f"False {SandboxError.exit_code}")
    assert "apt-get install bubblewrap" in told


def test_the_layers_in_force_are_shown() -> None:
    check = check_sandbox(NOWHERE)
    assert "no-network" in check.detail.values["layers"]


def test_the_sandbox_check_names_the_exit_code_that_a_command_would_give() -> None:
    check = check_sandbox(NOWHERE)
    assert check.exit_code == (0 if check.ok else SandboxError.exit_code)


@pytest.mark.toolchain
def test_the_installed_toolchain_is_as_pinned() -> None:
    assert check_toolchain(NOWHERE).ok


def test_a_half_made_environment_is_not_installed(tmp_path: Path) -> None:
    (tmp_path / "tritonkb.json").write_text("{")
    assert read_installed(tmp_path) is None

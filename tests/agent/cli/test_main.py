"""The door of the command line, by the commands it has and by a few that fail in every way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Annotated

import pytest
import typer

from agent.cli.commands import COMMANDS, Command
from agent.cli.main import run
from agent.cli.options import Session
from indexer.errors import BadInput, ModelError, SandboxError, StoreError, ToolchainError
from indexer.messages import message

SCRIPT = Path(sysconfig.get_path("scripts")) / "tritonkb"
ERRORS = {
    "input": BadInput,
    "store": StoreError,
    "toolchain": ToolchainError,
    "model": ModelError,
    "sandbox": SandboxError,
}


def fail(session: Session, way: str) -> int:
    """End in the way named."""
    if way in ERRORS:
        raise ERRORS[way]("cli.bad_config", path="p.toml", reason="r")
    if way == "full":
        Path("/dev/full").write_text("x")
    if way == "interrupt":
        session.output.way_on = message("cli.bad_config", path="resume.toml", reason="")
        os.kill(os.getpid(), signal.SIGINT)
    raise ZeroDivisionError("not our day")


def echo(
    session: Session,
    word: Annotated[str, typer.Argument(help="cli.store")] = "w",
    number: Annotated[int, typer.Option("--number", "-n", help="cli.store")] = 1,
) -> int:
    """Answer with everything that was given; print besides, as a library would."""
    print("noise from a library")
    document = {"word": word, "number": number, **session.settings.model_dump(), "verbose": session.verbose}
    session.output.progress(message("cli.interrupted"))
    session.output.answer(document, lambda console: console.print(f"[{word}] {number}"))
    return 1


TRIAL = (
    Command("fail", f"{__name__}:fail", "cli.summary"),
    Command("echo", f"{__name__}:echo", "cli.summary", ("target", "embedder", "toolchain_python", "unsafe_no_sandbox")),
    Command("toolchain echo", f"{__name__}:echo", "cli.summary"),
)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [n for n in os.environ if n.startswith("TRITONKB_") or n in {"LC_ALL", "LC_MESSAGES"}]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("way", "code"),
    [("input", 2), ("store", 3), ("toolchain", 4), ("model", 5), ("sandbox", 6), ("full", 3), ("other", 1)],
)
def test_every_error_is_one_line_with_its_exit_code_and_no_traceback(
    capsys: pytest.CaptureFixture[str], way: str, code: int
) -> None:
    assert run(["fail", way], TRIAL) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1
    assert "Traceback" not in said.err


def test_an_error_with_json_is_a_document_too_in_the_language_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fail", "store", "--json", "--lang", "zh"], TRIAL) == 3
    said = capsys.readouterr()
    error = json.loads(said.out)["error"]
    assert error["exit_code"] == 3
    assert "不是合法的 TOML" in error["message"]
    assert error["message"] in said.err


def test_verbose_adds_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    run(["fail", "other", "-v"], TRIAL)
    said = capsys.readouterr()
    assert "ZeroDivisionError: not our day" in said.err
    assert "Traceback" in said.err


def test_a_full_disk_names_the_place_to_free(capsys: pytest.CaptureFixture[str]) -> None:
    run(["fail", "full"], TRIAL)
    assert "No space left on device" in capsys.readouterr().err


def test_an_interrupt_ends_with_130_and_the_way_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fail", "interrupt", "--json"], TRIAL) == 130
    said = capsys.readouterr()
    assert "resume.toml" in said.err
    assert json.loads(said.out)["error"]["exit_code"] == 130


def test_json_output_is_one_document_whatever_else_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["echo", "w", "--json", "-vv"], TRIAL) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["verbose"] == 2
    assert "noise" in said.err


def test_brackets_in_text_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    run(["echo", "w"], TRIAL)
    assert "[w] 1" in capsys.readouterr().out


def test_flags_win_over_the_environment_and_that_over_the_nearer_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config/tritonkb").mkdir(parents=True)
    (tmp_path / "config/tritonkb/tritonkb.toml").write_text('store = "far"\ntarget = "far"\nembedder = "far"\n')
    (tmp_path / "tritonkb.toml").write_text('target = "near"\nembedder = "near"\n')
    monkeypatch.setenv("TRITONKB_EMBEDDER", "env")
    run(["echo", "--json"], TRIAL)
    given = json.loads(capsys.readouterr().out)
    assert (given["store"], given["target"], given["embedder"]) == ("far", "near", "env")
    run(["echo", "--embedder", "flag", "--json"], TRIAL)
    assert json.loads(capsys.readouterr().out)["embedder"] == "flag"


def test_the_language_comes_from_the_flag_the_environment_the_file_or_the_locale(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def language(*arguments: str) -> str:
        run(["fail", "store", *arguments], TRIAL)
        return "zh" if "合法" in capsys.readouterr().err else "en"

    assert language() == "en"
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert language() == "zh"
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert language() == "en"
    (tmp_path / "tritonkb.toml").write_text('lang = "zh"')
    assert language() == "zh"
    monkeypatch.setenv("TRITONKB_LANG", "en")
    assert language() == "en"
    assert language("--lang=zh") == "zh"


@pytest.mark.parametrize(
    ("file", "part"), [("stor = 'x'", "stor"), ("store = 3", "3 is no usable"), ("not toml", "tritonkb.toml")]
)
def test_a_bad_configuration_file_is_named_and_exits_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, file: str, part: str
) -> None:
    (tmp_path / "tritonkb.toml").write_text(file)
    assert run(["echo"], TRIAL) == 2
    assert part in capsys.readouterr().err


@pytest.mark.parametrize("line", ["unsafe_no_sandbox = true", 'toolchain_python = "./python"'])
def test_a_file_of_the_working_folder_cannot_loosen_the_sandbox(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, line: str
) -> None:
    (tmp_path / "tritonkb.toml").write_text(line)
    assert run(["echo"], TRIAL) == 2
    assert "is refused" in capsys.readouterr().err
    (tmp_path / "config/tritonkb").mkdir(parents=True)
    (tmp_path / "tritonkb.toml").rename(tmp_path / "config/tritonkb/tritonkb.toml")
    assert run(["echo"], TRIAL) == 1


def test_the_toolchain_python_flag_reaches_the_compilers_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITONKB_TOOLCHAIN_PYTHON", "/old/python")
    run(["echo", "--toolchain-python", "/new/python"], TRIAL)
    assert os.environ["TRITONKB_TOOLCHAIN_PYTHON"] == "/new/python"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["ecoh"], "did you mean echo?"),
        (["toolchain", "ecco"], "did you mean echo?"),
        (["echo", "--numbre", "3"], "did you mean --number?"),
        (["echo", "--number", "three"], "--number"),
        (["fail"], "missing"),
        (["echo", "--lang", "fr"], "--lang"),
        (["echo", "a", "b"], "(b)"),
        (["--nothing"], "--nothing"),
    ],
)
def test_a_usage_error_exits_2_and_names_the_word(
    capsys: pytest.CaptureFixture[str], arguments: list[str], part: str
) -> None:
    assert run(arguments, TRIAL) == 2
    said = capsys.readouterr()
    assert part in said.err
    assert len(said.err.strip().splitlines()) == 1


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", ["", *(command.name for command in COMMANDS)])
def test_every_command_has_help_in_both_languages(capsys: pytest.CaptureFixture[str], name: str, lang: str) -> None:
    arguments = [*name.split(), "--help", "--lang", lang] if name else ["--lang", lang, "--help"]
    assert run(arguments) == 0
    shown = capsys.readouterr().out
    assert any("\u4e00" <= letter <= "\u9fff" for letter in shown) == (lang == "zh")


def test_no_command_shows_the_help_and_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert "doctor" in capsys.readouterr().out


def test_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tritonkb 0.")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from agent.cli.main import run; run(['--help']);"
        "print([m for m in ('torch', 'chromadb', 'triton', 'sentence_transformers', 'libcst', 'pydantic', 'rich')"
        " if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("arguments", ["--help", "toolchain remove", "toolchain remove --json"])
def test_a_closed_pipe_ends_quietly(tmp_path: Path, arguments: str) -> None:
    command = f"set -o pipefail; {SCRIPT} {arguments} | true"
    environment = {**os.environ, "TRITONKB_HOME": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""


def test_what_would_steer_a_terminal_is_shown_instead(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "a\x1b]0;title\x07\x1b[2J\x9b2Jz"
    assert run(["echo", evil], TRIAL) == 1
    out = capsys.readouterr().out
    assert not set(out) & {"\x1b", "\x07", "\x9b"}
    assert "\u241b[2J" in out
    assert run([evil], TRIAL) == 2
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "\u241b[2J" in err

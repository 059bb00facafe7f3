"""`tritonkb ask`: consent before a model, what is sent, and its exit codes."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.cli.main import run
from agent.llm import endpoint as llm
from tests.asked import build_asked
from tests.chat_server import Asked, Said, chat_server, fail, say

QUESTION = "How many rows does a bank hold?"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_asked(tmp_path_factory.mktemp("ask") / "index")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(llm, "WAITS", (0.01,))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-consent-is-not-here")
    monkeypatch.chdir(tmp_path)


def good(asked: Asked) -> Said:
    if "\nClaims:\n" in asked.user:
        return say({"verdicts": [{"claim": 1, "supported": True, "reason": ""}]})
    names = [line.split()[2] for line in asked.user.splitlines() if "begins: doc" in line and "/en/planner" in line]
    return say({"claims": [{"text": "A bank holds sixteen rows.", "passages": names}]})


def test_an_answer_names_file_and_line(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ask", QUESTION, "--store", str(store)]) == 0
    shown = capsys.readouterr()
    assert "A bank holds sixteen rows." in shown.out
    assert "docs/en/planner.md:10-11" in shown.out
    assert shown.err == ""


def test_a_key_in_the_environment_is_no_consent(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with chat_server(good) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert run(["ask", QUESTION, "--store", str(store)]) == 0
    assert server.asked == []


def test_the_first_line_says_where_what_goes(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with chat_server(good) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert run(["ask", QUESTION, "--store", str(store), "--model", "toy", "--json"]) == 0
    shown = capsys.readouterr()
    first = shown.err.splitlines()[0]
    assert first.startswith(f"sending to {server.url}, model toy: the question and ")
    assert "passages" in first
    doc = json.loads(shown.out)
    assert (doc["mode"], doc["answered"]) == ("model", True)
    assert set(doc) >= {"question", "answer", "mode", "claims", "rejected_claims", "hits"}
    assert all(asked.body["model"] == "toy" for asked in server.asked)


def test_the_environment_may_name_the_model_a_strangers_folder_may_not(
    store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with chat_server(good) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        (tmp_path / "tritonkb.toml").write_text('model = "theirs"\n', encoding="utf-8")
        assert run(["ask", QUESTION, "--store", str(store)]) == 2
        assert "model" in capsys.readouterr().err
        assert server.asked == []
        (tmp_path / "tritonkb.toml").unlink()
        monkeypatch.setenv("TRITONKB_MODEL", "mine")
        assert run(["ask", QUESTION, "--store", str(store)]) == 0
    assert server.asked[0].body["model"] == "mine"


def test_a_dry_run_prints_the_prompt_and_sends_nothing(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with chat_server(good) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert run(["ask", QUESTION, "--store", str(store), "--model", "toy", "--dry-run", "--json"]) == 0
        would = json.loads(capsys.readouterr().out)
        assert server.asked == []
        assert run(["ask", QUESTION, "--store", str(store), "--model", "toy"]) == 0
    assert would["sent"] is False
    assert [m["content"] for m in server.asked[0].body["messages"]] == [would["system"], would["user"]]


def test_a_question_that_is_declined_is_not_sent(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with chat_server(good) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert run(["ask", "How is the weather in Berlin?", "--store", str(store), "--model", "toy"]) == 1
    assert server.asked == []


@pytest.mark.parametrize("answer", [lambda _: fail(500, "broken"), lambda _: fail(401, "who?")])
def test_an_endpoint_that_fails_is_exit_code_5(
    answer: Callable[[Asked], Said], store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with chat_server(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert run(["ask", QUESTION, "--store", str(store), "--model", "toy"]) == 5
    assert "sk-consent" not in capsys.readouterr().err


def test_a_record_replays_without_the_endpoint(
    store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = str(tmp_path / "record.jsonl")
    common = ["ask", QUESTION, "--store", str(store), "--model", "toy", "--json"]
    with chat_server(good) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert run([*common, "--record", record]) == 0
    first = json.loads(capsys.readouterr().out)
    assert run([*common, "--replay", record]) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert run(["ask", QUESTION, "--store", str(store), "--replay", record]) == 2


def test_a_question_from_stdin(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("row-copies 默认是多少？\n".encode())))
    assert run(["ask", "-", "--store", str(store)]) == 0
    assert "默认 4" in capsys.readouterr().out

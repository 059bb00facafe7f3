"""Whole runs with a model over HTTP: what it proposes is tried like any other, paid for once, and survives kills."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.cli.main import run
from agent.contract import OptimizeDoc
from agent.knowledge import CorpusSpec, build, parse_spec
from tests.agent.test_loop import KERNEL
from tests.chat_server import Asked, ChatServer, Said, chat_server, fail, stream

pytestmark = [pytest.mark.toolchain, pytest.mark.slow]

KEY = "sk-not-to-be-seen"
KILLS = 20
SECONDS = 120.0
# Things to compute beside the comparison that a rule knows: the model takes them out one by one.
WORK = "    x = tl.exp(tl.log(tl.abs(x) + 1.0)) - 1.0\n"
SLOW = KERNEL.replace("    tl.store(", f"{WORK}    tl.store(").replace("return x * 3.0", "return torch.abs(x) * 3.0")


def script(asked: Asked) -> Said:
    """A model that searches, then takes the detour through the logarithm out, then gives up."""
    turns = asked.body["messages"]
    if len(turns) == 2:
        return stream({"action": "search", "query": "exp2 vexp vmul multiplication constants"})
    found = re.search(r"(P\d+): note of notes, exp2_trick", str(turns[-1]["content"]))
    if len(turns) == 4 and WORK.strip() in str(turns[1]["content"]) and found is not None:
        claim = {
            "passage": found[1], "quote": "The two constants are not combined.", "gone": False, "cost": "lower",
            "change": "drop the exp of a logarithm: hivm.hir.vexp and hivm.hir.vmul in front of it",
            "condition": "a multiplication and exp are one operation each, and two constants are not combined",
        }  # fmt: skip
        block = {"search": WORK.strip(), "replace": "x = tl.abs(x)"}
        return stream({"thought": "a detour", "action": "edit", "blocks": [block], "claim": claim})
    return stream({"action": "give_up", "thought": "nothing is left"})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index of our notes, the kernel, and the exchanges of no run yet."""
    folder = tmp_path_factory.mktemp("home")
    notes: list[CorpusSpec] = [parse_spec("notes")]
    build(folder / "kb", notes, "hash", lambda *_: None)
    (folder / "slow.py").write_text(SLOW, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with chat_server(script) as running:
        yield running


def told(doc: dict[str, Any]) -> dict[str, Any]:
    """What must be the same in two runs: all but times, folders and addresses."""
    rounds = [{k: v for k, v in entry.items() if k != "seconds"} for entry in doc["rounds"]]
    best = {k: v for k, v in doc["best"].items() if k != "file"}
    kept = {k: v for k, v in doc.items() if k not in {"seconds", "out", "rounds", "best", "model"}}
    return json.loads(
        re.sub(r'"seconds": [\d.e-]+', '"seconds": 0', json.dumps({**kept, "rounds": rounds, "best": best}))
    )  # type: ignore[no-any-return]


def arguments(home: Path, folder: Path, *more: str) -> list[str]:
    return [
        "optimize",
        str(home / "slow.py"),
        "--store",
        str(home / "kb"),
        "--model",
        "toy",
        "--json",
        *more,
        str(folder),
    ]


def test_a_run_with_a_model_keeps_what_is_right_and_tells_what_it_took(
    home: Path, server: ChatServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.asked.clear()
    assert run(arguments(home, home / "run", "--rounds", "2", "--out")) == 0
    out, err = capsys.readouterr()
    doc = OptimizeDoc.model_validate_json(out)
    first = err.splitlines()[0]
    assert server.url in first
    assert "toy" in first
    assert KEY not in err + out + "".join(p.read_text(encoding="utf-8") for p in (home / "run").glob("*.json*"))
    kept = [r for r in doc.rounds if r.verdict == "kept"]
    assert {r.rewrite.author for r in kept if r.rewrite is not None} == {"rule", "model"}
    mine = next(r for r in kept if r.rewrite is not None and r.rewrite.author == "model")
    assert mine.rewrite is not None
    assert mine.rewrite.supported
    assert mine.rewrite.citations[0] in {p.id for p in doc.passages}
    assert [part.verdict for part in mine.rewrite.expected] == ["realised"]
    assert mine.model is not None
    assert [done.action for done in mine.model.actions] == ["search", "edit"]
    assert doc.tokens.requests == len(server.asked) == 4
    assert doc.model is not None
    assert Path(doc.model.exchanges).read_text(encoding="utf-8").count("\n") == 4


def test_a_run_whose_journal_is_lost_replays_its_exchanges_and_a_record_answers_for_the_endpoint(
    home: Path, server: ChatServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    docs = []
    for more in ([], [], ["--replay", str(home / "first" / "exchanges.jsonl")]):
        (home / "kb" / "lessons.jsonl").unlink(missing_ok=True)
        folder = home / ("replayed" if more else "first")
        (folder / "journal.jsonl").unlink(missing_ok=True)
        if not docs:
            server.asked.clear()
        assert run(arguments(home, folder, "--rounds", "2", *more, "--out")) == 0
        docs.append(told(json.loads(capsys.readouterr().out)))
        assert len(server.asked) == 4
    assert docs[0] == docs[1] == docs[2]


def test_without_a_model_nothing_is_sent_and_a_dry_run_sends_nothing(
    home: Path, server: ChatServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.asked.clear()
    words = [w for w in arguments(home, home / "dry", "--dry-run", "--out") if w not in {"--model", "toy"}]
    assert run(words) == 2
    assert "--model" in capsys.readouterr().err
    assert run(arguments(home, home / "dry", "--dry-run", "--out")) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["sent"] is False
    assert WORK in shown["user"]
    assert server.asked == []
    assert not (home / "dry").exists()


def test_an_endpoint_that_fails_at_once_is_exit_5_and_one_that_fails_later_leaves_the_rest_to_rules(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.llm.endpoint.PATIENT_WAITS", (0.01,))
    with chat_server(lambda _: fail(401, "who?")) as refusing:
        monkeypatch.setenv("OPENAI_BASE_URL", refusing.url)
        assert run(arguments(home, home / "refused", "--out")) == 5
        assert "401" in capsys.readouterr().err

    def breaks(asked: Asked) -> Said:
        first = len(asked.body["messages"]) == 2 and len(breaking.asked) == 1
        return script(asked) if first else fail(503, "gone")

    with chat_server(breaks) as breaking:
        monkeypatch.setenv("OPENAI_BASE_URL", breaking.url)
        assert run(arguments(home, home / "broken", "--out")) == 0
    doc = OptimizeDoc.model_validate_json(capsys.readouterr().out)
    assert doc.model is not None
    assert "503" in doc.model.left
    assert [r.model.ended for r in doc.rounds if r.model is not None] == ["failed", "failed"]
    assert doc.best.round > 0

    # When it is there again, the run goes on with it.
    with chat_server(script) as back:
        monkeypatch.setenv("OPENAI_BASE_URL", back.url)
        assert run(arguments(home, home / "broken", "--resume")) == 0
    again = OptimizeDoc.model_validate_json(capsys.readouterr().out)
    assert again.rounds[: len(doc.rounds)] == doc.rounds
    assert [r.rewrite.author for r in again.rounds if r.verdict == "kept" and r.rewrite is not None][-1] == "model"


# --- kills --------------------------------------------------------------------------------------------------------


def started(home: Path, folder: Path, url: str) -> subprocess.Popen[bytes]:
    resumes = (folder / "journal.jsonl").exists()
    command = [
        str(Path(sys.executable).with_name("tritonkb")),
        *arguments(home, folder, "--resume" if resumes else "--out"),
    ]
    environment = {**os.environ, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY}
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, start_new_session=True
    )


def finish(home: Path, folder: Path, url: str) -> dict[str, Any]:
    process = started(home, folder, url)
    _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, said.decode()
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def recorded(folder: Path) -> set[str]:
    """The requests whose answers are on the disk, as the server saw them."""
    path = folder / "exchanges.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    requests = [json.loads(line)["request"] for line in lines]
    return {sent(r["system"], r["user"], [t["text"] for t in r["turns"]]) for r in requests}


def sent(*parts: object) -> str:
    return json.dumps(parts, ensure_ascii=False)


def as_recorded(asked: Asked) -> str:
    system, user, *turns = (m["content"] for m in asked.body["messages"])
    return sent(system, user, turns)


@pytest.mark.timeout(1800)
def test_kills_at_random_moments_change_no_result_and_pay_nothing_twice(home: Path, server: ChatServer) -> None:
    began = time.monotonic()
    calm = finish(home, home / "calm", server.url)
    whole = time.monotonic() - began
    (home / "kb" / "lessons.jsonl").unlink()
    chance = random.Random(7)  # noqa: S311 - moments to kill at
    killed = 0
    for number in range(KILLS):
        folder = home / f"killed{number}"
        server.asked.clear()
        process = started(home, folder, server.url)
        try:
            process.wait(chance.uniform(0.2, 1.0) * whole)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        process.communicate()
        paid = recorded(folder)
        server.asked.clear()
        result = finish(home, folder, server.url)
        assert told(result) == told(calm), number
        assert not paid & {as_recorded(asked) for asked in server.asked}, number
        (home / "kb" / "lessons.jsonl").unlink(missing_ok=True)
    assert killed >= KILLS // 2

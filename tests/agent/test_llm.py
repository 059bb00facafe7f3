"""The client of a language model: forms, retries, budgets, records, and what the endpoint does wrong."""

import json
import time
from pathlib import Path

import pytest
from pydantic import BaseModel

from agent.llm import endpoint as llm
from agent.llm.chat import Budget, Chat, Given, Unusable
from agent.llm.endpoint import Endpoint, open_endpoint
from agent.llm.record import Recording, Replay
from indexer.errors import BadInput, ModelError
from tests.chat_server import ChatServer, Said, chat_server, completion, fail, in_turn, say

KEY = "sk-not-to-be-seen"


class Point(BaseModel):
    x: int
    label: str = ""


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "WAITS", (0.01, 0.02))


def chat(server: ChatServer, **budget: float) -> Chat:
    return Chat(Endpoint(server.url, KEY), "toy", Budget(**budget))  # type: ignore[arg-type]


def ask(talk: Chat) -> Given[Point] | Unusable:
    return talk.ask(talk.request("Say a point.", "Which?", Point), Point)


def test_an_answer_of_the_form_is_given() -> None:
    with chat_server(in_turn(say({"x": 3, "label": "点"}))) as server:
        assert ask(talk := chat(server)) == Given(Point(x=3, label="点"))
    schema = server.asked[0].body["response_format"]["json_schema"]
    assert schema["strict"]
    assert schema["schema"]["required"] == ["x", "label"]
    assert schema["schema"]["additionalProperties"] is False
    assert talk.budget.spent == 15
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "text", ['Sure!\n```json\n{"x": 3}\n```', '<think>{"y": 1} hm {</think> {"x": 3} done', '{"note": {}} {"x": "3"}']
)
def test_json_is_found_in_prose(text: str) -> None:
    with chat_server(in_turn(say(text))) as server:
        assert ask(chat(server)) == Given(Point(x=3))


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_server_without_schemas_is_asked_more_plainly_and_remembered(status: int) -> None:
    def script(asked: object) -> Said:
        known = asked.form in {"json_object", "text"}  # type: ignore[attr-defined]
        return say({"x": 1}) if known else fail(status, "response_format must be text or json_object")

    with chat_server(script) as server:
        talk = chat(server)
        assert ask(talk) == Given(Point(x=1))
        assert ask(talk) == Given(Point(x=1))
    assert [a.form for a in server.asked] == ["json_schema", "json_object", "json_object"]


def test_parameters_that_a_model_refuses_are_left_out() -> None:
    def script(asked: object) -> Said:
        body = asked.body  # type: ignore[attr-defined]
        for name in ("temperature", "max_tokens"):
            if name in body:
                return fail(400, f"Unsupported parameter: '{name}'")
        return say({"x": body["max_completion_tokens"]})

    with chat_server(script) as server:
        assert ask(chat(server, answer_tokens=7)) == Given(Point(x=7))


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_endpoint_is_asked_again(status: int) -> None:
    with chat_server(in_turn(fail(status, "busy"), fail(status, "busy"), say({"x": 1}))) as server:
        assert ask(chat(server)) == Given(Point(x=1))
    assert len(server.asked) == 3


def test_the_wait_that_a_server_asks_for_is_kept() -> None:
    with chat_server(in_turn(fail(429, "busy", retry_after="0.3"), say({"x": 1}))) as server:
        began = time.monotonic()
        ask(chat(server))
        assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        (fail(429, "slow down"), "llm.busy"), (fail(500, "broken"), "llm.busy"), (fail(401, "who?"), "llm.not_allowed"),
        (fail(404, "no model toy"), "llm.rejected"), (fail(400, "context too long"), "llm.rejected"),
        (Said("<html>hello</html>", 200, {"content-type": "text/html"}), "llm.not_openai"),
        (Said("{}"), "llm.not_openai"),
        (Said("{oops"), "llm.not_openai"),
    ],
)  # fmt: skip
def test_an_endpoint_that_fails_is_an_error_of_the_model(answer: Said, key: str) -> None:
    with chat_server(in_turn(answer)) as server, pytest.raises(ModelError) as caught:
        ask(chat(server))
    assert caught.value.note.key == key
    assert caught.value.exit_code == 5
    assert KEY not in str(caught.value)


def test_nobody_listening_is_told_with_the_address() -> None:
    with chat_server(in_turn(say({}))) as server:
        pass
    with pytest.raises(ModelError, match=r"cannot reach http://127\.0\.0\.1:\d+/v1"):
        ask(chat(server))


def test_a_late_answer_ends_at_the_budget() -> None:
    with chat_server(in_turn(Said(completion("{}"), delay=1.0))) as server:
        began = time.monotonic()
        with pytest.raises(ModelError, match="did not answer within"):
            ask(chat(server, seconds=0.3))
        assert time.monotonic() - began < 0.9


def test_more_tokens_than_the_budget_are_not_asked_for() -> None:
    with chat_server(in_turn(say({"x": 1}))) as server, pytest.raises(ModelError, match="budget of 100 tokens"):
        ask(chat(server, tokens=100))
    assert server.asked == []


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        (Said(completion(None, refusal="I cannot.")), "llm.refusal"), (say("", "content_filter"), "llm.refusal"),
        (say('{"x": 1', "length"), "llm.cut_off"), (say("no"), "llm.no_json"), (say({"y": 1}), "llm.no_json"),
        (Said(completion(None)), "llm.no_json"), (say('{"a":' * 5_000), "llm.no_json"),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_a_result(answer: Said, key: str) -> None:
    with chat_server(in_turn(answer)) as server:
        got = ask(chat(server))
    assert isinstance(got, Unusable)
    assert got.reason.key == key
    assert len(server.asked) == (1 if key == "llm.refusal" else 2)


def test_a_cut_answer_is_asked_for_again_with_more_room() -> None:
    with chat_server(in_turn(say('{"x": 1', "length"), say({"x": 1}))) as server:
        assert ask(chat(server, answer_tokens=50)) == Given(Point(x=1))
    assert [a.body["max_tokens"] for a in server.asked] == [50, 100]


def test_a_record_holds_no_key_and_answers_like_the_server(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    with chat_server(in_turn(fail(422, "no schema"), say("nothing"), say({"x": 4}))) as server:
        first = ask(Chat(Recording(Endpoint(server.url, KEY), record), "toy"))
    assert KEY not in record.read_text(encoding="utf-8")
    assert [json.loads(line)["answer"] for line in record.read_text(encoding="utf-8").splitlines()] == [
        "Refused", "Reply", "Reply",
    ]  # fmt: skip
    assert ask(Chat(Replay(record), "toy")) == first == Given(Point(x=4))
    with pytest.raises(ModelError, match="not in the record"):
        ask(Chat(Replay(record), "other"))


def test_a_record_that_is_none_is_the_users_to_correct(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("{}\n", encoding="utf-8")
    for path in (tmp_path / "x", tmp_path / "none"):
        with pytest.raises(BadInput):
            Replay(path)


def test_the_endpoint_is_that_of_the_environment_and_shows_no_secret() -> None:
    endpoint = open_endpoint({"OPENAI_BASE_URL": "http://me:secret@host:1/v1?token=1", "OPENAI_API_KEY": KEY})
    assert endpoint.shown == "http://host:1/v1"
    assert KEY not in repr(endpoint)
    assert open_endpoint({"OPENAI_API_KEY": KEY}).shown == llm.DEFAULT_URL
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        open_endpoint({})
    for wrong in ("host:1", "ftp://host", "http://"):
        with pytest.raises(BadInput, match="OPENAI_BASE_URL"):
            open_endpoint({"OPENAI_BASE_URL": wrong})

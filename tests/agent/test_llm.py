"""The client of a language model: forms, retries, budgets, records, and what the endpoint does wrong."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from agent.llm import endpoint as llm
from agent.llm.chat import Budget, Chat, Given, Unusable
from agent.llm.endpoint import Endpoint, open_endpoint
from agent.llm.record import Ledger, Recording, Replay
from agent.llm.records import Turn
from indexer.errors import BadInput, ModelError, StoreError
from tests.chat_server import ChatServer, Said, chat_server, completion, fail, in_turn, say, stream

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


@pytest.mark.parametrize("answer", [say('{"x": 1, "label": "\\ud800"}'), say('{"x": 1, "label": "\ud800"}')])
def test_half_a_character_can_be_written_down(answer: Said, tmp_path: Path) -> None:
    with chat_server(in_turn(answer)) as server:
        assert ask(Chat(Recording(Endpoint(server.url, KEY), tmp_path / "x.jsonl"), "toy")) == Given(
            Point(x=1, label="?")
        )


def watched(server: ChatServer, **budget: float) -> tuple[Chat, list[int]]:
    seen: list[int] = []
    return Chat(Endpoint(server.url, KEY, seen.append), "toy", Budget(**budget)), seen  # type: ignore[arg-type]


def test_a_streamed_answer_is_told_of_while_it_comes_and_its_tokens_are_counted() -> None:
    with chat_server(in_turn(stream({"x": 3, "label": "in pieces"}))) as server:
        talk, seen = watched(server)
        assert ask(talk) == Given(Point(x=3, label="in pieces"))
    assert seen == sorted(seen)
    assert len(seen) > 2
    assert (talk.budget.prompt, talk.budget.completion, talk.budget.requests) == (10, 5, 1)
    assert server.asked[0].body["stream_options"] == {"include_usage": True}


def test_a_server_that_does_not_stream_is_read_all_the_same() -> None:
    with chat_server(in_turn(say({"x": 3}))) as server:
        assert ask(watched(server)[0]) == Given(Point(x=3))


@pytest.mark.parametrize("name", ["stream_options", "stream"])
def test_a_server_that_knows_no_streams_is_asked_without(name: str) -> None:
    def script(asked: object) -> Said:
        known = name not in asked.body  # type: ignore[attr-defined]
        return say({"x": 3}) if known else fail(400, f"unknown parameter {name}")

    with chat_server(script) as server:
        assert ask(watched(server)[0]) == Given(Point(x=3))
    assert len(server.asked) <= 3


def test_a_stream_that_breaks_off_was_cut_and_is_asked_for_again() -> None:
    with chat_server(in_turn(stream({"x": 31, "label": "long"}, ends=False), stream({"x": 3}))) as server:
        assert ask(watched(server)[0]) == Given(Point(x=3))


def test_a_conversation_is_sent_whole_and_has_its_own_place_in_a_record(tmp_path: Path) -> None:
    turns = (Turn("assistant", '{"x": 1}'), Turn("user", "Another."))
    record = tmp_path / "record.jsonl"
    with chat_server(in_turn(say({"x": 1}), say({"x": 2}))) as server:
        talk = Chat(Recording(Endpoint(server.url, KEY), record), "toy")
        request = talk.request("Say a point.", "Which?", Point)
        talk.ask(request, Point)
        talk.ask(replace(request, turns=turns), Point)
    assert [m["role"] for m in server.asked[1].body["messages"]] == ["system", "user", "assistant", "user"]
    again = Chat(Replay(record), "toy")
    assert again.ask(replace(request, turns=turns), Point) == Given(Point(x=2))
    assert again.ask(request, Point) == Given(Point(x=1))


def test_a_request_longer_than_the_model_reads_is_not_tried_in_every_form() -> None:
    said = fail(400, "request (20031 tokens) exceeds the available context size (8192 tokens)")
    with chat_server(in_turn(said)) as server, pytest.raises(ModelError, match="context size"):
        ask(chat(server))
    assert len(server.asked) == 1


def test_a_ledger_asks_for_nothing_that_it_holds_and_forgets_a_cut_line(tmp_path: Path) -> None:
    path = tmp_path / "exchanges.jsonl"
    with chat_server(in_turn(fail(422, "no schema"), say({"x": 1}), say({"x": 2}))) as server:
        endpoint = Endpoint(server.url, KEY)
        first = ask(Chat(Ledger(endpoint, path), "toy"))
        path.write_bytes(path.read_bytes() + b'{"request": {"mod')
        ledger = Ledger(endpoint, path)
        talk = Chat(ledger, "toy", form=ledger.form)
        assert ask(talk) == first == Given(Point(x=1))
        assert len(server.asked) == 2
        assert ask(talk) == Given(Point(x=2))
    assert KEY not in path.read_text(encoding="utf-8")
    assert len(path.read_text(encoding="utf-8").splitlines()) == 3


def test_a_ledger_that_cannot_be_written_is_told_before_the_answer_is_used(tmp_path: Path) -> None:
    with (
        chat_server(in_turn(say({"x": 1}))) as server,
        pytest.raises(StoreError, match="No such file or directory"),
    ):
        ask(Chat(Recording(Endpoint(server.url, KEY), tmp_path / "none" / "x.jsonl"), "toy"))

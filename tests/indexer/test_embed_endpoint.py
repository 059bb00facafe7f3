"""Endpoints, each a real HTTP server here that answers as OpenAI's does, with the hash embedder behind it."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.cli.main import run
from indexer.build import build_index
from indexer.embed import HashEmbedder, load_embedder
from indexer.embedders.endpoint import EndpointEmbedder
from indexer.errors import BadInput, ModelError, StoreError
from retriever.records import Query
from retriever.search import open_knowledge_base
from tests.conftest import notes_job

KEY = "sk-secret-of-the-test"
CARDS = {f"card{n}.md": f"# Card {n}\n\nThe pad number {n} is folded into row {n}.\n" for n in range(12)}


class Endpoint(ThreadingHTTPServer):
    """Says what it was asked; `failures` are answered first, then at most `at_once` texts of `longest` characters."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.asked: list[tuple[str, list[str]]] = []
        self.failures: list[int] = []
        self.at_once, self.longest, self.good_for = 1000, 100_000, 1000
        self.spoiled: Any = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def texts(self) -> list[str]:
        return [text for _, texts in self.asked for text in texts if text != "dimension"]


class _Answer(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = body["input"]
        status = self._refusal(texts)
        if status:
            self._send(status, {"error": {"message": f"refused with {status}"}})
            return
        self.server.asked.append((self.headers["Authorization"], texts))
        rows = [
            {"object": "embedding", "index": i, "embedding": v.tolist()}
            for i, v in enumerate(HashEmbedder().embed(texts))
        ]
        # In another order: the index counts.
        answer = {
            "object": "list",
            "model": body["model"],
            "data": rows[::-1],
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }
        self._send(200, self.server.spoiled or answer)

    def _refusal(self, texts: list[str]) -> int | None:
        if self.server.failures:
            return self.server.failures.pop(0)
        if self.path != "/v1/embeddings":
            return 404
        if len(texts) > self.server.at_once or max(map(len, texts)) > self.server.longest:
            return 400
        return 401 if len(self.server.texts) >= self.server.good_for else None

    def _send(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("retry-after-ms", "5")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def embedder(endpoint: Endpoint) -> EndpointEmbedder:
    return EndpointEmbedder(f"any/model:1@{endpoint.url}")


def test_vectors_come_in_the_order_asked_and_the_dimension_is_found(endpoint: Endpoint) -> None:
    texts = [f"pad {n}" for n in range(300)] + [""]
    vectors = embedder(endpoint).embed(texts)
    assert np.allclose(vectors, HashEmbedder().embed(texts), atol=1e-6)
    assert endpoint.texts == texts[:-1], "an empty text is not sent"
    assert {key for key, _ in endpoint.asked} == {f"Bearer {KEY}"}
    assert max(len(texts) for _, texts in endpoint.asked) == 128


def test_a_busy_server_is_asked_again(endpoint: Endpoint) -> None:
    endpoint.failures = [429, 500, 503]
    assert np.allclose(embedder(endpoint).embed_question("a pad"), HashEmbedder().embed(["a pad"])[0], atol=1e-6)


def test_a_server_that_takes_few_texts_gets_few(endpoint: Endpoint) -> None:
    endpoint.at_once = 10
    texts = [f"pad {n}" for n in range(30)]
    assert np.allclose(embedder(endpoint).embed(texts), HashEmbedder().embed(texts), atol=1e-6)
    assert endpoint.texts == texts


def test_a_text_too_long_for_the_model_is_shortened(endpoint: Endpoint) -> None:
    endpoint.longest = 600
    vectors = embedder(endpoint).embed(["pad " * 500, "row"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert [len(text) for text in endpoint.texts] == [500, 3]


@pytest.mark.parametrize("status", [401, 404, 400])
def test_a_refusal_is_told_with_address_and_reason_but_without_the_key(endpoint: Endpoint, status: int) -> None:
    endpoint.failures = [status]
    with pytest.raises(ModelError, match=f"{endpoint.url} failed for the model any/model:1: .*{status}") as caught:
        embedder(endpoint).embed_question("pad")
    assert KEY not in str(caught.value)
    assert caught.value.exit_code == 5


def test_a_server_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexer.embedders.endpoint.RETRIES", 0)
    with pytest.raises(ModelError, match="run the command again"):
        EndpointEmbedder("m@http://127.0.0.1:9/v1").embed(["a"])


@pytest.mark.parametrize(
    "data", [[], [{"index": 0, "embedding": []}], [{"index": 0, "embedding": [1.0, float("nan")]}]]
)
def test_an_answer_that_is_no_vector_is_refused(endpoint: Endpoint, data: list[object]) -> None:
    endpoint.spoiled = {"object": "list", "model": "m", "data": data}
    with pytest.raises(ModelError):
        embedder(endpoint).embed_question("pad")


@pytest.mark.parametrize("url", ["http://me:pass@host/v1", "https://host/v1?key=abc", "http:///v1"])
def test_an_address_that_holds_a_secret_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="OPENAI_API_KEY") as caught:
        EndpointEmbedder(f"m@{url}")
    assert "pass" not in str(caught.value)
    assert "abc" not in str(caught.value)


def test_the_address_comes_from_the_environment_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1/")
    assert EndpointEmbedder("m").model == "openai:m@http://127.0.0.1:8000/v1"


def test_a_build_that_an_endpoint_stopped_goes_on_where_it_was(tmp_path: Path, endpoint: Endpoint) -> None:
    made = embedder(endpoint)
    made.batch = 4
    endpoint.good_for = 5
    with pytest.raises(ModelError):
        build_index(tmp_path, [notes_job(CARDS)], made, lambda *_: None)
    endpoint.good_for = 1000
    report = build_index(tmp_path, [notes_job(CARDS)], made, lambda *_: None)
    assert 0 < report.embedded < len(CARDS)
    assert sorted(endpoint.texts) == sorted({*endpoint.texts}), "a text was sent twice"
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()], "the key was stored"


def test_a_build_tells_first_what_is_sent_where(
    tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRITONKB_EMBEDDER", "")  # the command sets it for its process
    (tmp_path / "card.md").write_text(CARDS["card0.md"])
    store, named = str(tmp_path / "store"), f"openai:any/model:1@{endpoint.url}"
    assert run(["index", "build", "--corpus", f"notes={tmp_path}", "--embedder", named, "--store", store]) == 0
    assert f"the texts of new passages are sent to {endpoint.url} (model any/model:1)" in capsys.readouterr().err
    load_embedder.cache_clear()


def test_a_question_is_sent_only_where_the_user_named_the_endpoint(
    tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = embedder(endpoint)
    build_index(tmp_path, [notes_job(CARDS)], made, lambda *_: None)
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    asked = len(endpoint.asked)
    for named in (None, "wordllama", f"openai:other@{endpoint.url}", "openai:any/model:1@http://127.0.0.1:9/v1"):
        monkeypatch.setenv("TRITONKB_EMBEDDER", named) if named else monkeypatch.delenv(
            "TRITONKB_EMBEDDER", raising=False
        )
        with pytest.raises(StoreError, match="questions would be sent there"):
            open_knowledge_base(tmp_path).search(Query("which pad is folded"))
    assert len(endpoint.asked) == asked
    for named in (made.model, "openai:any/model:1"):
        monkeypatch.setenv("TRITONKB_EMBEDDER", named)
        assert (
            open_knowledge_base(tmp_path).search(Query("which pad is folded into row 7"))[0].passage.path == "card7.md"
        )
    load_embedder.cache_clear()

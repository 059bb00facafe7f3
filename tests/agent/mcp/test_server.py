"""The server as an agent meets it, asked through the SDK's own client; in this process where it needs no other."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from agent.cli.main import run
from agent.mcp.reading import Reader
from agent.mcp.server import Serving, build_server

KERNELS = Path(__file__).parents[2] / "kernels" / "hosts"
TOKEN = "a-token-for-this-test-only"  # noqa: S105 - opens nothing but this test's server
COMMAND = [sys.executable, "-P", "-c", "from agent.cli.main import main; main()", "mcp"]
ENDLESS = "# before any triton kernel\nimport time\n\nwhile True:\n    time.sleep(0.1)\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "kernels"
    folder.mkdir()
    shutil.copy(KERNELS / "script.py", folder / "script.py")
    (folder / "endless.py").write_text(ENDLESS)
    (tmp_path / "secret.py").write_text("import triton\n")
    (folder / "out.py").symlink_to(tmp_path / "secret.py")
    return folder


def over_stdio(store: Path, root: Path, *options: str) -> Client:
    arguments = [*COMMAND[1:], "--store", str(store), "--root", str(root), *options]
    return Client(StdioServerParameters(command=COMMAND[0], args=arguments, env=dict(os.environ)))


def in_process(store: Path, root: Path, call_seconds: float = 600.0) -> Client:
    serving = Serving(root.resolve(), "en", call_seconds, passed_on=("--store", str(store), "--host-seconds", "200"))
    return Client(build_server(serving, Reader(store)))


def ask(client: Client, calls: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    async def talk() -> list[Any]:
        async with client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(talk)


def test_an_agent_searches_opens_a_citation_and_asks_about_a_pass(sample_store: Path, root: Path) -> None:
    async def talk() -> None:
        async with over_stdio(sample_store, root) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert tools == {"search", "passage", "explain_pass", "ask", "diagnose", "compile"}

            found = (await client.call_tool("search", {"text": "split columns", "limit": 3})).structured_content
            assert 0 < len(found["hits"]) <= 3
            passage = found["hits"][0]["passage"]

            opened = (await client.call_tool("passage", {"id": passage["id"]})).structured_content
            assert (opened["id"], opened["sha256"]) == (passage["id"], passage["sha256"])
            assert not opened["cut"]

            explained = (await client.call_tool("explain_pass", {"name": "toy-split-columns"})).structured_content
            assert explained["definition"]
            assert explained["implementation"]

            asked = (await client.call_tool("ask", {"question": "what does toy-split-columns do?"})).structured_content
            assert asked["answered"]
            assert all(claim["citations"] for claim in asked["claims"])
            assert all(hit["passage"]["characters"] >= len(hit["passage"]["text"]) for hit in asked["hits"])

    anyio.run(talk)


def test_what_cannot_be_answered_is_an_error_that_names_the_way_out(sample_store: Path, root: Path) -> None:
    (root / "notes.txt").write_text("import triton\n")
    (root / "plain.py").write_text("print(1)\n")
    results = ask(
        in_process(sample_store, root),
        [
            ("search", {}),
            ("search", {"text": "x", "limit": 1000}),
            ("passage", {"id": "no-id"}),
            ("explain_pass", {"name": "toy-splt-columns"}),
            ("diagnose", {"file": "../secret.py"}),
            ("diagnose", {"file": "out.py"}),
            ("diagnose", {"file": str(root.parent / "secret.py")}),
            ("compile", {"file": "notes.txt"}),
            ("diagnose", {"file": "plain.py"}),
            ("compile", {"file": "missing.py"}),
        ],
    )
    assert all(result.is_error for result in results)
    told = [result.content[0].text for result in results]
    assert "did you mean toy-split-columns" in told[3]
    assert all("not below" in text for text in told[4:7])
    assert "notes.txt is not a Python file" in told[7]
    assert "plain.py holds no kernel" in told[8]
    assert "script.py" in told[9]


def test_names_are_taken_as_they_are_written_on_a_command_line(sample_store: Path, root: Path) -> None:
    results = ask(
        in_process(sample_store, root),
        [
            ("search", {"passes": ["--toy-split-columns"]}),
            ("search", {"options": ["--enable-row-prefetch=false"]}),
            ("explain_pass", {"name": "-toy-split-columns"}),
            ("search", {"passes": ["", "--"]}),
            ("search", {"passes": [f"toy-{number}" for number in range(20_000)]}),
            ("passage", {"id": f"toy@{'0' * 12}:a.md#L{'9' * 5000}"}),
            ("passage", {"id": f"toy@{'0' * 12}:a.md#L{'9' * 4030}"}),
            ("passage", {"id": "x" * 1_000_000}),
            ("compile", {"file": "a\0b.py"}),
            ("compile", {"file": "script.py", "target": "t" * 200_000}),
        ],
    )
    assert [result.is_error for result in results] == [False, False, False, *[True] * 7]
    assert all(40 < len(result.content[0].text) < 10_000 for result in results[3:])  # tells why, and does not echo
    assert all(result.structured_content["hits"] for result in results[:2])


@pytest.mark.parametrize(
    "name", ["toy-split-columns", "SplitColumns", "SplitColumnsPass", "mlir::toy::createSplitColumnsPass()"]
)
def test_a_pass_may_be_called_by_its_class(sample_store: Path, name: str) -> None:
    explained = Reader(sample_store).explain_pass(name)
    assert explained["pass"] == "toy-split-columns"  # noqa: S105 - a compiler's
    assert explained["definition"]


def test_a_long_question_is_cut_and_the_answer_says_so(sample_store: Path, root: Path) -> None:
    long = "split columns " * 70_000
    calls = [("search", {"text": long}), ("ask", {"question": f"{long} 列？"})]
    found, asked = (result.structured_content for result in ask(in_process(sample_store, root), calls))
    assert "too long" in found["remarks"][0]
    assert found["hits"]
    assert "问题过长" in asked["remarks"][0]
    assert len(asked["question"]) <= 8_000
    assert asked["question"].endswith("列？")


def test_a_reading_tool_does_not_hold_up_the_others(sample_store: Path, root: Path) -> None:
    held, go_on = threading.Event(), threading.Event()

    class Slow(Reader):
        def passage(self, id_: str) -> dict[str, Any]:
            held.set()
            assert go_on.wait(20)
            return {"id": id_}

    async def talk() -> None:
        async with Client(server) as client, anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "passage", {"id": "slow"})
            while not held.is_set():  # noqa: ASYNC110 - another thread's state
                await anyio.sleep(0.01)
            assert (await client.call_tool("search", {"text": "split columns"})).structured_content["hits"]
            go_on.set()

    reader = Slow(sample_store)
    reader.warm_up()  # opened in this thread, and read in others
    server = build_server(Serving(root, "en", at_once=2), reader)
    anyio.run(talk)


def test_an_index_that_is_missing_is_told_and_found_once_it_is_built(
    sample_store: Path, root: Path, tmp_path: Path
) -> None:
    store = tmp_path / "later"

    async def talk() -> None:
        async with in_process(store, root) as client:
            first = await client.call_tool("search", {"text": "columns"})
            assert first.is_error
            assert "index build" in first.content[0].text
            shutil.copytree(sample_store, store)
            assert not (await client.call_tool("search", {"text": "columns"})).is_error

    anyio.run(talk)


@pytest.mark.toolchain
def test_a_diagnosis_reports_progress_and_answers_with_the_contract(sample_store: Path, root: Path) -> None:
    told: list[str] = []

    async def note(_done: float, _total: float | None, message: str | None) -> None:
        told.append(message or "")

    async def talk() -> Any:
        async with in_process(sample_store, root) as client:
            return await client.call_tool("diagnose", {"file": "script.py"}, progress_callback=note)

    result = anyio.run(talk)
    assert not result.is_error, result.content
    assert {"kernel", "ladder", "findings", "cost"} <= set(result.structured_content)
    assert any("diagnose" in text for text in told)


@pytest.mark.toolchain
def test_cancelling_a_call_ends_all_that_it_started(sample_store: Path, root: Path) -> None:
    async def talk() -> None:
        async with in_process(sample_store, root) as client:
            with anyio.move_on_after(120) as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(client.call_tool, "diagnose", {"file": "endless.py"})
                    while not _running("endless.py"):  # noqa: ASYNC110 - another process's state
                        await anyio.sleep(0.2)
                    group.cancel_scope.cancel()
            assert not scope.cancelled_caught
            with anyio.fail_after(60):
                while _running("endless.py"):  # noqa: ASYNC110 - another process's state
                    await anyio.sleep(0.2)
            assert not (await client.call_tool("search", {"text": "columns"})).is_error

    anyio.run(talk)


@pytest.mark.toolchain
def test_a_call_that_takes_too_long_is_ended(sample_store: Path, root: Path) -> None:
    (result,) = ask(in_process(sample_store, root, 3.0), [("diagnose", {"file": "endless.py"})])
    assert result.is_error
    assert "--call-seconds" in result.content[0].text
    assert not _running("endless.py")


@pytest.mark.toolchain
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_server_ended_by_a_signal_leaves_no_call_behind(
    sample_store: Path, root: Path, number: signal.Signals
) -> None:  # fmt: skip
    (root / "endless.py").rename(root / f"ended_{number.name}.py")
    call = {"name": "diagnose", "arguments": {"file": f"ended_{number.name}.py"}}
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    lines = [
        {"id": 1, "method": "initialize", "params": client}, {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]  # fmt: skip
    command = [*COMMAND, "--store", str(sample_store), "--root", str(root), "--host-seconds", "200"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        server.stdin.write("".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines).encode())
        server.stdin.flush()
        _until(lambda: bool(_running(f"ended_{number.name}.py")))
        server.send_signal(number)
        assert server.wait(10) == -number
        _until(lambda: not _running(f"ended_{number.name}.py"))


def test_a_client_that_closes_our_stdout_ends_the_server_without_a_word(sample_store: Path, root: Path) -> None:
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    command = [*COMMAND, "--store", str(sample_store), "--root", str(root)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None and server.stdout is not None and server.stderr is not None  # noqa: PT018
        for number in (1, 2):
            line = {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": client}
            server.stdin.write(json.dumps(line) + "\n")
            server.stdin.flush()
            if number == 1:
                server.stdout.readline()
                server.stdout.close()
        server.stdin.close()
        assert server.stderr.read() == ""
        assert server.wait(20) == 141


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)  # soon enough to end a server before its call has loaded anything


def _running(name: str) -> list[str]:
    """Return the command lines of processes that diagnose a file of this name."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        if name in line and "diagnose" in line:
            found.append(line)
    return found


@contextmanager
def over_http(store: Path, root: Path, *options: str, token: str = "") -> Iterator[str]:
    """Serve at a port of the system's choice and give the address."""
    environ = {**os.environ, "TRITONKB_MCP_TOKEN": token}
    server = subprocess.Popen(
        [*COMMAND, "--store", str(store), "--root", str(root), "--http", *options],
        env=environ, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stderr is not None
        line = server.stderr.readline()
        while line and "http://" not in line:
            line = server.stderr.readline()
        assert line, "the server told no address"
        yield next(word.rstrip(",") for word in line.split() if word.startswith("http://"))
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(60)
        finally:
            server.kill()


def status_of(address: str, **headers: str) -> int:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(address, body, {**given, **headers})  # noqa: S310 - our own server
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - our own server
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_http_answers_this_machine_refuses_other_origins_and_hosts_and_ends_at_ctrl_c(
    sample_store: Path, root: Path
) -> None:
    with over_http(sample_store, root, "0") as address:
        (found,) = ask(Client(address), [("search", {"text": "columns"})])
        assert found.structured_content["hits"]
        assert address.startswith("http://127.0.0.1:")
        assert status_of(address, Origin="http://evil.example") == 403
        assert status_of(address, Origin="http://localhost.evil.example:80") == 403
        assert status_of(address, Origin="null") == 403
        assert status_of(address, Host="evil.example") == 421
        for origin in ("http://localhost:3000", "https://localhost", "https://127.0.0.1:8443", "http://[::1]"):
            assert status_of(address, Origin=origin) not in {403, 421}
        assert status_of(address, Origin="chrome-extension://localhost") == 403


def test_http_beyond_this_machine_wants_a_token(
    sample_store: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["mcp", "--store", str(sample_store), "--root", str(root), "--http", "0.0.0.0:0"]) == 2
    assert "--token-file" in capsys.readouterr().err
    with over_http(sample_store, root, "0.0.0.0:0", token=TOKEN) as everywhere:
        address = everywhere.replace("0.0.0.0", "127.0.0.1")  # noqa: S104 - what was bound is what is tested
        assert status_of(address) == 401
        assert status_of(address, Authorization=f"Bearer {TOKEN}x") == 401
        assert status_of(address, Authorization=f"Bearer {TOKEN}", Origin="http://localhost:3000") == 403

        async def talk() -> Any:
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as web,
                Client(streamable_http_client(address, http_client=web)) as client,
            ):
                return await client.call_tool("search", {"text": "columns"})

        assert anyio.run(talk).structured_content["hits"]

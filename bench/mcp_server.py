"""Time the MCP server: what it adds to a warm query, and how it stands many clients at once.

    python bench/mcp_server.py --store DIR [--clients 16] [--seconds 60]

Starts `tritonkb mcp --http` on a free port and asks the questions of bench/questions in turn: first one client, beside
the same questions in this process; then many at once. Prints one JSON document, times in milliseconds. `added` is what
a call takes beyond the same query in process, question by question; it is to be at most 30 at the median. A call that
fails, ends its connection or finds nothing is an error, of which there are to be none; exit 1 where it is otherwise.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import anyio
from mcp import Client, MCPError

from retriever.records import Query
from retriever.search import open_knowledge_base

QUESTIONS = Path(__file__).parent / "questions" / "dev.jsonl"
COMMAND = [sys.executable, "-P", "-c", "from agent.cli.main import main; main()", "mcp", "--http", "0"]


ADDED_AT_MOST = 30.0


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--store", type=Path, required=True, help="folder of an index")
    options.add_argument("--clients", type=int, default=16)
    options.add_argument("--seconds", type=float, default=60.0)
    given = options.parse_args()
    questions = [json.loads(line)["question"] for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    index = open_knowledge_base(given.store)
    alone = timed(lambda text: index.search(Query(text)), questions)
    with serving(given.store) as address:
        one = anyio.run(ask_one, address, questions)
        many = anyio.run(ask_many, address, questions, given.clients, given.seconds)
    added = describe([call - query for call, query in zip(one.times, alone, strict=True)])
    errors = [*one.errors, *many.errors]
    document = {
        "in_process": describe(alone), "one_client": describe(one.times), "added": added,
        "many_clients": {"clients": given.clients, "seconds": given.seconds, **describe(many.times)},
        "errors": len(errors), "first_error": errors[0] if errors else None,
        "ok": not errors and added["p50"] <= ADDED_AT_MOST,
    }  # fmt: skip
    print(json.dumps(document, ensure_ascii=False, indent=1))
    sys.exit(0 if document["ok"] else 1)


@dataclass
class Called:
    """The milliseconds of each call that answered, and what went wrong with the others."""

    times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    async def call(self, client: Client, question: str) -> None:
        """Ask one question."""
        began = time.perf_counter()
        try:
            answer = await client.call_tool("search", {"text": question})
        except MCPError as error:
            self.errors.append(repr(error))
            return
        self.times.append(1000 * (time.perf_counter() - began))
        if answer.is_error or not (answer.structured_content or {}).get("hits"):
            self.errors.append(repr(answer.content)[:500])


def timed(ask: Callable[[str], object], questions: list[str]) -> list[float]:
    """Ask every question twice, and return the milliseconds of the second round."""
    times = []
    for question in [*questions, *questions]:
        began = time.perf_counter()
        ask(question)
        times.append(1000 * (time.perf_counter() - began))
    return times[len(questions) :]


async def ask_one(address: str, questions: list[str]) -> Called:
    """Ask as `timed` does, through one connection."""
    first, second = Called(), Called()
    async with Client(address) as client:
        for round_ in (first, second):
            for question in questions:
                await round_.call(client, question)
    return Called(second.times, first.errors + second.errors)


async def ask_many(address: str, questions: list[str], clients: int, seconds: float) -> Called:
    """Ask from many connections for so many seconds; one that ends early is an error."""
    called = Called()

    async def ask(first: int) -> None:
        until = time.monotonic() + seconds
        try:
            async with Client(address) as client:
                for question in cycle(questions[first:] + questions[:first]):
                    await called.call(client, question)
                    if time.monotonic() > until:
                        return
        except Exception as error:  # noqa: BLE001 - whatever ends a connection is what is counted
            called.errors.append(repr(error))

    async with anyio.create_task_group() as group:
        for number in range(clients):
            group.start_soon(ask, number % len(questions))
    return called


@contextmanager
def serving(store: Path) -> Iterator[str]:
    """Start the server and give its address."""
    server = subprocess.Popen([*COMMAND, "--store", str(store)], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None  # noqa: S101 - it was opened as a pipe
        address = ""
        while not address and (line := server.stderr.readline()):
            address = next((word.rstrip(",") for word in line.split() if word.startswith("http://")), "")
        if not address:
            sys.exit("the server told no address")
        # What else it says is passed on: a full pipe would hold it up.
        threading.Thread(target=sys.stderr.writelines, args=(server.stderr,), daemon=True).start()
        yield address
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


def describe(times: list[float]) -> dict[str, float]:
    """Return a row of the document."""
    cuts = statistics.quantiles(times, n=20)
    return {"n": len(times), "p50": round(statistics.median(times), 2), "p95": round(cuts[18], 2)}


if __name__ == "__main__":
    main()

"""Time the MCP server: what it adds to a warm query, and how it stands many clients at once.

    python bench/mcp.py --store DIR [--clients 16] [--seconds 60]

Starts `tritonkb mcp --http` on a free port and asks the questions of bench/questions in turn: first one client, beside
the same questions in this process; then many at once. Prints latencies in milliseconds and the number of errors.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import anyio
from mcp import Client

from retriever.records import Query
from retriever.search import open_knowledge_base

QUESTIONS = Path(__file__).parent / "questions" / "dev.jsonl"
COMMAND = [sys.executable, "-P", "-c", "from agent.cli.main import main; main()", "mcp", "--http", "0"]


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--store", type=Path, required=True, help="folder of an index")
    options.add_argument("--clients", type=int, default=16)
    options.add_argument("--seconds", type=float, default=60.0)
    given = options.parse_args()
    questions = [json.loads(line)["question"] for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    index = open_knowledge_base(given.store)
    show("in process", timed(lambda text: index.search(Query(text)), questions))
    with serving(given.store) as address:
        one, _ = anyio.run(ask_one, address, questions)
        show("one client", one)
        many, errors = anyio.run(ask_many, address, questions, given.clients, given.seconds)
        show(f"{given.clients} clients, {given.seconds:.0f} s", many)
        print(f"{len(many)} answers, {errors} errors")
    sys.exit(1 if errors else 0)


def timed(ask: Callable[[str], object], questions: list[str]) -> list[float]:
    """Ask every question twice, and return the milliseconds of the second round."""
    times = []
    for question in [*questions, *questions]:
        began = time.perf_counter()
        ask(question)
        times.append(1000 * (time.perf_counter() - began))
    return times[len(questions) :]


async def ask_one(address: str, questions: list[str]) -> tuple[list[float], int]:
    """Ask as `timed` does, through one connection."""
    times, errors = [], 0
    async with Client(address) as client:
        for question in [*questions, *questions]:
            began = time.perf_counter()
            answer = await client.call_tool("search", {"text": question})
            times.append(1000 * (time.perf_counter() - began))
            errors += answer.is_error
    return times[len(questions) :], errors


async def ask_many(address: str, questions: list[str], clients: int, seconds: float) -> tuple[list[float], int]:
    """Ask from many connections for so many seconds."""
    times: list[float] = []
    errors = 0

    async def ask(first: int) -> None:
        nonlocal errors
        until = time.monotonic() + seconds
        async with Client(address) as client:
            for question in cycle(questions[first:] + questions[:first]):
                began = time.perf_counter()
                answer = await client.call_tool("search", {"text": question})
                times.append(1000 * (time.perf_counter() - began))
                errors += answer.is_error
                if time.monotonic() > until:
                    return

    async with anyio.create_task_group() as group:
        for number in range(clients):
            group.start_soon(ask, number % len(questions))
    return times, errors


@contextmanager
def serving(store: Path) -> Iterator[str]:
    """Start the server and give its address."""
    server = subprocess.Popen(
        [*COMMAND, "--store", str(store)], stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    try:
        assert server.stderr is not None  # noqa: S101 - it was opened as a pipe
        address = ""
        while not address and (line := server.stderr.readline()):
            address = next((word.rstrip(",") for word in line.split() if word.startswith("http://")), "")
        if not address:
            sys.exit("the server told no address")
        yield address
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


def show(name: str, times: list[float]) -> None:
    """Print one row."""
    cuts = statistics.quantiles(times, n=20)
    print(f"{name:>24}: p50 {statistics.median(times):7.1f} ms  p95 {cuts[18]:7.1f} ms  n {len(times)}")


if __name__ == "__main__":
    main()

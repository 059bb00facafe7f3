"""A store on a real Chroma server, from two machines: each with a data folder of its own."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.knowledge import build, open_library, store_folder, writable_store
from agent.sources import parse_spec
from indexer import server as serving
from indexer.build import Manner
from indexer.errors import StoreError
from indexer.server import Server, leased
from indexer.store import open_generation
from retriever.records import Query

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("chroma")
    chroma = Path(sys.executable).with_name("chroma")
    process = subprocess.Popen(
        [chroma, "run", "--path", folder, "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{url}/api/v2/heartbeat", timeout=2).close()  # noqa: S310 - http
                break
            except OSError:
                time.sleep(0.3)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def machine(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("TRITONKB_HOME", str(folder))


def write(url: str, tree: Path, **manner: float) -> None:
    with writable_store(url, Manner(**manner)) as store:  # type: ignore[arg-type]
        build(store, [parse_spec(f"notes={tree}")], "hash", lambda *_: None)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    for n in range(5):
        (folder / f"card{n}.md").write_text(f"# Card {n}\n\nRow {n} is padded to {n * 32} bytes.\n")
    return folder


def test_one_machine_writes_and_another_reads_the_same(
    server: str, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, tmp_path / "writer")
    write(server, tree)
    own = open_library(server).index.search(Query("padded row"), 5)
    machine(monkeypatch, tmp_path / "reader")
    before = open_library(server)
    assert before.index.search(Query("padded row"), 5) == own
    (tree / "card5.md").write_text("# Card 5\n\nQuite another thing.\n")
    machine(monkeypatch, tmp_path / "third")
    write(server, tree)
    machine(monkeypatch, tmp_path / "reader")
    assert before.index.search(Query("quite another thing"), 1) != open_library(server).index.search(
        Query("quite another thing"), 1
    )
    assert len(open_generation(store_folder(server)).columns) == 6


def test_a_second_writer_is_told_who_holds_the_lease(server: str) -> None:
    with (
        leased(Server(server), 0, lambda _: None),
        pytest.raises(StoreError, match=r"process \d+ has been writing"),
        leased(Server(server), 0, lambda _: None),
    ):
        pass


def test_a_lease_outlives_a_build_that_takes_longer(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "LEASE_SECONDS", 2.0)
    monkeypatch.setattr(serving, "RENEWED_SECONDS", 0.2)
    with leased(Server(server), 0, lambda _: None) as lease:
        with (
            pytest.raises(StoreError, match=r"process \d+ has been writing"),
            leased(Server(server), 4, lambda _: None),
        ):
            pass
        lease.renew()


def test_a_writer_that_lost_its_lease_publishes_nothing(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "LEASE_SECONDS", 0.5)
    with (
        leased(Server(server), 0, lambda _: None) as lost,
        leased(Server(server), 5, lambda _: None),
        pytest.raises(StoreError, match="another writer has taken over"),
    ):
        lost.renew()


def test_a_server_that_is_none_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, tmp_path)
    with pytest.raises(StoreError, match="does not answer as Chroma does"):
        store_folder("http://127.0.0.1:9")

"""Helpers: other processes, and a Ray cluster, give what this process gives; their errors arrive; none stays behind."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from indexer import making, reading
from indexer.build import BuildReport, Manner, build_index
from indexer.corpus import read_manifest
from indexer.crew import Alone, Helper, Processes, check_jobs, hire
from indexer.embed import HashEmbedder
from indexer.errors import BadInput, StoreError
from indexer.store import open_generation
from indexer.words import words_of
from tests.conftest import SAMPLE, sample_job

ROOT = Path(__file__).parents[2]


def twice(number: int) -> int:
    if number < 0:
        raise BadInput("index.no_folder", path=str(number))
    return 2 * number


def end_at_once(_number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def holdings(store: Path) -> tuple[list[object], list[object], list[object], bytes, list[bytes]]:
    """Everything that an index answers from; the number of a word is nobody's business."""
    generation = open_generation(store)
    shelf = generation.shelf
    rows = shelf.everything()
    names = [naming for row in rows for naming in shelf.namings(row.row)]
    fields = (generation.body, generation.natural, generation.history)
    words = sorted({word for row in rows for word in words_of(row.passage.text)})
    scores = [field.score([word]).tobytes() for field in fields for word in words]
    return list(rows), list(names), list(shelf.links()), np.asarray(generation.vectors).tobytes(), scores


def divide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a small tree be divided as a large one is."""
    monkeypatch.setattr(reading, "CREW_FILES", 1)
    monkeypatch.setattr(reading, "BATCH_FILES", 2)
    monkeypatch.setattr(making, "HELPED_PASSAGES", 1)


@pytest.mark.slow
def test_processes_answer_in_order_and_their_errors_arrive() -> None:
    crew = Processes(2)
    try:
        assert list(crew.map(twice, range(7))) == [2 * n for n in range(7)]
        with pytest.raises(BadInput, match="no folder -1"):
            list(crew.map(twice, [1, -1, 2]))
        with pytest.raises(StoreError, match="a helper process of the build was killed"):
            list(crew.map(end_at_once, [1, 2]))
    finally:
        spent = crew.close()
    assert spent.peak_mib > 0


def build(store: Path, jobs: str, tree: Path = SAMPLE) -> BuildReport:
    return build_index(store, [sample_job(tree)], HashEmbedder(), lambda *_: None, Manner(jobs=jobs))


def test_an_index_made_by_helpers_is_the_one_made_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path / "alone", "1")
    divide(monkeypatch)
    report = build(tmp_path / "helped", "2")
    assert report.processor_seconds > 0
    assert holdings(tmp_path / "helped") == holdings(tmp_path / "alone")


def test_an_update_gives_the_names_of_a_build_from_nothing(tmp_path: Path) -> None:
    sample_tree = Path(shutil.copytree(SAMPLE, tmp_path / "tree"))
    build(tmp_path / "index", "1", sample_tree)
    passes = next(sample_tree.rglob("*.td"))
    passes.write_text("// A line more.\n" + passes.read_text())
    next(sample_tree.rglob("*.mlir")).unlink()
    assert build(tmp_path / "index", "1", sample_tree).corpora[0].changed
    build(tmp_path / "anew", "1", sample_tree)
    assert holdings(tmp_path / "index") == holdings(tmp_path / "anew")


@pytest.fixture
def ray_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip where ray is missing; it keeps a token of its clusters at home."""
    pytest.importorskip("ray", reason="ray is not installed: pip install 'tritonkb[ray]'")
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.slow
@pytest.mark.usefixtures("ray_home")
def test_an_index_made_on_a_ray_cluster_is_the_one_made_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path / "alone", "1")
    divide(monkeypatch)
    build(tmp_path / "spread", "ray")
    assert holdings(tmp_path / "spread") == holdings(tmp_path / "alone")


@pytest.fixture
def cluster(ray_home: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a cluster of its own with a client server, as an administrator would, and give its address."""
    script = Path(sys.executable).with_name("ray")
    # Paths of sockets below it may have 107 bytes.
    folder, port = tempfile.mkdtemp(prefix="ray-", dir="/tmp"), free_port()
    command = [
        script, "start", "--head", "--block", "--port=0", f"--ray-client-server-port={port}", "--num-cpus=2",
        "--include-dashboard=false", "--disable-usage-stats", f"--temp-dir={folder}",
    ]  # fmt: skip
    log = tmp_path_factory.mktemp("cluster") / "log"
    with log.open("w") as out:
        head = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out, start_new_session=True)
        try:
            wait_for(port, head, log)
            yield f"ray://127.0.0.1:{port}"
        finally:
            os.killpg(head.pid, signal.SIGTERM)
            head.wait(60)
            shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def wait_for(port: int, head: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + 120
    while head.poll() is None and time.monotonic() < end:
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail(f"no cluster: {log.read_text()}")


@pytest.mark.slow
def test_an_index_made_on_another_cluster_is_the_one_made_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: str
) -> None:
    build(tmp_path / "alone", "1")
    divide(monkeypatch)
    build(tmp_path / "spread", cluster)
    assert holdings(tmp_path / "spread") == holdings(tmp_path / "alone")
    build(tmp_path / "again", cluster)
    assert holdings(tmp_path / "again") == holdings(tmp_path / "alone")


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["ray", "another"])
def test_errors_of_work_on_a_ray_cluster_arrive(jobs: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("ray_home")
    crew = hire("ray" if jobs == "ray" else request.getfixturevalue("cluster"))
    try:
        # Of the product, so that the nodes can import it however the tests were started.
        assert [m.name for m in crew.map(read_manifest, ["notes", "AscendNPU-IR"])] == ["notes", "ascendnpu-ir"]
        with pytest.raises(BadInput, match="nothing-like-it"):
            list(crew.map(read_manifest, ["nothing-like-it"]))
    finally:
        crew.close()


@pytest.mark.slow
@pytest.mark.usefixtures("ray_home")
def test_a_cluster_that_is_not_there_is_told() -> None:
    with pytest.raises(StoreError, match=r"ray://127\.0\.0\.1"):
        hire(f"ray://127.0.0.1:{free_port()}")


def test_what_stops_a_helper_is_told(tmp_path: Path) -> None:
    (tmp_path / "passages.sqlite").write_bytes(b"no database")
    helper = Helper("indexer.naming")
    try:
        from indexer.naming import name_shelf  # noqa: PLC0415 - as a build hands it over

        with pytest.raises(StoreError, match="is damaged"):
            helper.do(name_shelf, tmp_path, None, [])
    finally:
        helper.close()


def test_helpers_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    code = """
    import os, signal, sys
    from indexer.crew import Helper
    helper = Helper()
    print(helper.do(os.getpid), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    """
    killed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    helper = int(killed.stdout)
    for _ in range(300):
        try:
            os.kill(helper, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the helper is still there")


@pytest.mark.parametrize("jobs", ["0", "-1", "many", "1.5", "http://host:1"])
def test_another_way_to_work_is_refused(jobs: str) -> None:
    with pytest.raises(BadInput, match=r"give a number of processes, ray, or ray://HOST:PORT"):
        hire(jobs)


def test_one_job_is_this_process() -> None:
    assert isinstance(hire("1"), Alone)
    assert check_jobs("ray://head:10001") == "ray://head:10001"


INTERRUPTED = """
import os, signal, time
from indexer.crew import Helper
if __name__ == "__main__":
    signal.signal(signal.SIGINT, lambda *_: None)
    helper = Helper()
    for _ in range(100):
        os.killpg(0, signal.SIGINT)
        time.sleep(0.01)
    print(helper.do(len, "abc"))
    helper.close()
"""


def test_ctrl_c_while_a_helper_starts_is_left_to_who_hired_it(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(INTERRUPTED)
    done = subprocess.run(
        [sys.executable, tmp_path / "main.py"], capture_output=True, text=True, check=False, start_new_session=True
    )
    assert (done.stdout, done.stderr) == ("3\n", "")

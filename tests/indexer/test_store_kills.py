"""Builds killed at random moments, and readers that go on while the index is replaced: real processes, real kills.

The law: whenever a build is killed, the index that was there opens and answers as before, and the next build makes the
index that a build without a kill makes.
"""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from indexer.build import build_index
from indexer.embed import HashEmbedder
from indexer.store import current_folder, generations, open_generation, writing
from retriever.records import Query
from retriever.search import open_knowledge_base
from tests.conftest import notes_job

ROOT = Path(__file__).parents[2]
CARDS = 60
BUILDER = """
import sys
from pathlib import Path
from indexer.build import build_index
from indexer.embed import HashEmbedder
from tests.indexer.test_store_kills import cards
from tests.conftest import notes_job
print("ready", flush=True)
sys.stdin.readline()
build_index(Path(sys.argv[1]), [notes_job(cards(sys.argv[2]))], HashEmbedder(), lambda *_: None)
"""
READER = """
import sys
from pathlib import Path
from retriever.records import Query
from retriever.search import open_knowledge_base
opened = 0
while not Path(sys.argv[2]).exists():
    index = open_knowledge_base(Path(sys.argv[1]))
    for _ in range(5):
        hits = index.search(Query("rows padded to bytes"), 5)
        assert len(hits) == 5, hits
        texts = {hit.passage.text.split()[-1] for hit in hits}
        assert len(texts) == 1, f"one answer from two generations: {texts}"
        assert all(index.check_citation(h.passage.id, h.passage.sha256) == h.passage for h in hits)
    opened += 1
print(opened)
"""


def cards(salt: str) -> dict[str, str]:
    """Half of the cards change with the salt; all of them end with its name."""
    return {
        f"card{n}.md": f"# Card {n}\n\nRows are padded to {n * 32} bytes.\n\n" + f"word{n} " * 40 + f"\n\n{salt}\n"
        for n in range(CARDS)
    }


def start(store: Path, salt: str) -> "subprocess.Popen[str]":
    """Start a process that has imported everything and builds when it is told to."""
    process = subprocess.Popen(
        [sys.executable, "-c", BUILDER, str(store), salt],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.stderr
    return process


def tell(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def held(store: Path) -> dict[str, str]:
    """Read the whole index: each passage opens, by place, by key and by search."""
    generation = open_generation(store)
    rows = generation.shelf.everything()
    assert [row.row for row in rows] == list(range(len(generation.columns)))
    assert all(generation.shelf.by_key(row.passage.key) == row for row in rows)
    found = open_knowledge_base(store).search(Query("rows padded to bytes"), 5)
    assert len(found) == 5
    return {row.passage.path: row.passage.text for row in rows}


def check_kills(store: Path, moments: int, seed: int) -> None:
    build_index(store, [notes_job(cards("one"))], HashEmbedder(), lambda *_: None)
    before, held_before = current_folder(store), held(store)
    process = start(store, "two")
    begin = time.monotonic()
    tell(process)
    assert process.wait(120) == 0
    whole = time.monotonic() - begin
    held_after = held(store)
    assert held_after != held_before
    build_index(store, [notes_job(cards("one"))], HashEmbedder(), lambda *_: None)
    chance = random.Random(seed)  # noqa: S311 - moments, not secrets
    killed = 0
    for _ in range(moments):
        before = current_folder(store)
        process = start(store, "two")
        tell(process)
        time.sleep(chance.uniform(0, whole))
        process.send_signal(signal.SIGKILL)
        killed += process.wait(60) == -signal.SIGKILL
        assert held(store) == (held_before if current_folder(store) == before else held_after)
        report = build_index(store, [notes_job(cards("two"))], HashEmbedder(), lambda *_: None)
        assert report.embedded == 0, "the vectors of both were made before"
        assert held(store) == held_after
        assert generations(store).unfinished == ()
        build_index(store, [notes_job(cards("one"))], HashEmbedder(), lambda *_: None)
    assert killed >= moments // 2, "most kills must hit a build"


@pytest.mark.slow
def test_a_build_killed_at_any_moment_leaves_the_old_index_and_the_next_one_completes(tmp_path: Path) -> None:
    check_kills(tmp_path, 3, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_fifty_kills(tmp_path: Path) -> None:
    check_kills(tmp_path, 50, seed=2)


@pytest.mark.slow
def test_eight_readers_go_on_while_the_index_is_replaced(tmp_path: Path) -> None:
    store, end = tmp_path / "index", tmp_path / "end"
    build_index(store, [notes_job(cards("one"))], HashEmbedder(), lambda *_: None)
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", READER, str(store), str(end)],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(8)
    ]  # fmt: skip
    try:
        for number in range(6):
            build_index(store, [notes_job(cards("two" if number % 2 else "three"))], HashEmbedder(), lambda *_: None)
    finally:
        end.touch()
    for reader in readers:
        out, err = reader.communicate(timeout=120)
        assert reader.returncode == 0, err
        assert int(out) > 0


def test_a_build_without_a_change_removes_what_a_stopped_one_left(tmp_path: Path) -> None:
    def build() -> None:
        build_index(tmp_path, [notes_job(cards("one"))], HashEmbedder(), lambda *_: None)

    build()
    left = tmp_path / "generations" / "stopped"
    left.mkdir()
    with writing(tmp_path, wait_seconds=0.0):
        build()
    assert left.exists(), "it may be what the writer makes"
    build()
    assert generations(tmp_path).unfinished == ()


def test_an_opened_index_outlives_its_generation(tmp_path: Path) -> None:
    build_index(tmp_path, [notes_job(cards("one"))], HashEmbedder(), lambda *_: None)
    index = open_knowledge_base(tmp_path)
    folder = current_folder(tmp_path)
    for salt in ("two", "three"):
        build_index(tmp_path, [notes_job(cards(salt))], HashEmbedder(), lambda *_: None)
    assert folder is not None
    assert not folder.exists()
    assert {hit.passage.text.split()[-1] for hit in index.search(Query("rows padded to bytes"), 5)} == {"one"}


def test_a_stopped_build_is_continued_and_says_what_it_used(tmp_path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
from indexer.build import build_index
from indexer.embed import HashEmbedder
from tests.indexer.test_store_kills import cards
from tests.conftest import notes_job
def progress(stage, done, total):
    if stage == "symbols":
        os.kill(os.getpid(), signal.SIGKILL)
build_index(Path(sys.argv[1]), [notes_job(cards("one"))], HashEmbedder(), progress)
"""
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    report = build_index(tmp_path, [notes_job(cards("one"))], HashEmbedder(), lambda *_: None)
    assert (report.embedded, report.resumed) == (0, report.corpora[0].passages)


def test_nothing_is_written_when_nothing_changed(tmp_path: Path) -> None:
    build_index(tmp_path, [notes_job(cards("one"))], HashEmbedder(), lambda *_: None)
    before = sorted((p, p.stat().st_mtime_ns) for p in tmp_path.rglob("*"))
    report = build_index(tmp_path, [notes_job(cards("one"))], HashEmbedder(), lambda *_: None)
    assert (report.unchanged, list(report.seconds)) == (True, ["read"])
    assert sorted((p, p.stat().st_mtime_ns) for p in tmp_path.rglob("*")) == before

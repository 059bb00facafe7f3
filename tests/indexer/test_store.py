"""The index on disk: generations, the lock, kills, a full disk, damage, and Chroma beside the mapped vectors."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from indexer.build import BuildReport, Manner, build_index
from indexer.chroma import query_chroma
from indexer.corpus import TextTree, read_manifest
from indexer.embed import HashEmbedder, NoEmbedder
from indexer.errors import StoreError
from indexer.reading import Job
from indexer.store import current_folder, generations, open_generation, writing
from tests.conftest import sample_job

ROOT = Path(__file__).parents[2]


def cards(count: int, salt: str = "") -> dict[str, str]:
    return {f"card{n}.md": f"# Card {n}{salt}\n\nRow {n} is padded to {n * 32} bytes.\n" for n in range(count)}


def notes(texts: dict[str, str]) -> Job:
    return Job(TextTree("notes", "all", "tritonkb", texts), read_manifest("notes"), "notes")


def build(store: Path, texts: dict[str, str], **options: bool) -> BuildReport:
    return build_index(store, [notes(texts)], HashEmbedder(), lambda *_: None, Manner(**options))


def run_python(code: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_chroma_and_the_mapped_vectors_give_the_same_hits(sample_store: Path) -> None:
    generation = open_generation(sample_store)
    rows = len(generation.columns)
    for text in ("fold a pad into a load", "column by column", "prefetch the next row"):
        (vector,) = HashEmbedder().embed([text])
        exact = generation.vectors @ vector
        answered = query_chroma(generation.folder / "chroma", vector, rows)
        assert len(answered) == rows
        for key, similarity in answered:
            found = generation.shelf.by_key(key)
            assert found is not None
            assert similarity == pytest.approx(float(exact[found.row]), abs=1e-4)
        order = [similarity for _, similarity in answered]
        assert order == sorted(order, reverse=True)


def test_reading_imports_neither_chroma_nor_torch_nor_bm25s(sample_store: Path) -> None:
    answer = run_python(
        """
        import sys
        from pathlib import Path
        from retriever.records import Query
        from retriever.search import open_knowledge_base
        assert open_knowledge_base(Path(sys.argv[1])).search(Query("fold a wide pad"))
        print([m for m in ("chromadb", "torch", "bm25s", "scipy", "tree_sitter", "subprocess") if m in sys.modules])
        """,
        sample_store,
    )
    assert answer.stdout.strip() == "[]", answer.stderr


def test_writing_loads_no_client_of_chroma(tmp_path: Path) -> None:
    code = """
    import sys
    from pathlib import Path
    from tests.indexer.test_store import build, cards
    build(Path(sys.argv[1]), cards(2))
    print("chromadb" not in sys.modules, "chromadb_rust_bindings" in sys.modules)
    """
    ran = run_python(code, tmp_path)
    assert (ran.returncode, ran.stdout.strip()) == (0, "True True"), ran.stderr


def test_a_second_writer_leaves_with_a_clear_message(tmp_path: Path) -> None:
    with (
        writing(tmp_path, wait_seconds=0),
        pytest.raises(StoreError, match=rf"process {os.getpid()} has been writing .* since"),
        writing(tmp_path, wait_seconds=0.05),
    ):
        pass


def test_an_update_embeds_only_what_changed_and_an_old_id_still_opens(tmp_path: Path) -> None:
    assert build(tmp_path, cards(5)).embedded == 5
    before = open_generation(tmp_path)
    old = before.shelf.rows([1])[0].passage
    moved_card = "# Preface\n\nA section above.\n\n" + cards(5)["card1.md"]
    report = build(tmp_path, {**cards(5), "card4.md": "# Card 4\n\nA new text.\n", "card1.md": moved_card})
    assert (report.embedded, report.corpora[0].changed, report.corpora[0].passages) == (2, 2, 6)
    now = open_generation(tmp_path)
    assert now.manifest.corpora[0].commit != old.commit
    key = now.shelf.former_key("notes", old.commit[:12], old.path, old.start_line, old.end_line)
    moved = now.shelf.by_key(key or "")
    assert moved is not None
    assert (moved.passage.text, moved.passage.start_line) == (old.text, 5)


def test_an_index_without_vectors_is_updated(tmp_path: Path) -> None:
    for count in (3, 4):
        report = build_index(tmp_path, [notes(cards(count))], NoEmbedder(), lambda *_: None)
    assert (report.corpora[0].changed, report.corpora[0].passages) == (1, 4)
    generation = open_generation(tmp_path)
    assert generation.vectors.shape == (4, 0)
    assert not (generation.folder / "chroma").exists()


def test_chroma_follows_an_update(tmp_path: Path) -> None:
    build(tmp_path, cards(5))
    build(tmp_path, {**cards(3), "card9.md": "# Card 9\n\nQuite another thing.\n"})
    generation = open_generation(tmp_path)
    (vector,) = HashEmbedder().embed(["quite another thing"])
    keys = {key for key, _ in query_chroma(generation.folder / "chroma", vector, 10)}
    assert keys == {row.passage.key for row in generation.shelf.rows(range(10))}
    assert len(keys) == 4


def leave_in_memory(secret: bytes) -> None:
    """Free memory of the sizes that Chroma asks for when it makes a collection, full of a secret."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = (
        ctypes.c_void_p,
        [ctypes.c_size_t],
        [ctypes.c_void_p],
    )
    places = [(libc.malloc(size), size) for size in (400, 39_600) for _ in range(100)]
    for place, size in places:
        ctypes.memmove(place, (secret * size)[:size], size)
    for place, _ in places:
        libc.free(place)


def test_memory_that_was_freed_does_not_reach_the_index(tmp_path: Path) -> None:
    for count in (30, 31):
        leave_in_memory(b"sk-freed")
        build(tmp_path, cards(count))
    unused = [p.read_bytes() for name in ("length", "data_level0") for p in tmp_path.rglob(f"{name}.bin")]
    # Chroma keeps the vectors of so few passages elsewhere, so that all of it is unused.
    assert [set(content) for content in unused] == [{0}] * 4


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o2775])
def test_chroma_can_be_read_by_those_who_can_read_the_index(tmp_path: Path, mode: int) -> None:
    build(tmp_path, cards(3))
    (tmp_path / "generations").chmod(mode)
    for salt in ("a", "b"):
        build(tmp_path, cards(3, salt))
        folder = current_folder(tmp_path)
        assert folder is not None
        assert (folder / "chroma").stat().st_mode == folder.stat().st_mode


def test_corpora_not_named_stay_unless_the_build_is_fresh(tmp_path: Path, sample_tree: Path) -> None:
    build(tmp_path, cards(2))
    build_index(tmp_path, [sample_job(sample_tree)], HashEmbedder(), lambda *_: None)
    assert [c.name for c in open_generation(tmp_path).manifest.corpora] == ["ascendnpu-ir", "notes"]
    build(tmp_path, cards(2), fresh=True)
    assert [c.name for c in open_generation(tmp_path).manifest.corpora] == ["notes"]


KILLED = """
import os, signal, sys
from pathlib import Path
from indexer.build import build_index
from indexer.reading import Job
from indexer.corpus import TextTree, read_manifest
from indexer.embed import HashEmbedder
stage = sys.argv[2]
def progress(name, done, total):
    if name == stage:
        os.kill(os.getpid(), signal.{signal})
texts = {{f"c{{n}}.md": f"# New {{n}}\\n" for n in range(9)}}
job = Job(TextTree("notes", "all", "x", texts), read_manifest("notes"), "notes")
build_index(Path(sys.argv[1]), [job], HashEmbedder(), progress)
"""


@pytest.mark.parametrize("stage", ["symbols", pytest.param("embed", marks=pytest.mark.slow), "chroma"])
def test_a_killed_build_leaves_the_old_index_readable(tmp_path: Path, stage: str) -> None:
    build(tmp_path, cards(3))
    before = current_folder(tmp_path)
    killed = run_python(KILLED.format(signal="SIGKILL"), tmp_path, stage)
    assert killed.returncode == -signal.SIGKILL
    assert current_folder(tmp_path) == before
    assert len(open_generation(tmp_path).columns) == 3
    assert build(tmp_path, cards(4)).corpora[0].passages == 4, "the next build goes on"
    assert generations(tmp_path).unfinished == (), "nothing of the killed build is left"


def test_ctrl_c_leaves_nothing_half_written(tmp_path: Path) -> None:
    build(tmp_path, cards(3))
    stopped = run_python(KILLED.format(signal="SIGINT"), tmp_path, "embed")
    assert "KeyboardInterrupt" in stopped.stderr
    assert len(list((tmp_path / "generations").iterdir())) == 1
    assert len(open_generation(tmp_path).columns) == 3


FULL = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
from indexer.build import build_index
from indexer.reading import Job
from indexer.corpus import TextTree, read_manifest
from indexer.embed import HashEmbedder
from indexer.errors import StoreError
from indexer.reading import Job
texts = {f"c{n}.md": f"# New {n}\\n" + "row " * 400 for n in range(60)}
job = Job(TextTree("notes", "all", "x", texts), read_manifest("notes"), "notes")
try:
    build_index(Path(sys.argv[1]), [job], HashEmbedder(), lambda *_: None)
except StoreError as error:
    print(error)
    sys.exit(error.exit_code)
"""


@pytest.mark.parametrize("most_bytes", [2_000, 60_000])
def test_a_disk_that_takes_no_more_gives_one_line_and_no_loss(tmp_path: Path, most_bytes: int) -> None:
    """A limit on the size of files stands in for the disk: it makes real writes fail at different places."""
    build(tmp_path, cards(3))
    full = run_python(FULL, tmp_path, most_bytes)
    assert full.returncode == 3, full.stderr
    assert full.stdout.count("\n") == 1
    assert f"cannot write the index at {tmp_path}" in full.stdout
    assert len(open_generation(tmp_path).columns) == 3
    assert len(list((tmp_path / "generations").iterdir())) == 1


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    """The real thing: a file system of one megabyte, where this user may mount one."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a small file system")
    try:
        with pytest.raises(StoreError, match="no space left to write the index"):
            build(tmp_path / "index", {f"c{n}.md": f"# New {n}\n" + f"row {n} " * 400 for n in range(400)})
        assert current_folder(tmp_path / "index") is None
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="cannot write the index"):
        build(tmp_path / "index", cards(1))


def test_no_index_is_told_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no index at .*; run: tritonkb index build"):
        open_generation(tmp_path)


@pytest.mark.parametrize("name", ["manifest.json", "passages.sqlite", "vectors.npy", "body/scores.npy", "columns.npy"])
def test_damage_is_told_and_a_fresh_build_repairs_it(tmp_path: Path, name: str) -> None:
    build(tmp_path, cards(3))
    folder = current_folder(tmp_path)
    assert folder is not None
    (folder / name).write_bytes(b"garbage")
    with pytest.raises(StoreError, match="is damaged"):
        open_generation(tmp_path).shelf.rows([0])
    build(tmp_path, cards(3), fresh=True)
    assert len(open_generation(tmp_path).shelf.rows([0, 1, 2])) == 3


def test_another_format_is_told(tmp_path: Path) -> None:
    build(tmp_path, cards(1))
    folder = current_folder(tmp_path)
    assert folder is not None
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "version": 99}))
    with pytest.raises(StoreError, match="has format 99, this version reads 2"):
        open_generation(tmp_path)


def test_a_reader_keeps_its_generation_while_a_build_replaces_it(tmp_path: Path) -> None:
    build(tmp_path, cards(3))
    reader = open_generation(tmp_path)
    build(tmp_path, cards(3, " anew"))
    assert [r.passage.symbol for r in reader.shelf.rows([0, 1, 2])] == ["Card 0", "Card 1", "Card 2"]
    assert np.asarray(reader.vectors).shape == (3, 64)


def test_an_unchanged_build_embeds_nothing(tmp_path: Path) -> None:
    build(tmp_path, cards(4))
    begin = time.perf_counter()
    report = build(tmp_path, cards(4))
    assert (report.embedded, report.corpora[0].changed) == (0, 0)
    assert time.perf_counter() - begin < 30


def test_a_damaged_cache_of_vectors_is_begun_anew(tmp_path: Path) -> None:
    build(tmp_path, cards(3))
    (tmp_path / "vectors.sqlite").write_bytes(b"garbage, not a database " * 100)
    assert build(tmp_path, cards(3), fresh=True).embedded == 3
    assert build(tmp_path, cards(3)).embedded == 0


def test_an_index_can_be_moved(tmp_path: Path) -> None:
    build(tmp_path / "a", cards(3))
    shutil.move(tmp_path / "a", tmp_path / "b")
    assert len(open_generation(tmp_path / "b").columns) == 3

"""The knowledge base's use cases, and the commands over them."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from agent.cli.main import run
from agent.knowledge import build, find_passage, open_library, search, status, update
from agent.sources import open_tree, parse_spec
from indexer.errors import BadInput
from retriever.records import Query

SCRIPT = Path(sysconfig.get_path("scripts")) / "tritonkb"


def quiet(*_: object) -> None:
    """Say nothing of the progress."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, sample_tree_: Path) -> Path:
    folder = tmp_path_factory.mktemp("kb") / "index"
    build(folder, [parse_spec(f"triton-ascend={sample_tree_}")], "hash", quiet)
    return folder


@pytest.fixture(scope="module")
def sample_tree_() -> Path:
    return Path(__file__).parents[1] / "samples" / "compiler"


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, object], str]:
    code = run([*arguments, "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out), err


@pytest.mark.parametrize(
    ("text", "name", "place", "revision"),
    [
        ("notes", "notes", "", ""),
        ("AscendNPU-IR", "ascendnpu-ir", "", ""),
        ("triton=https://a.org/b.git@release/3.2.x", "triton", "https://a.org/b.git", "release/3.2.x"),
        ("triton=git@example.org:a/b.git", "triton", "git@example.org:a/b.git", ""),
        ("triton=git@example.org:a/b.git@v1", "triton", "git@example.org:a/b.git", "v1"),
        ("mlir=/nowhere/llvm@abc123", "mlir", "/nowhere/llvm", "abc123"),
    ],
)  # fmt: skip
def test_a_corpus_is_named_with_its_place_and_revision(text: str, name: str, place: str, revision: str) -> None:
    spec = parse_spec(text)
    assert (spec.manifest.name, spec.place, spec.revision) == (name, place, revision)
    assert parse_spec(spec.text) == spec


@pytest.mark.parametrize("text", ["", "=x", "a b", "unknown-corpus"])
def test_what_is_no_corpus_is_told(text: str) -> None:
    with pytest.raises(BadInput):
        parse_spec(text)


def test_a_folder_without_a_file_of_the_corpus_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.td").write_text("def A;\n")
    with pytest.raises(BadInput, match=r"has no file of the corpus ascendnpu-ir \(looked for bishengir/"):
        build(tmp_path / "store", [parse_spec(f"ascendnpu-ir={tmp_path}")], "hash", quiet)


def test_a_folder_has_no_revision(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not a git repository"):
        open_tree(parse_spec(f"notes={tmp_path}@v1"))


def test_a_folder_with_an_at_sign_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a@b").mkdir()
    assert parse_spec(f"notes={tmp_path}/a@b").revision == ""


def test_our_cards_open_and_carry_citations(tmp_path: Path) -> None:
    report = build(tmp_path, [parse_spec("notes")], "hash", quiet)
    assert report.corpora[0].passages > 0
    library = open_library(tmp_path)
    (hit, *_) = search(library.index, Query("stride", kinds=("note",)), 3).hits
    assert library.titles([hit.passage.id]) == {hit.passage.id: hit.passage.symbol}


def test_an_update_reads_again_from_where_it_came(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.md").write_text("# One\n\nFirst text.\n")
    build(tmp_path / "store", [parse_spec(f"notes={tree}")], "hash", quiet)
    (tree / "b.md").write_text("# Two\n\nSecond text.\n")
    report = update(tmp_path / "store", None, quiet)
    assert (report.corpora[0].passages, report.corpora[0].changed, report.embedded) == (2, 1, 1)


def test_the_embedder_of_an_index_is_kept(tmp_path: Path) -> None:
    build(tmp_path, [parse_spec("notes")], "hash", quiet)
    build(tmp_path, [parse_spec("notes")], None, quiet)
    assert open_library(tmp_path).index.manifest.model == "hash"


def test_status_tells_a_corpus_that_is_not_what_is_installed(store: Path) -> None:
    (found,) = status(store)
    assert found.matches_toolchain in {False, None}, "the sample is no compiler; None without a toolchain"


def test_an_unknown_pass_gives_near_names(store: Path) -> None:
    found = search(open_library(store).index, Query(passes=("toy-fold-wide-pads",)), 5)
    assert found.hits == ()
    assert "toy-fold-wide-pad" in found.near


def test_an_unknown_id_gives_ids_of_its_file(store: Path) -> None:
    index = open_library(store).index
    known = search(index, Query("SplitColumnsPass"), 1).hits[0].passage
    found = find_passage(index, known.id.replace(f"-L{known.end_line}", "-L999"))
    assert (found.hits, known.id in found.near) == ((), True)


def test_search_prints_the_contract(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, document, _ = answer(capsys, "search", "strided row", "-k", "3", "--store", str(store))
    assert code == 0
    assert document["query"] == "strided row"
    hits = document["hits"]
    assert isinstance(hits, list)
    assert [h["rank"] for h in hits] == [1, 2, 3]
    wanted = {"id", "corpus", "commit", "path", "start_line", "end_line", "kind", "symbol", "text"}
    assert all(wanted <= set(h["passage"]) and isinstance(h["why"], list) for h in hits)


def test_a_search_for_a_device_refuses_one_that_is_unknown(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, document, _ = answer(capsys, "search", "strided row", "--target", "ascend950", "--store", str(store))
    assert (code, bool(document["hits"])) == (0, True)
    code, _, told = answer(capsys, "search", "strided row", "--target", "ascend1", "--store", str(store))
    assert code == 2
    assert "ascend1" in told


def test_an_id_opens_from_the_command_line(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, found, _ = answer(capsys, "search", "--pass", "toy-fold-wide-pad", "--store", str(store))
    hits = found["hits"]
    assert isinstance(hits, list)
    first = hits[0]["passage"]
    assert first["kind"] == "pass_def"
    code, opened, _ = answer(capsys, "search", "--id", first["id"], "--store", str(store))
    assert code == 0
    assert opened["hits"][0]["passage"] == first  # type: ignore[index]


@pytest.mark.parametrize("arguments", [["--op", "toy.ir.pad"], ["--option", "--enable-row-prefetch"]])
def test_exact_look_ups(store: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code, document, _ = answer(capsys, "search", *arguments, "--store", str(store))
    assert (code, document["hits"][0]["why"][0][:7]) == (0, "defines")  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["search", "--pass", "toy-fold"], 1, "near: toy-fold-wide-pad"),
        (["search", "--id", "x"], 2, "not a passage id: x"),
        (["search"], 2, "nothing to search for"),
        (["search", "row", "--kind", "poem"], 2, "no kind named poem"),
        (["search", "row", "--corpus", "poems"], 2, "no corpus named poems"),
        (["index", "build", "--corpus", "poems"], 2, "no corpus named poems"),
        (["index", "build", "--corpus", "notes=/no/where"], 2, "no folder /no/where"),
    ],
)
def test_each_failure_is_one_line_with_its_exit_code(
    store: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    assert run([*arguments, "--store", str(store)]) == code
    err = capsys.readouterr().err.strip()
    assert said in err
    assert err.count("\n") == 0


def test_no_index_is_one_line_and_exit_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["search", "row"], ["index", "status"], ["index", "update"]):
        assert run([*arguments, "--store", str(tmp_path / "none")]) == 3
        assert "run: tritonkb index build" in capsys.readouterr().err


def test_the_corpora_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, document, _ = answer(capsys, "index", "corpora")
    assert code == 0
    assert {"toolchain", "notes", "ascendnpu-ir"} <= {c["name"] for c in document["corpora"]}  # type: ignore[attr-defined]


def test_a_build_prints_the_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["index", "build", "--corpus", "notes", "--embedder", "hash", "--store", str(tmp_path / "kb")]
    code, document, err = answer(capsys, *arguments)
    assert code == 0
    assert set(document) >= {"store", "corpora", "seconds", "peak_mib"}
    (corpus,) = document["corpora"]  # type: ignore[misc]
    assert set(corpus) >= {"name", "commit", "files", "passages", "changed", "failures"}
    assert "index: embedding" in err
    code, document, _ = answer(capsys, "index", "status", "--store", str(tmp_path / "kb"))
    assert (code, document["corpora"][0]["matches_toolchain"]) == (0, True)  # type: ignore[index]


def test_plain_text_says_ids_and_no_markup(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "strided row", "--store", str(store)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("1. triton-ascend@")
    assert "\x1b[" not in out


def test_a_search_imports_neither_chroma_nor_torch(store: Path) -> None:
    code = (
        "import sys; from agent.cli.main import run; run(sys.argv[1:]);"
        "heavy = ('chromadb', 'torch', 'tree_sitter', 'scipy', 'libcst');"
        "print([m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    made = subprocess.run(
        [sys.executable, "-c", code, "search", "row", "--store", str(store)], capture_output=True, text=True, check=True
    )
    assert made.stderr.strip() == "[]"


@pytest.mark.toolchain
@pytest.mark.skipif("TRITONKB_HOME" in os.environ, reason="the default corpora are built into the data folder")
def test_the_default_corpora_build_without_a_network(tmp_path: Path) -> None:
    made = subprocess.run(
        [SCRIPT, "index", "build", "--store", str(tmp_path / "kb"), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    names = {c["name"]: c["passages"] for c in json.loads(made.stdout)["corpora"]}
    assert names["toolchain"] > 1500
    found = subprocess.run(
        [SCRIPT, "search", "--pass", "hivm-plan-memory", "--store", str(tmp_path / "kb")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "catalog" in found.stdout


def test_a_corpus_named_twice_is_refused_unless_both_say_the_same(tmp_path: Path, sample_tree_: Path) -> None:
    spec, other = parse_spec(f"triton-ascend={sample_tree_}"), parse_spec(f"triton-ascend={tmp_path}")
    with pytest.raises(BadInput, match="triton-ascend is given twice"):
        build(tmp_path / "index", [spec, other], "none", quiet)
    (report,) = build(tmp_path / "index", [spec, spec], "none", quiet).corpora
    assert report.passages

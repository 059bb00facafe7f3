"""`index diff`: a small compiler in a git repository moves on, and runs and notes rest on what it was."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from agent.cli.main import run
from agent.difference import Asked, Difference, diff
from agent.knowledge import build
from agent.sources import parse_spec
from indexer.errors import BadInput, StoreError
from indexer.store import generations

TD = "bishengir/include/Toy/Passes.td"
CPP = "bishengir/lib/Toy/Pad.cpp"
BESIDE = "bishengir/lib/Toy/Rows.cpp"
PASSES = """def ToyPad : Pass<"toy-pad"> {
  let summary = "Pad rows";
  let options = [Option<"width", "pad-width", "int", "32", "Bytes of a row">];
}
"""
SOURCE = """#define GEN_PASS_DEF_TOYPAD
struct ToyPad : impl::ToyPadBase<ToyPad> {
  void runOnOperation() override {
    // Rows of a whole block need no padding.
    if (isWhole(getOperation()))
      return;
    padRows(getOperation(), 32);
  }
};
"""
ROWS = """void padRows(Operation *op, int width) {
  fillBehindEachRow(op, width);
}
"""
OTHER = """def ToySplit : Pass<"toy-split"> {
  let summary = "Split columns into pieces that a burst can carry";
}
"""
JOIN = """def ToyJoin : Pass<"toy-join"> {
  let summary = "Join the pieces of rows again";
}
"""


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, files: dict[str, str | None]) -> str:
    for path, text in files.items():
        place = folder / path
        if text is None:
            place.unlink()
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "--message", "x")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "compiler"
    folder.mkdir()
    git(folder, "init", "--quiet")
    commit(folder, {TD: PASSES, CPP: SOURCE, BESIDE: ROWS, "bishengir/include/Toy/Split.td": OTHER})
    return folder


def index(store: Path, repository: Path) -> None:
    build(store, [parse_spec(f"ascendnpu-ir={repository}@HEAD")], "hash", lambda *_: None)


def cite(folder: Path, *ids: str) -> None:
    folder.mkdir(parents=True)
    finding = {"kind": "round", "findings": [{"evidence": [{"passage": id_, "why": ["x"]} for id_ in ids]}]}
    (folder / "journal.jsonl").write_text(f'{json.dumps({"kind": "start"})}\n{json.dumps(finding)}\n{{"cut')


@pytest.fixture
def moved_on(tmp_path: Path, repository: Path) -> tuple[Path, str, str, Path]:
    """Index a compiler, cite it, and index it again after it changed in every way."""
    store, runs = tmp_path / "store", tmp_path / "runs"
    old = git(repository, "rev-parse", "HEAD")
    index(store, repository)
    short = old[:12]
    cite(
        runs / "one",
        f"ascendnpu-ir@{short}:{CPP}#L3-L8",
        f"ascendnpu-ir@{short}:{TD}#L1-L2",
        f"ascendnpu-ir@{short}:bishengir/include/Toy/Split.td#L1-L3",
        f"ascendnpu-ir@000000000000:{TD}#L1-L2",
    )
    new = commit(
        repository,
        {
            TD: "// Padding.\n" + PASSES.replace("pad-width", "row-width") + JOIN,
            CPP: SOURCE.replace("32", "64"),
            BESIDE: ROWS.replace("Behind", "Before"),
            "bishengir/include/Toy/Split.td": None,
            "bishengir/include/Toy/Columns.td": OTHER,
        },
    )  # fmt: skip
    index(store, repository)
    return store, old, new, runs


def compared(moved_on: tuple[Path, str, str, Path], **asked: object) -> Difference:
    store, old, new, runs = moved_on
    return diff(store, Asked("ascendnpu-ir", **{"old": old, "new": new, "runs": (runs,), **asked}))  # type: ignore[arg-type]


def test_what_was_added_removed_and_changed_is_told_with_its_lines(moved_on: tuple[Path, str, str, Path]) -> None:
    found = compared(moved_on)
    names = [[t.name for t in part] for part in (found.passes.added, found.passes.removed, found.passes.changed)]
    assert names == [["toy-join"], [], ["toy-pad"]], "a pass whose text moved to another file is no change"
    assert [t.name for t in found.options.added] == ["row-width"]
    assert [t.name for t in found.options.removed] == ["pad-width"]
    code = next(c for c in found.passes.changed[0].changes if c.new is not None and c.new.path == CPP)
    assert (code.old_lines, code.new_lines) == (((7, 7),), ((7, 7),))


def test_expired_evidence_is_listed_and_what_only_moved_is_not(moved_on: tuple[Path, str, str, Path]) -> None:
    _, old, new, runs = moved_on
    found = compared(moved_on)
    mine = [e for e in found.expired if e.run == str(runs / "one")]
    assert [(e.change, e.passage.partition("#")[2]) for e in mine] == [("changed", "L3-L8"), ("unknown", "L1-L2")]
    assert mine[0].now == f"ascendnpu-ir@{new[:12]}:{CPP}#L3-L8"
    assert mine[0].lines == ((7, 7),)
    (moved,) = found.moved
    assert moved.now == f"ascendnpu-ir@{new[:12]}:bishengir/include/Toy/Columns.td#L1-L3"
    assert old[:12] in moved.passage


def test_two_generations_give_the_same_as_two_revisions(moved_on: tuple[Path, str, str, Path]) -> None:
    assert compared(moved_on, old="previous", new="current") == compared(moved_on, old="HEAD~1", new="HEAD")


def test_one_pass_alone(moved_on: tuple[Path, str, str, Path]) -> None:
    found = compared(moved_on, only="toy-pad")
    assert [t.name for t in (*found.passes.added, *found.passes.changed)] == ["toy-pad"]
    assert [t.name for t in found.options.added] == ["row-width"]
    with pytest.raises(BadInput, match="neither version of ascendnpu-ir has a pass named toy-none"):
        compared(moved_on, only="toy-none")


def test_one_pass_is_told_with_the_sources_that_it_is_built_of(moved_on: tuple[Path, str, str, Path]) -> None:
    def changed(found: Difference) -> set[str]:
        return {c.new.path for thing in found.passes.changed for c in thing.changes if c.new}

    assert BESIDE in changed(compared(moved_on, only="toy-pad"))
    assert BESIDE not in changed(compared(moved_on))


def test_of_one_pass_only_its_evidence_expires(moved_on: tuple[Path, str, str, Path]) -> None:
    everything, one = compared(moved_on), compared(moved_on, only="toy-pad")
    assert one.expired == tuple(e for e in everything.expired if not e.run.startswith("notes/"))
    assert one.moved == ()
    other = compared(moved_on, only="toy-split")
    assert (other.expired, other.moved) == ((), everything.moved)


def test_an_old_version_that_only_a_generation_has(moved_on: tuple[Path, str, str, Path], repository: Path) -> None:
    shutil.rmtree(repository)
    assert [t.name for t in compared(moved_on).passes.changed] == ["toy-pad"]


def test_previous_is_the_version_before_also_when_other_corpora_were_built_since(
    moved_on: tuple[Path, str, str, Path], repository: Path
) -> None:
    store, old, new, _ = moved_on
    for embedder in ("none", "hash"):  # two generations of the same commit push the older one out
        build(store, [parse_spec("notes")], embedder, lambda *_: None)
    found = compared(moved_on, old="previous", new="current")
    assert (found.old, found.new) == (old, new)
    assert [t.name for t in found.passes.changed] == ["toy-pad"]
    shutil.rmtree(repository)
    with pytest.raises(BadInput, match="no earlier generation of ascendnpu-ir with another commit"):
        compared(moved_on, old="previous", new="current")


def test_a_folder_of_runs_that_is_not_there_is_no_all_clear(moved_on: tuple[Path, str, str, Path]) -> None:
    journal = moved_on[3] / "one" / "journal.jsonl"
    for wrong in (moved_on[3] / "tow", journal):
        with pytest.raises(BadInput, match=r"no folder .* with runs"):
            compared(moved_on, runs=(wrong,))


def test_a_damaged_journal_is_named(moved_on: tuple[Path, str, str, Path]) -> None:
    journal = moved_on[3] / "two" / "journal.jsonl"
    journal.parent.mkdir()
    journal.write_text("{not json\n")
    assert compared(moved_on).unreadable == (journal,)


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("nothing", "neither a revision of the repository"),
        ("", "neither a revision of the repository"),
        ("previous", "no earlier generation"),
    ],
)
def test_a_version_that_nobody_has_is_told(tmp_path: Path, repository: Path, old: str, said: str) -> None:
    index(tmp_path / "store", repository)
    with pytest.raises(BadInput, match=said):
        diff(tmp_path / "store", Asked("ascendnpu-ir", old))
    with pytest.raises(BadInput, match="the index does not hold mlir; it holds ascendnpu-ir"):
        diff(tmp_path / "store", Asked("mlir"))
    with pytest.raises(StoreError, match="no index"):
        diff(tmp_path / "none", Asked("mlir"))


def test_the_command_prints_the_contract(
    moved_on: tuple[Path, str, str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    store, old, new, runs = moved_on
    arguments = ["index", "diff", "ascendnpu-ir", old, new, "--runs", str(runs), "--store", str(store)]
    assert run([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) >= {"old", "new", "passes", "ops", "options", "expired_evidence"}
    assert set(document["passes"]) == {"added", "removed", "changed"}
    assert {"run", "passage", "change"} <= set(document["expired_evidence"][0])
    for lang, said in (("en", "passes: 1 added, 0 removed, 1 changed"), ("zh", "pass：新增 1，移除 0，变化 1")):
        assert run([*arguments, "--lang", lang]) == 0
        out = capsys.readouterr().out
        assert said in out
        assert f"implements: ascendnpu-ir@{new[:12]}:{CPP}" in out


def test_what_cannot_be_compared_is_not_counted_as_expired(
    moved_on: tuple[Path, str, str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    store, old, new, runs = moved_on
    assert run(["index", "diff", "ascendnpu-ir", old, new, "--runs", str(runs), "--store", str(store)]) == 0
    out = capsys.readouterr().out
    assert "1 cited passages expired, 1 only moved" in out
    assert "cannot be compared" in out
    assert f"  {runs / 'one'}: 1\n" in out


def test_evidence_in_a_file_with_a_space_or_a_hash_in_its_name_expires_too(tmp_path: Path, repository: Path) -> None:
    path = "bishengir/include/Toy/My #1 Passes.td"
    old = commit(repository, {path: JOIN})
    index(tmp_path / "store", repository)
    cite(tmp_path / "runs", f"ascendnpu-ir@{old[:12]}:{path}#L1-L3")
    commit(repository, {path: JOIN.replace("rows", "columns")})
    index(tmp_path / "store", repository)
    found = diff(tmp_path / "store", Asked("ascendnpu-ir", runs=(tmp_path / "runs",)))
    assert [e.change for e in found.expired if e.run == str(tmp_path / "runs")] == ["changed"]


def test_a_corpus_of_an_address_is_compared_by_the_revisions_that_were_fetched(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITONKB_HOME", str(tmp_path / "home"))
    spec = f"ascendnpu-ir=file://{repository}"
    old = git(repository, "rev-parse", "HEAD")
    build(tmp_path / "store", [parse_spec(spec)], "hash", lambda *_: None)
    new = commit(repository, {TD: PASSES + JOIN})
    build(tmp_path / "store", [parse_spec(spec)], "hash", lambda *_: None)
    shutil.rmtree(repository)
    for folder in generations(tmp_path / "store").finished[:-1]:
        shutil.rmtree(folder)
    found = diff(tmp_path / "store", Asked("ascendnpu-ir", old, new))
    assert [t.name for t in found.passes.added] == ["toy-join"]

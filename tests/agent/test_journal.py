"""A run on disk survives what happens to runs."""

from pathlib import Path

import pytest

from agent.contract import ChecksDoc, RewriteDoc, RoundDoc
from agent.journal import JOURNAL, Journal, Terms
from agent.records import KernelSource
from indexer.errors import BadInput, StoreError

TERMS = Terms("ascend910b3")
SOURCE = KernelSource(Path("k.py"), "x = 1\n")


def a_round(n: int, verdict: str) -> RoundDoc:
    return RoundDoc(
        n=n, entry_rung="pattern", deepest_rung="source", escalations=[], findings=[],
        rewrite=RewriteDoc(
            name="narrow", author="rule", symptom="i64_cmp", line_text="y", claim="c", precondition="p", citations=[],
            diff="",
        ),
        verdict=verdict,
        checks=ChecksDoc(
            level="none", verdict="unchecked", cases=0, seeds=[], shapes=[], max_error=None, tolerance="", reasons=[],
            not_covered=[], sandbox=[],
        ),
        cost=None, claim_verdict="open", reason="", seconds=0.1,
    )  # fmt: skip


def test_a_resumed_run_has_its_rounds_and_the_last_kept_kernel(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "run")
    journal.begin(SOURCE, TERMS)
    journal.record(a_round(1, "kept"), "x = 2\n")
    journal.record(a_round(2, "slower"), "x = 3\n")
    past = Journal(tmp_path / "run").resume(SOURCE, TERMS)
    assert [r.verdict for r in past.rounds] == ["kept", "slower"]
    assert (past.best_round, past.best_text) == (1, "x = 2\n")
    assert journal.best.read_text() == "x = 2\n"


def test_a_journal_line_cut_by_a_crash_is_dropped(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.begin(SOURCE, TERMS)
    journal.record(a_round(1, "kept"), "x = 2\n")
    whole = (tmp_path / JOURNAL).read_bytes()
    (tmp_path / JOURNAL).write_bytes(whole[:-20])
    past = journal.resume(SOURCE, TERMS)
    assert past.rounds == ()
    assert past.best_text == SOURCE.text


def test_a_round_recorded_after_a_cut_line_is_not_glued_to_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.begin(SOURCE, TERMS)
    journal.record(a_round(1, "kept"), "x = 2\n")
    (tmp_path / JOURNAL).write_bytes((tmp_path / JOURNAL).read_bytes()[:-20])
    journal.resume(SOURCE, TERMS)
    journal.record(a_round(1, "kept"), "x = 4\n")
    past = journal.resume(SOURCE, TERMS)
    assert (len(past.rounds), past.best_text) == (1, "x = 4\n")


def test_a_folder_with_a_run_is_not_overwritten(tmp_path: Path) -> None:
    Journal(tmp_path).begin(SOURCE, TERMS)
    with pytest.raises(BadInput, match="--resume"):
        Journal(tmp_path).begin(SOURCE, TERMS)


@pytest.mark.parametrize(
    ("source", "terms", "told"),
    [
        (KernelSource(Path("k.py"), "x = 9\n"), Terms("ascend910b3", model="toy"), "another text"),
        (SOURCE, Terms("ascend950", model="toy"), "--target ascend910b3"),
        (SOURCE, Terms("ascend910b3", model="toy", ladder="no-ir"), "--ladder full"),
        (SOURCE, Terms("ascend910b3", model="other"), "--model toy"),
        (SOURCE, Terms("ascend910b3"), "--model toy"),
    ],
)
def test_another_file_or_other_terms_cannot_resume_a_run(
    tmp_path: Path, source: KernelSource, terms: Terms, told: str
) -> None:
    Journal(tmp_path).begin(SOURCE, Terms("ascend910b3", model="toy"))
    with pytest.raises(BadInput, match=told):
        Journal(tmp_path).resume(source, terms)


def test_a_model_may_join_a_run_that_began_without(tmp_path: Path) -> None:
    Journal(tmp_path).begin(SOURCE, TERMS)
    assert Journal(tmp_path).resume(SOURCE, Terms("ascend910b3", model="toy")).rounds == ()


def test_a_round_without_a_proposal_has_no_candidate_and_is_resumed(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.begin(SOURCE, TERMS)
    journal.record(a_round(1, "rejected").model_copy(update={"rewrite": None}), None)
    past = journal.resume(SOURCE, TERMS)
    assert (len(past.rounds), past.candidates) == (1, ())


def test_an_empty_folder_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no run to resume"):
        Journal(tmp_path).resume(SOURCE, TERMS)


def test_a_full_disk_is_a_store_error_and_leaves_no_part_file(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    journal = Journal(tmp_path)
    journal.begin(SOURCE, TERMS)
    (tmp_path / JOURNAL).unlink()
    (tmp_path / JOURNAL).symlink_to("/dev/full")
    with pytest.raises(StoreError, match="no space left to write"):
        journal.record(a_round(1, "kept"), "x = 2\n")
    assert not list(tmp_path.rglob("*.part"))


def test_a_damaged_journal_is_told_as_one(tmp_path: Path) -> None:
    Journal(tmp_path).begin(SOURCE, TERMS)
    (tmp_path / JOURNAL).write_text('{"kind": "start"}\n')
    with pytest.raises(BadInput, match="damaged"):
        Journal(tmp_path).resume(SOURCE, TERMS)


def test_a_run_whose_candidate_is_gone_is_told_as_damaged(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.begin(SOURCE, TERMS)
    journal.record(a_round(1, "kept"), "x = 2\n")
    journal.candidate(1).unlink()
    with pytest.raises(BadInput, match="damaged"):
        journal.resume(SOURCE, TERMS)


def test_a_folder_that_cannot_be_made_is_not_told_as_a_full_disk() -> None:
    if not Path("/proc/self").exists():
        pytest.skip("this system has no /proc")
    with pytest.raises(StoreError, match="No such file or directory; give another --out"):
        Journal(Path("/proc/nowhere/out")).begin(SOURCE, TERMS)


def test_an_output_below_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="give another --out"):
        Journal(tmp_path / "file/out").begin(SOURCE, TERMS)

"""The scoring of attribution, on findings made up for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.evaluate import Score, read_truth, score_pairs
from agent.evaluate_documents import attribution_doc
from agent.records import Counterfactual, Evidence, Finding, Structure
from indexer.errors import BadInput, ToolchainError
from indexer.messages import message
from indexer.store import CorpusMark

COMMIT = "a" * 40
RANGE = {"repo": "https://host/Group/AscendNPU-IR", "path": "lib/Pass.cpp", "start": 10, "end": 20, "commit": "a" * 9}


def finding(symptom: str, line: int | None = 5, made_by: str | None = "the-pass", cited: Sequence[str] = ()) -> Finding:
    note = message("symptoms.i64_cmp_title")
    seen = Structure(symptom, line, (), "", "hivm", made_by, None)
    evidence = tuple(Evidence(id_, "0", ()) for id_ in cited)
    return Finding(
        symptom, note, note, note, 0.5, "b", Path("k.py"), line, "", seen, Counterfactual(note, "open"), evidence
    )  # fmt: skip


def mark(name: str = "ascendnpu-ir", commit: str = COMMIT) -> CorpusMark:
    return CorpusMark(name, "o", commit, "a3", name, 1, 1, "now")


def score(
    folder: Path,
    slow: list[Finding],
    fast: list[Finding] | None = None,
    marks: Sequence[CorpusMark] = (),
    **truth: object,
) -> Score:
    entry = {"symptom": "s", "target": "ascend910b3", "line": 5, "passes": ["the-pass"], "evidence": [], **truth}
    (folder / "truth.json").write_text(json.dumps({"pair": entry}))
    for side in ("slow", "fast"):
        (folder / f"pair_{side}.py").write_text("")
    given = {"pair_slow.py": slow, "pair_fast.py": fast or []}
    return score_pairs(folder, lambda file, _: given[file.name], marks, lambda _: None)


def test_all_right_is_one_and_no_alarm(tmp_path: Path) -> None:
    found = score(tmp_path, [finding("s")])
    assert (found.symptom_accuracy, found.line_accuracy, found.pass_accuracy, found.false_alarms) == (1.0, 1.0, 1.0, 0)


def test_a_symptom_counts_among_the_first_three_only(tmp_path: Path) -> None:
    others = [finding(name) for name in "abc"]
    assert score(tmp_path, [*others[:2], finding("s")]).symptom_accuracy == 1.0
    assert score(tmp_path, [*others, finding("s")]).symptom_accuracy == 0.0


def test_a_line_unknown_in_the_truth_is_not_scored(tmp_path: Path) -> None:
    assert score(tmp_path, [finding("s", line=99)], line=None).line_accuracy is None
    assert score(tmp_path, [finding("s", line=99)]).line_accuracy == 0.0


def test_without_accepted_passes_none_may_be_named(tmp_path: Path) -> None:
    assert score(tmp_path, [finding("s", made_by=None)], passes=[]).pass_accuracy == 1.0
    assert score(tmp_path, [finding("s")], passes=[]).pass_accuracy == 0.0


def test_only_the_pairs_own_symptom_on_the_fast_kernel_is_a_false_alarm(tmp_path: Path) -> None:
    assert score(tmp_path, [finding("s")], [finding("other")]).false_alarms == 0
    assert score(tmp_path, [finding("s")], [finding("a"), finding("b"), finding("c"), finding("s")]).false_alarms == 1


@pytest.mark.parametrize(
    ("place", "recall"),
    [
        (f"ascendnpu-ir@{COMMIT[:12]}:lib/Pass.cpp#L1-L10", 1.0),
        (f"ascendnpu-ir@{COMMIT[:12]}:lib/Pass.cpp#L21-L30", 0.0),
        (f"ascendnpu-ir@{COMMIT[:12]}:lib/Other.cpp#L1-L30", 0.0),
        ("ascendnpu-ir@bbbbbbbbbbbb:lib/Pass.cpp#L1-L30", 0.0),
        (f"triton-ascend@{COMMIT[:12]}:lib/Pass.cpp#L1-L30", 0.0),
    ],
)
def test_evidence_counts_when_it_overlaps_a_true_range_at_its_commit(tmp_path: Path, place: str, recall: float) -> None:
    found = score(tmp_path, [finding("s", cited=[place])], marks=[mark()], evidence=[RANGE])
    assert found.evidence_recall == recall


def test_only_the_first_three_passages_count(tmp_path: Path) -> None:
    good = f"ascendnpu-ir@{COMMIT[:12]}:lib/Pass.cpp#L12-L13"
    bad = f"ascendnpu-ir@{COMMIT[:12]}:lib/Pass.cpp#L90-L91"
    late = score(tmp_path, [finding("s", cited=[bad, bad, bad, good])], marks=[mark()], evidence=[RANGE])
    assert late.evidence_recall == 0.0


def test_evidence_is_not_scored_without_the_corpus_at_the_truths_commit(tmp_path: Path) -> None:
    found = score(tmp_path, [finding("s")], marks=[mark(commit="c" * 40)], evidence=[RANGE])
    doc = attribution_doc(found, "en")
    assert doc.evidence_recall is None
    assert doc.evidence_note is not None
    assert "AscendNPU-IR@aaaaaaaaa" in doc.evidence_note


def test_a_kernel_that_cannot_be_read_is_a_miss_with_its_reason(tmp_path: Path) -> None:
    score(tmp_path, [])

    def stuck(_file: Path, _target: str) -> list[Finding]:
        raise BadInput("eval.no_truth", path="there")

    doc = attribution_doc(score_pairs(tmp_path, stuck, (), lambda _: None), "en")
    assert doc.symptom_accuracy == 0.0
    assert "there" in (doc.cases[0].error or "")


def test_a_missing_toolchain_is_no_miss(tmp_path: Path) -> None:
    score(tmp_path, [])

    def stuck(_file: Path, _target: str) -> list[Finding]:
        raise ToolchainError("toolchain.missing", python="there")

    with pytest.raises(ToolchainError):
        score_pairs(tmp_path, stuck, (), lambda _: None)


def test_the_document_has_the_contracts_fields(tmp_path: Path) -> None:
    doc = attribution_doc(score(tmp_path, [finding("s")]), "en").to_json()
    wanted = {"n", "symptom_accuracy", "line_accuracy", "pass_accuracy", "evidence_recall", "false_alarms", "cases"}
    assert wanted <= set(doc)


@pytest.mark.parametrize("text", [None, "{", '{"p": {}}', "[]", '{"p": {"symptom": "s", "target": "t", "passes": []}}'])
def test_a_folder_without_a_usable_truth_is_refused(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "truth.json").write_text(text)
    with pytest.raises(BadInput):
        read_truth(tmp_path)

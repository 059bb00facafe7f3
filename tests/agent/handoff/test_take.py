import json
from pathlib import Path

import pytest

from agent.cli.main import run
from agent.handoff.made import Made, note_made
from agent.handoff.take import take_bundle
from agent.measure.plan import RESULTS, read_plan, seal
from indexer.errors import BadInput
from tests.agent.handoff.bundles import FAST, WRONG, make_bundle


def _timing(us: float) -> dict[str, object]:
    return {
        "us": us, "quartiles_us": [us, us], "spread": 0.0, "agreed": True, "groups_us": [us, us], "replays": 15,
        "method": "events", "l2": "as it is",
    }  # fmt: skip


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a bundle that was made here, with results as its program writes them."""
    monkeypatch.setenv("TRITONKB_HOME", str(tmp_path / "home"))
    folder = tmp_path / "bundle"
    note_made(Made(make_bundle(folder, fast=FAST, wrong=WRONG), str(folder), {"slow": ""}))
    plan = read_plan(folder)
    checks = {"cases": ["shape (64, 100), seed 0"], "max_error": 1e-7}
    machine = {"device": "a test", "torch": "2"}
    initial, fast = (plan.kernels[0].initial, plan.kernels[0].candidates[0].file)
    common = {"kernel": "slow", "plan": plan.sha256, "status": "ok", "started": 1.0, "seconds": 1.0}
    timed = {"checks": checks, "machine": machine}
    found = {"best": "c01", "us": {}, "failed": {"c02": "wrong: x"}, "tried": 3}
    others = {"library": {"timing": _timing(50.0)}, "compiled": {"error": "no compiler"}}
    records = [
        {"job": "explore:slow", "result": found, "files": {}},
        {"job": "initial:slow", "result": {**timed, "timing": _timing(100.0)}, "files": {initial: plan.files[initial]}},
        {"job": "best:slow:c01", "result": {**timed, "timing": _timing(25.0)}, "files": {fast: plan.files[fast]}},
        {"job": "yardsticks:slow", "result": others, "files": {}},
    ]
    (folder / RESULTS).write_text("".join(json.dumps(seal({**common, **r})) + "\n" for r in records))
    return folder


def test_results_are_taken_as_measured(bundle: Path) -> None:
    doc, _ = take_bundle(bundle)
    kernel = doc.kernels[0]
    assert kernel.speedup == 4.0
    assert kernel.best_time is not None
    assert kernel.best_time.basis == "measured"
    assert kernel.best_note == "fast"
    assert kernel.library is not None
    assert kernel.compiled is None
    assert doc.against_library == 2.0
    assert kernel.failed == {"c02": "wrong: x"}


def test_results_of_a_run_go_beside_its_journal(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    note_made(Made(read_plan(bundle).sha256, str(bundle), {"slow": str(folder)}))
    assert run(["bundle", "take", str(bundle)]) == 0
    assert "4.00" in capsys.readouterr().out
    written = json.loads((folder / "measured.json").read_text())
    assert written["kernels"][0]["best_time"]["basis"] == "measured"
    assert written["kernels"][0]["speedup"] == 4.0


def test_a_result_that_was_edited_is_refused(bundle: Path) -> None:
    path = bundle / RESULTS
    path.write_text(path.read_text().replace('"us": 25.0', '"us": 2.5'))
    with pytest.raises(BadInput) as refused:
        take_bundle(bundle)
    assert refused.value.note.key == "handoff.changed"


def test_a_candidate_that_was_edited_is_refused(bundle: Path) -> None:
    path = bundle / "kernels" / "slow" / "c01.py"
    path.write_text(path.read_text() + "\n# faster now\n")
    with pytest.raises(BadInput) as refused:
        take_bundle(bundle)
    assert refused.value.note.values["path"] == path


def test_the_program_of_a_bundle_is_among_what_may_not_be_edited(bundle: Path) -> None:
    (bundle / "measure" / "clock.py").write_text("AGREEMENT = 9\n")
    with pytest.raises(BadInput):
        take_bundle(bundle)


def test_a_plan_that_was_not_made_here_is_refused(bundle: Path) -> None:
    plan = json.loads((bundle / "plan.json").read_text())
    (bundle / "plan.json").write_text(json.dumps({**plan, "twice": ["slow"]}))
    with pytest.raises(BadInput) as refused:
        take_bundle(bundle)
    assert refused.value.note.key == "handoff.unknown"


def test_a_result_of_other_files_is_refused_though_it_is_sealed(bundle: Path) -> None:
    path = bundle / RESULTS
    records = [json.loads(line) for line in path.read_text().splitlines()]
    records[2]["files"] = dict.fromkeys(records[2]["files"], "0" * 64)
    path.write_text("".join(json.dumps(seal(r)) + "\n" for r in records))
    with pytest.raises(BadInput) as refused:
        take_bundle(bundle)
    assert refused.value.note.key == "handoff.other_files"


def test_a_line_cut_by_a_kill_is_left_out(bundle: Path) -> None:
    path = bundle / RESULTS
    path.write_text(path.read_text()[:-40])
    doc, _ = take_bundle(bundle)
    assert doc.kernels[0].library is None
    assert doc.kernels[0].speedup == 4.0


def test_a_bundle_without_results_says_what_to_run(bundle: Path) -> None:
    (bundle / RESULTS).unlink()
    with pytest.raises(BadInput) as refused:
        take_bundle(bundle)
    assert refused.value.note.key == "handoff.no_results"

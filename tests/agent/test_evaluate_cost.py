from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from agent.cli.main import run
from agent.edit_names import with_names
from agent.evaluate_cost import Predicted, Timing, read_timings, score, spearman
from agent.evaluate_cost_documents import cost_evaluation_doc
from indexer.errors import BadInput


def timing(us: float, case: str = "a") -> Timing:
    return Timing(f"{case}{us}", case, case, us, cold=True)


def rows_of(tmp_path: Path, *rows: dict[str, object]) -> list[Timing]:
    path = tmp_path / "timings.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return read_timings(path)


def test_rows_of_the_contract_and_of_both_public_lists_are_read(tmp_path: Path) -> None:
    own, sweep, kernel = rows_of(
        tmp_path,
        {"id": "x1", "file": "x.py", "config": {"B": 4}, "shape": [8], "dtype": "fp16", "cold": False,
         "target": "ascend910b3", "us": 3},
        {"case": "sum-large", "shape": [8, 2], "config": {"M": 4, "N": 2}, "grid": None, "us": 7.5},
        {"kernel": "5_Scale", "triton_us": 9},
    )  # fmt: skip
    assert own == Timing(
        "x1", "x", "x.py", 3.0, cold=False, config={"B": 4}, shape=(8,), dtype="fp16", target="ascend910b3"
    )
    assert (sweep.id, sweep.case, sweep.file, sweep.cold) == ("sum-large/M=4,N=2", "sum-large", "sum_large", False)
    assert (kernel.file, kernel.cold, kernel.config) == ("5_Scale", True, {})


@pytest.mark.parametrize(
    "row", [{"us": 3}, {"id": "a", "file": "a.py", "us": -1}, {"id": "a", "file": "a.py", "us": "3"}]
)
def test_a_row_that_is_no_timing_is_named_by_its_line(tmp_path: Path, row: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="line 2"):
        rows_of(tmp_path, {"kernel": "a", "triton_us": 1}, row)


def test_what_is_not_predicted_counts_as_infinitely_wrong() -> None:
    found = score([(timing(10), 11.0), (timing(20), None), (timing(30), None)])
    assert found.median_error == math.inf
    assert found.within_35 == pytest.approx(1 / 3)


def test_equal_predictions_are_ranked_against_the_measured_order() -> None:
    assert spearman([(1.0, 5.0), (2.0, 5.0), (3.0, 5.0)]) == pytest.approx(-1)
    assert spearman([(1.0, 5.0), (2.0, 6.0), (3.0, 7.0)]) == pytest.approx(1)
    assert spearman([(1.0, 5.0), (2.0, 6.0)]) is None


def test_ranks_are_compared_in_each_band_alone() -> None:
    pairs = [(timing(t), 1000.0 / t if t < 100 else t) for t in (1.0, 2.0, 3.0, 200.0, 300.0, 400.0)]
    found = score(pairs)
    assert found.below_100us == pytest.approx(-1)
    assert found.above_100us == pytest.approx(1)


def test_a_sweep_with_equal_predictions_has_the_regret_of_its_worst_choice() -> None:
    pairs = [(timing(10, "s"), 5.0), (timing(20, "s"), 5.0), (timing(15, "s"), 6.0), (timing(9, "alone"), 9.0)]
    (sweep,) = score(pairs).sweeps
    assert (sweep.case, sweep.configurations, sweep.regret) == ("s", 3, pytest.approx(1.0))
    assert score(pairs).best_within_5 == 0


def test_the_document_holds_the_fields_of_the_contract_and_the_baseline_beside_them() -> None:
    found = [Predicted(timing(t, f"c{t}"), t * 1.1, t * 3, t / 2, t * 2, "memory") for t in (10.0, 20.0, 300.0)]
    found.append(Predicted(timing(5, "gone"), None, None, note="rejected"))
    doc = cost_evaluation_doc(found).to_json()
    assert {"n", "median_error", "within_35", "spearman", "best_within_5", "baseline", "cases"} <= set(doc)
    assert (doc["n"], doc["predicted"]) == (4, 3)
    assert doc["median_error"] == pytest.approx(0.1)
    assert doc["baseline"]["median_error"] == pytest.approx(2.0)
    assert doc["cases"][3]["note"] == "rejected"
    assert {case["basis"] for case in doc["cases"]} == {"predicted"}


def test_a_row_sets_names_constants_and_keywords_of_a_file() -> None:
    text = 'DTYPE = "float32"\nCONSTS = {"BLOCK": 64, "K": 2}\ndef run(x):\n    k[(1,)](x, BLOCK=64, K=2)\n'
    changed = with_names(text, {"DTYPE": "float16", "BLOCK": 128})
    assert changed == text.replace("'", '"').replace('"float32"', "'float16'").replace("64", "128")


def test_a_file_that_holds_no_timings_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("no json", encoding="utf-8")
    assert run(["eval", "cost", str(path)]) == 2
    assert "line 1" in capsys.readouterr().err

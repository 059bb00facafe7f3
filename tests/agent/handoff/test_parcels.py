from pathlib import Path

import pytest

from agent.handoff.parcels import parcel_of
from agent.journal import BEST, INITIAL, Journal, Terms
from agent.records import KernelSource
from indexer.errors import BadInput

SUITE = Path(__file__).parents[3] / "bench" / "suite"


def test_a_file_comes_with_its_expert_and_configurations() -> None:
    parcel = parcel_of(SUITE / "cross_entropy.py", "cuda:90", SUITE / "expert", 20)
    assert parcel.id == "cross_entropy"
    assert "def expert(" in parcel.expert
    assert 0 < len(parcel.offers) <= 40


def test_nothing_is_configured_by_rules_of_another_device() -> None:
    assert parcel_of(SUITE / "add_relu.py", "ascend910b3", None, 20).offers == ()


def test_a_run_is_offered_as_it_was_found(tmp_path: Path) -> None:
    text = (SUITE / "add_relu.py").read_text()
    journal = Journal(tmp_path)
    journal.begin(KernelSource(SUITE / "add_relu.py", text), Terms("cuda:90"))
    journal.best.write_text(text.replace("128", "1024"))
    parcel = parcel_of(tmp_path, "cuda:90", None, 20)
    assert parcel.initial == (tmp_path / INITIAL).read_text()
    assert parcel.offers
    assert (tmp_path / BEST).read_text() != parcel.initial
    with pytest.raises(BadInput) as refused:
        parcel_of(tmp_path, "ascend910b3", None, 20)
    assert refused.value.note.key == "journal.other_target"


def test_a_file_that_cannot_check_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bare.py"
    path.write_text("def run(x):\n    return x\n")
    with pytest.raises(BadInput) as refused:
        parcel_of(path, "cuda:90", None, 20)
    assert refused.value.note.values["missing"] == "make_inputs, reference"

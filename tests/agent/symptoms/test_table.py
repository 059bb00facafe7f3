import json
import string
from pathlib import Path

import pytest

from agent.symptoms.base import Symptom
from agent.symptoms.table import SYMPTOMS
from indexer.messages import LANGUAGES, catalogue

PAIRS = Path(__file__).parents[2] / "pairs"
SOURCE = Path(__file__).parents[3] / "agent/symptoms"
symptoms = pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda s: s.id)


def test_ids_are_unique() -> None:
    assert len({s.id for s in SYMPTOMS}) == len(SYMPTOMS)


def test_every_symptom_of_the_folder_is_in_the_table() -> None:
    files = {p.stem for p in SOURCE.glob("*.py") if "= Symptom(" in p.read_text(encoding="utf-8")}
    assert files == {s.id for s in SYMPTOMS}


@symptoms
def test_a_symptom_is_told_in_both_languages(symptom: Symptom) -> None:
    for part in ("title", "why", "advice", "change"):
        texts = catalogue()[f"symptoms.{symptom.id}_{part}"]
        fields = [{name for _, name, _, _ in string.Formatter().parse(texts[lang]) if name} for lang in LANGUAGES]
        assert fields[0] == fields[1]
        assert fields[0] <= ({"line", "before", "after"} if part == "change" else set())


@symptoms
def test_a_symptom_has_compilers_and_words_to_look_up(symptom: Symptom) -> None:
    assert symptom.archs <= {"a3", "a5"}
    assert symptom.archs
    assert symptom.ops
    assert len(symptom.query.split()) > 5


@symptoms
def test_a_symptom_has_a_pair_of_kernels(symptom: Symptom) -> None:
    truth = json.loads((PAIRS / "truth.json").read_text(encoding="utf-8"))
    entry = truth[symptom.id]
    assert entry["symptom"] == symptom.id
    assert set(entry["passes"]) & set(symptom.passes) or not symptom.passes
    for side in ("slow", "fast"):
        assert (PAIRS / f"{symptom.id}_{side}.py").exists()

"""The table of CUDA symptoms is whole: a file, a text, a card and a pair of kernels for each."""

import json
import string
from pathlib import Path

import pytest

from agent.symptoms.base import Symptom
from agent.symptoms.cuda.table import CUDA_SYMPTOMS
from agent.symptoms.registry import find_symptom, symptoms_of
from indexer.messages import LANGUAGES, catalogue

ROOT = Path(__file__).parents[3]
PAIRS = ROOT / "tests/pairs_cuda"
TRUTH = json.loads((PAIRS / "truth.json").read_text(encoding="utf-8"))
symptoms = pytest.mark.parametrize("symptom", CUDA_SYMPTOMS, ids=lambda s: s.id)


def test_every_symptom_of_the_folder_is_in_the_table() -> None:
    folder = ROOT / "agent/symptoms/cuda"
    files = {p.stem for p in folder.glob("*.py") if "= Symptom(" in p.read_text(encoding="utf-8")}
    assert files == {s.id for s in CUDA_SYMPTOMS}
    assert len(CUDA_SYMPTOMS) == len(files) == 25


def test_an_id_means_what_its_compiler_does() -> None:
    ascend, cuda = find_symptom("divmod_index", "a3"), find_symptom("divmod_index", "cuda")
    assert ascend is not None
    assert cuda is not None
    assert ascend.card != cuda.card
    assert {s.id for s in symptoms_of("cuda")} == {s.id for s in CUDA_SYMPTOMS}


@symptoms
def test_a_symptom_is_told_in_both_languages(symptom: Symptom) -> None:
    for part in ("title", "why", "advice", "change"):
        texts = catalogue()[f"cuda.{symptom.id}_{part}"]
        fields = [{name for _, name, _, _ in string.Formatter().parse(texts[lang]) if name} for lang in LANGUAGES]
        assert fields[0] == fields[1]
        assert fields[0] <= ({"line", "before", "after"} if part == "change" else set())


@symptoms
def test_a_symptom_has_a_pair_of_kernels(symptom: Symptom) -> None:
    entry = TRUTH[symptom.id]
    assert entry["symptom"] == symptom.id
    assert bool(entry["passes"]) == bool(symptom.passes) or symptom.id == "reg_spill"
    for side in ("slow", "fast"):
        assert (PAIRS / f"{symptom.id}_{side}.py").exists()

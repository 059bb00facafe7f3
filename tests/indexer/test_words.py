from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.stem import stem
from indexer.words import count_words, split_identifier, words_of


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("enableAutoMultiBuffer", ["enable", "auto", "multi", "buffer"]),
        ("hivm-plan-memory", ["hivm", "plan", "memory"]),
        ("EnableHIVMCompile", ["enable", "hivm", "compile"]),
        ("MTE2_PIPE", ["mte", "2", "pipe"]),
    ],
)
def test_an_identifier_is_split_into_its_words(name: str, parts: list[str]) -> None:
    assert split_identifier(name) == parts


def test_a_question_and_a_name_share_words() -> None:
    assert set(words_of("planning the memory of buffers")) >= set(words_of("plan memory buffer"))


def test_a_compound_name_also_stands_whole() -> None:
    assert "hivm-plan-memory" in words_of("run hivm-plan-memory last")


def test_chinese_is_cut_into_pairs_of_characters() -> None:
    assert words_of("双缓冲区") == ["双缓", "缓冲", "冲区"]
    assert set(words_of("开启双缓冲")) & set(words_of("双缓冲预取"))


def test_grammar_words_do_not_count() -> None:
    assert words_of("what is the") == []


@given(st.lists(st.text("aB9_-. \n双缓é"), max_size=3))
def test_words_are_counted_as_they_are_read(texts: list[str]) -> None:
    assert count_words(*texts) == Counter(word for text in texts for word in words_of(text))


@given(st.text("aB9_-. \n", max_size=8), st.text("双缓é", max_size=2))
def test_a_text_with_other_characters_has_the_same_words(plain: str, other: str) -> None:
    assert words_of(f"{plain} {other}") == [*words_of(plain), *words_of(other)]


# Pairs published with the algorithm (M. F. Porter, 1980).
@pytest.mark.parametrize(
    ("word", "root"),
    [
        ("caresses", "caress"), ("ponies", "poni"), ("cats", "cat"), ("agreed", "agre"), ("plastered", "plaster"),
        ("motoring", "motor"), ("conflated", "conflat"), ("hopping", "hop"), ("hissing", "hiss"), ("filing", "file"),
        ("happy", "happi"), ("relational", "relat"), ("conditional", "condit"), ("vietnamization", "vietnam"),
        ("triplicate", "triplic"), ("electrical", "electr"), ("hopefulness", "hope"), ("revival", "reviv"),
        ("adjustable", "adjust"), ("replacement", "replac"), ("adoption", "adopt"), ("probate", "probat"),
        ("rate", "rate"), ("controlling", "control"), ("roll", "roll"),
    ],
)  # fmt: skip
def test_the_stemmer_agrees_with_the_paper(word: str, root: str) -> None:
    assert stem(word) == root

import time

import pytest

from indexer.diagnostics import Templates, mask, says_enough

OVERFLOW = "overflow, requires * bits while * bits available! (possible reason: the tile is too large)"
TEMPLATES = Templates([OVERFLOW, "unsupported reduce operation:", "unsupported reduce op", "failed to split loop *"])


@pytest.mark.parametrize(
    ("printed", "masked"),
    [
        ("/tmp/k.py:12:3: error: needs 12 bytes", "needs * bytes"),
        ("loc(\"a.mlir\":3:4): error: 'x.hir.vadd' op needs 0x1F bytes", "needs * bytes"),
        ('loc(fused["k.py":1:2, callsite("k.py":3:4 at "k.py":5:6)]): error: no', "no"),
        ("\x1b[1mwarning: \x1b[0mtype 'tensor<4xf32>' is odd", "type * is odd"),
        ("got tensor<4x?xf32, strided<[1]>> for %arg0 of @kernel", "got * for * of *"),
        ("ValueError: unknown arch `b3`", "unknown arch *"),
        ("it doesn't fit, won't fit", "it doesn't fit, won't fit"),
        ("LLVM ERROR: cannot go on", "cannot go on"),
        ("item #12 of @kernel", "item * of *"),
        ("item #* of @*", "item * of *"),
        ("", ""),
    ],
)
def test_numbers_names_types_and_prefixes_are_masked(printed: str, masked: str) -> None:
    assert mask(printed) == masked


@pytest.mark.parametrize("text", ["needs 12 bytes", "got 'x' and tensor<4xf32>", OVERFLOW, "a * b"])
def test_masking_a_masked_text_changes_nothing(text: str) -> None:
    assert mask(mask(text)) == mask(text)


def test_a_pasted_diagnostic_is_found_with_its_numbers_and_prefix() -> None:
    pasted = (
        'loc("k.py":9:1): error: ub overflow, requires 3146240 bits while 1572864 bits available! '
        "(possible reason: the tile is too large)"
    )
    assert TEMPLATES.find(pasted) == [OVERFLOW]


def test_a_diagnostic_is_found_inside_a_log_and_when_a_terminal_wrapped_it() -> None:
    log = (
        "compiling k\nerror: ub overflow, requires 1 bits while 2\n bits available! (possible reason: the tile is\n"
        "too large)\nmodule {"
    )
    assert TEMPLATES.find(log) == [OVERFLOW]


def test_the_message_that_explains_most_comes_first() -> None:
    assert TEMPLATES.find("'a.b' op unsupported reduce operation: xor")[0] == "unsupported reduce operation:"


@pytest.mark.parametrize("text", ["", "failed", "everything is fine", "overflow, requires nothing", "\0" * 50])
def test_other_text_finds_nothing(text: str) -> None:
    assert TEMPLATES.find(text) == []


def test_a_message_that_is_worded_a_little_differently_is_told_as_near() -> None:
    assert TEMPLATES.near("overflow: bits available but tile too large", 2) == [OVERFLOW]


def test_a_word_or_two_is_no_message() -> None:
    assert not says_enough("failed *")
    assert says_enough("unsupported reduce operation:")


def test_a_long_or_strange_text_is_read_in_no_time() -> None:
    strange = ["a" * 1_000_000, "<" * 5000 + ">" * 5000, "a." * 500_000, "'" * 100_000, "x<" * 900, "loc(" * 3000]
    begin = time.process_time()
    assert [TEMPLATES.find(text) for text in (*strange, "error: cannot lower 12 of them\n" * 5000)] == [[]] * 7
    assert time.process_time() - begin < 2

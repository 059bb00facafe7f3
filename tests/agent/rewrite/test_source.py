from hypothesis import given, settings
from hypothesis import strategies as st

from agent.rewrite.source import Edit, read_kernel

TEXT = '''import triton
from triton import language as lang


@triton.jit
def kern(x_ptr, n):
    """Ümläut."""
    a = 1; b = 2  # twö
    c = f(a,
          b)
'''


def test_no_edit_gives_the_very_file_back() -> None:
    file = read_kernel(TEXT, "kern")
    assert file is not None
    assert file.apply([]) == TEXT


def test_an_edit_leaves_all_other_text_as_it_is() -> None:
    file = read_kernel(TEXT, "kern")
    assert file is not None
    second = file.kernel.body.body[1].body[1]
    assert file.apply([file.replace(second, "b = 3")]) == TEXT.replace("b = 2", "b = 3")


def test_a_line_put_before_the_second_statement_of_a_line_comes_after_the_first() -> None:
    file = read_kernel(TEXT, "kern")
    assert file is not None
    line = file.kernel.body.body[1]
    new = file.apply([file.insert_before(line, line.body[1], ["x = 0", "y = 0"])])
    assert new == TEXT.replace("a = 1; b = 2  # twö", "a = 1\n    x = 0\n    y = 0\n    b = 2  # twö")


def test_overlapping_edits_give_no_file() -> None:
    file = read_kernel(TEXT, "kern")
    assert file is not None
    assert file.apply([Edit(0, 10, ""), Edit(5, 12, "")]) is None


@settings(max_examples=40)
@given(st.integers(0, len(TEXT.encode())), st.text("():\n\t ab", max_size=4))
def test_a_result_always_parses(position: int, inserted: str) -> None:
    file = read_kernel(TEXT, "kern")
    assert file is not None
    if "\ufffd" in (file.data[:position].decode(errors="replace") + file.data[position:].decode(errors="replace")):
        return
    new = file.apply([Edit(position, position, inserted)])
    if new is not None:
        compile(new, "kern.py", "exec")


def test_the_name_of_triton_language_is_the_files_own() -> None:
    file = read_kernel(TEXT, "kern")
    assert file is not None
    assert file.language == "lang"


def test_a_fresh_name_is_not_in_the_file() -> None:
    file = read_kernel(TEXT, "kern")
    assert file is not None
    assert file.fresh("a") == "a_2"
    assert file.fresh("z") == "z"


def test_a_kernel_that_is_absent_or_there_twice_is_not_read() -> None:
    assert read_kernel(TEXT, "other") is None
    assert read_kernel(TEXT + "\n\ndef kern():\n    pass\n", "kern") is None
    assert read_kernel("def kern(:\n", "kern") is None

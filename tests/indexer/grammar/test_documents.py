"""Markdown, reStructuredText, build files: headings, nothing torn, only language in the natural text."""

from indexer.chunk import LANGUAGES, chunk_file
from indexer.records import Corpus, Passage

CORPUS = Corpus("toy", "here", "0" * 40, "a3")


def chunk(path: str, text: str) -> list[Passage]:
    chunked = chunk_file(CORPUS, path, text, LANGUAGES[path[path.rindex(".") :]])
    assert chunked.parsed
    return list(chunked.passages)


def test_tables_and_code_are_not_torn() -> None:
    table = "\n".join(["| row | cost |", "| --- | --- |", *(f"| {n} | {n * 2} |" for n in range(70))])
    code = "\n".join(["```cpp", *(f"step({n});\n" for n in range(45)), "```"])
    some, more = "A row is wide.\n" * 40, "More.\n" * 30
    text = f"# Rows\n\n{some}\n{table}\n\n{more}\n{code}\n\nEnd.\n"
    passages = chunk("a.md", text)
    assert len(passages) > 2
    assert [p for p in passages if table in p.text]
    assert [p for p in passages if code in p.text]


def test_parts_of_a_section_say_which_headings_they_stand_under_in_any_language() -> None:
    text = "# 行规划\n\n说明。\n\n## 宽行\n\n" + "一段文字。\n\n" * 60
    passages = chunk("a.md", text)
    assert len(passages) > 2
    assert all("行规划" in p.natural for p in passages)


def test_comments_in_code_are_language_and_the_code_is_not() -> None:
    (passage,) = chunk("a.md", "# Build\n\n```bash\n# Build with the row planner switched on\n./build.sh -r\n```\n")
    assert "Build with the row planner switched on" in passage.natural
    assert "build.sh" not in passage.natural


def test_underlined_titles_are_headings_and_settings_are_not() -> None:
    passages = chunk(
        "a.md", "---\ntitle: rows\n---\n\nWide rows\n=========\n\nText.\n\nNarrow rows\n-----------\n\nText.\n"
    )
    assert [p.symbol for p in passages] == ["", "Wide rows", "Narrow rows"]


def test_titles_with_a_line_above_begin_at_that_line() -> None:
    head = "====\nRows\n====\n\nText of rows.\n\nWide\n----\n"
    text = f"{head}\nExample::\n\n    step(1);\n\n.. toctree::\n   :hidden:\n\n   wide\n"
    rows, wide = chunk("a.rst", text)
    assert (rows.start_line, rows.symbol, wide.symbol) == (1, "Rows", "Wide")
    assert "step" not in wide.natural
    assert "toctree" not in wide.natural


def test_a_build_file_gives_its_comments() -> None:
    text = "# Rows are planned by their own library.\nadd_toy_library(ToyRows\n  Rows.cpp\n)\n"
    (passage,) = chunk("lib/Rows/CMakeLists.txt", text)
    assert passage.kind == "code"
    assert passage.natural == "rows. Rows are planned by their own library."

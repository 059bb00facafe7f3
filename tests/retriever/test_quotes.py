"""Quotes are whole lines of the passage, whole statements and sentences; conditions are those around a line."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.records import Language, Passage
from retriever.conditions import emitted, reached
from retriever.definitions import first_sentence
from retriever.facts import option_facts
from retriever.quotes import best_lines, stands_in


def passage(text: str, language: Language = "cpp", first: int = 11) -> Passage:
    last = first + text.count("\n")
    return Passage("toy", "0" * 40, "a/b", first, last, "code", "f", language, text, "")


FILLER = "\n".join(f"int filler{i} = {i};" for i in range(12))


def test_a_statement_is_quoted_whole() -> None:
    code = f"{FILLER}\n  auto rows = plan(\n      tile,\n      bank);\n{FILLER}"
    quote = best_lines(passage(code), {"tile": 3.0})
    assert quote is not None
    assert quote.text == "auto rows = plan(\n    tile,\n    bank);"
    assert (quote.first, quote.last) == (23, 25)


def test_a_comment_is_quoted_whole_with_the_line_it_is_about() -> None:
    code = f"{FILLER}\n// A row that is\n// no multiple of a block\n// would cross it.\nsplit(row);\n{FILLER}"
    quote = best_lines(passage(code), {"multipl": 3.0})
    assert quote is not None
    assert quote.text.splitlines() == [
        "// A row that is",
        "// no multiple of a block",
        "// would cross it.",
        "split(row);",
    ]


def test_a_heading_is_quoted_with_what_it_heads_and_a_row_with_its_header() -> None:
    text = "# Other\n\nx\n\n## Banks\n\nA bank holds\nsixteen rows. More.\n\n"
    text += "| a | b |\n| --- | --- |\n| c | 1 |\n| d | 2 |\n"
    heading = best_lines(passage(text, "markdown"), {"bank": 3.0})
    assert heading is not None
    assert heading.text.splitlines()[-1] == "sixteen rows. More."
    row = best_lines(passage(text, "markdown"), {"d": 3.0})
    assert row is not None
    assert row.text == "| a | b |\n…\n| d | 2 |"


def test_a_paragraph_on_one_line_is_cut_to_its_best_sentences() -> None:
    text = " ".join(f"Sentence number {i} tells nothing of interest." for i in range(20))
    text += " The bank holds sixteen rows. " + "Nothing more. " * 10
    quote = best_lines(passage(text, "markdown"), {"sixteen": 3.0})
    assert quote is not None
    assert quote.text == "… The bank holds sixteen rows. …"
    assert stands_in(quote.text, passage(text))


@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=400), min_size=1, max_size=40),
    st.sampled_from(["cpp", "markdown"]),
)
def test_a_quote_stands_in_its_lines(lines: list[str], language: Language) -> None:
    text = "\n".join("".join(line.splitlines()) for line in [*lines, "the row bank"])
    p = passage(text, language)
    quote = best_lines(p, {"row": 1.0, "bank": 2.0})
    assert quote is not None
    assert p.start_line <= quote.first <= quote.last <= p.end_line
    assert stands_in(quote.text, p)


@pytest.mark.parametrize(
    ("code", "conditions"),
    [
        ("if (a)\n  HERE", ("a",)),
        ("if (a) {\n  if (b &&\n      c) {\n    HERE\n  }\n}", ("b && c", "a")),
        ("if (a) {\n  x();\n} else {\n  HERE\n}", ("!(a)",)),
        ("if (a) {\n  x();\n} else if (b) {\n  HERE\n}", ("b", "!(a)")),
        ("if (a) {\n  x();\n}\nHERE", ()),
        ("if (f(a, (b)))\n  return HERE", ("f(a, (b))",)),
        ("for (;;) {\n#ifdef X\n  if constexpr (a)\n#endif\n    HERE\n}", ("a",)),
        ("if rows % 32:\n    raise HERE", ("rows % 32",)),
    ],
)
def test_the_conditions_around_a_line_are_those_of_its_indentation(code: str, conditions: tuple[str, ...]) -> None:
    at = next(i for i, line in enumerate(code.split("\n")) if "HERE" in line)
    assert reached(passage(code), at).conditions == conditions


def test_the_emitting_line_is_found_among_others() -> None:
    code = (
        'if (a)\n  return op.emitError("row is much too short");\n'
        'if (b)\n  return op.emitError() << "row of " << n << " bytes crosses a block";\n'
    )
    found = emitted(passage(code), "row of * bytes crosses a block")
    assert found is not None
    assert (found.line, found.conditions) == (14, ("b",))
    assert emitted(passage(code), "another message that is not there") is None


def test_the_first_sentence_ends_at_its_end() -> None:
    assert (
        first_sentence("\n  Plans rows, e.g. those\n  of a tile. More.\n\n  Further.")
        == "Plans rows, e.g. those of a tile."
    )
    assert first_sentence("规划各行。再说一句。") == "规划各行。"
    assert first_sentence("") == ""


CPP_FLAG = 'static cl::opt<bool> flag("row-split", cl::desc("Split " "rows."), cl::init(true));'
CPP_MEMBER = 'Option<int> n{*this, "row-split", llvm::cl::desc("Rows."), llvm::cl::init(f(3))};'
TABLEGEN = 'Option<"split", "row-split", "int", /*default=*/"3", "Rows // of a tile.">'


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        (CPP_FLAG, "cpp", ("true", "bool", "Split rows.")),
        (CPP_MEMBER, "cpp", ("f(3)", "int", "Rows.")),
        (TABLEGEN, "tablegen", ("3", "int", "Rows // of a tile.")),
        ('ListOption<"split", "row-split", "int", "Rows.">', "tablegen", ("", "int", "Rows.")),
        ("class Options:\n    row_split: int = 3  # rows\n", "python", ("3", "int", "")),
        ("| Flag | Default |\n| --- | --- |\n| `--row-split` | 3 |\n", "markdown", ("3", "", "")),
    ],
)
def test_an_option_is_read_wherever_it_stands(text: str, language: Language, expected: tuple[str, str, str]) -> None:
    (fact,) = option_facts("row-split", [passage(text, language)])
    assert (fact.default, fact.type, fact.description) == expected


def test_a_fence_is_quoted_with_both_its_ends() -> None:
    text = "Before.\n\n```mlir\nfirst row\nsecond bank\n```\n\nAfter the tile.\n"
    quote = best_lines(passage(text, "markdown"), {"bank": 3.0})
    assert quote is not None
    assert quote.text.splitlines() == ["```mlir", "first row", "second bank", "```"]
    long = "\n".join(["```mlir", *(f"row {i}" for i in range(30)), "the bank", *(f"row {i}" for i in range(30)), "```"])
    quote = best_lines(passage(long, "markdown"), {"bank": 3.0})
    assert quote is not None
    shown = quote.text.splitlines()
    assert (shown[:2], shown[-2:]) == (["```mlir", "…"], ["…", "```"])
    assert stands_in(quote.text, quote.passage)


def test_rows_of_an_html_table_are_quoted_whole() -> None:
    row = "<tr>\n<td>{}</td>\n<td>says</td>\n</tr>"
    text = "<table>\n" + "\n".join(row.format(name) for name in ("tile", "bank", "row")) + "\n</table>"
    quote = best_lines(passage(text, "markdown"), {"bank": 3.0})
    assert quote is not None
    assert quote.text == row.format("bank")


def test_a_heading_that_heads_nothing_is_no_quote_and_ids_of_a_note_are_quoted_with_what_they_are_of() -> None:
    assert best_lines(passage("# Options\n\n## Bank options\n", "markdown"), {"bank": 3.0}) is None
    note = "## English: the bank\n\n- symptom: `bank`\n- Pass：`p`\n- fix: widen the tile.\n"
    quote = best_lines(passage(note, "markdown"), {"bank": 3.0})
    assert quote is not None
    assert quote.text.endswith("- fix: widen the tile.")


def test_of_a_catalogue_only_the_lines_that_match_are_quoted() -> None:
    lines = [
        "pass plan (opt)",
        "Plan rows",
        *(f"  --other{i}: o" for i in range(9)),
        "  --bank=<value>: b",
        "    =wide: w",
    ]
    catalogue = replace(passage("\n".join([*lines, "  --last: l"]), "text"), corpus="toolchain")
    quote = best_lines(catalogue, {"bank": 3.0})
    assert quote is not None
    assert quote.text.splitlines() == ["pass plan (opt)", "…", "  --bank=<value>: b", "    =wide: w"]
    assert stands_in(quote.text, catalogue)


def test_a_licence_is_neither_quoted_nor_grown_over() -> None:
    head = "// Copyright of the row\n// Licensed under the Row License\n// limitations under the License.\n//\n"
    code = f"{head}// A row is a line of a bank.\nint row = 1;\n{FILLER}"
    quote = best_lines(passage(code), {"row": 3.0})
    assert quote is not None
    assert quote.text.splitlines()[0] == "// A row is a line of a bank."


def test_an_error_is_quoted_with_the_conditions_that_stand_above() -> None:
    inner = "\n".join(f"    int filler{i} = {i};" for i in range(12))
    code = (
        f'if (!isNewer(module)) {{\n{inner}\n    if (rowBytes > 8) {{\n      return emitError("wide row");\n    }}\n}}'
    )
    quote = best_lines(passage(code), {"wide": 3.0})
    assert quote is not None
    assert quote.text.startswith("if (rowBytes > 8) {")
    assert quote.within == ("!isNewer(module)",)


def test_a_sentence_of_a_description_is_quoted_from_its_begin() -> None:
    prose = "    The planner gives each bank so many\n    rows as the widest of them allows.\n"
    code = f"def A : B {{\n  let description = [{{\n{prose}  }}];\n{FILLER}\n}}"
    quote = best_lines(passage(code, "tablegen"), {"widest": 3.0})
    assert quote is not None
    assert quote.text.lstrip().startswith("The planner gives")


def test_a_note_is_quoted_by_its_heading_the_item_that_matches_and_what_to_do() -> None:
    note = (
        "## English: banks wait\n\n- symptom: `bank`\n- targets: A: a row\n- seen: a row of\n  two banks\n"
        "  `toy@0123456789ab:lib/a.cpp#L1-L2`\n- how: by hand\n- fix: pad the tile\n- newer compilers do not\n"
    )
    quote = best_lines(replace(passage(note, "markdown"), corpus="notes"), {"row": 3.0})
    assert quote is not None
    assert quote.text == "## English: banks wait\n…\n- seen: a row of\n  two banks\n…\n- fix: pad the tile"
    assert (quote.first, quote.last) == (11, 19)

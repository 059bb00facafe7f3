"""The law of chunking (every line in exactly one passage) and what each language's passages are."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.chunk import HARD_LINES, LANGUAGES, chunk_file, grammar_of
from indexer.grammar.base import Grammar, split_lines
from indexer.grammar.markdown import NOTE_GRAMMAR
from indexer.grammar.plain import CATALOGUE
from indexer.records import Corpus, Passage

CORPUS = Corpus("toy", "here", "0" * 40, "a3")

# Lines that open, close, nest, break and confuse each language.
FRAGMENTS = [
    "", " ", "}", "};", "namespace toy {", "class A : public OpRewritePattern<B> {", "void run() {", "  return;",
    "template <typename T>", "#ifdef X", "#endif", "#define GEN_PASS_DEF_A", "// comment", "/* open", "close */",
    'emitError("ub overflow, requires {0} bits");', "enum class E { A, B };", 'def A : Pass<"a-b"> {',
    '  let summary = "some text";', "  let description = [{", "  }];", "class P<string m> : Op<D, m>;", "def", "# head",
    "## 标题", "```", "~~~", "Title", "=====", "text of a paragraph", "中文段落，含标点。", "// -----",
    "func.func @f(%x: i32) {", "// RUN: opt --a-b %s", "def f(x):", "    return x", "class C:", '    """doc', '    """',
    "@decorator", "\tx = 1", "\r", "\x0c", "a\u2028b", "pass a-b (tool)", "option c-d (tool)",
]  # fmt: skip
ONE_EACH = (".cpp", ".td", ".py", ".mlir", ".md", ".rst", ".txt")
GRAMMARS = [*((s, LANGUAGES[s]) for s in ONE_EACH), ("note.md", NOTE_GRAMMAR), ("entry.txt", CATALOGUE)]


def tiles(passages: tuple[Passage, ...], text: str) -> bool:
    """Whether the passages are the lines of the text: each once, in order."""
    lines = split_lines(text)
    spans = [(p.start_line, p.end_line) for p in passages]
    joined = [line for p in passages for line in p.text.split("\n")]
    ends = [0, *(end for _, end in spans)]
    return (
        joined == lines
        and all(start == before + 1 for (start, _), before in zip(spans, ends, strict=False))
        and ends[-1] == len(lines)
        and all(start <= end for start, end in spans)
    )


@pytest.mark.parametrize(("suffix", "grammar"), GRAMMARS, ids=[s for s, _ in GRAMMARS])
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(lines=st.lists(st.sampled_from(FRAGMENTS), max_size=220))
def test_every_line_is_in_exactly_one_passage(suffix: str, grammar: Grammar, lines: list[str]) -> None:
    text = "\n".join(lines)
    chunked = chunk_file(CORPUS, f"a/b{suffix}", text, grammar)
    assert tiles(chunked.passages, text)
    assert all(p.end_line - p.start_line <= HARD_LINES for p in chunked.passages)
    assert len({p.key for p in chunked.passages}) == len(chunked.passages)
    assert chunk_file(CORPUS, f"a/b{suffix}", text, grammar) == chunked


@settings(max_examples=12, deadline=None)
@given(text=st.text(max_size=150))
def test_any_text_is_covered(text: str) -> None:
    for suffix, grammar in GRAMMARS:
        assert tiles(chunk_file(CORPUS, f"x{suffix}", text, grammar).passages, text)


def passages_of(tree: Path, path: str) -> dict[str, Passage]:
    grammar = grammar_of(path)
    assert grammar is not None
    chunked = chunk_file(CORPUS, path, (tree / path).read_text(encoding="utf-8"), grammar)
    assert chunked.parsed
    return {p.symbol: p for p in chunked.passages}


def test_a_pass_definition_is_one_passage_named_by_its_argument(sample_tree: Path) -> None:
    found = passages_of(sample_tree, "include/Toy/Passes.td")
    fold = found["toy-fold-wide-pad"]
    assert (fold.kind, fold.text.split("\n")[0][:15]) == ("pass_def", "def FoldWidePad")
    assert "Do not fold pads wider than this." in fold.natural
    assert "doubles the traffic of a row" in fold.natural
    assert "toy.pad %x" not in fold.natural
    assert found["toy-split-columns"].kind == "pass_def"


def test_operations_options_and_dialects_are_told_apart(sample_tree: Path) -> None:
    ops = passages_of(sample_tree, "include/Toy/Ops.td")
    assert {s: p.kind for s, p in ops.items()}["CopyRowOp"] == "op_def"
    assert ops["Toy_Dialect"].kind == "dialect"
    assert passages_of(sample_tree, "include/Toy/Options.td")["EnableRowPrefetch"].kind == "option"


def test_cpp_gives_patterns_passes_and_functions_with_their_comments(sample_tree: Path) -> None:
    found = passages_of(sample_tree, "lib/Toy/Transforms/FoldWidePad.cpp")
    assert found["PadIntoLoad"].kind == "pattern"
    assert "the innermost stride is not one" in found["PadIntoLoad"].natural
    helper = next(p for s, p in found.items() if "isContiguousRow" in s)
    assert "A pad is worth folding only when the row is contiguous" in helper.natural
    assert "strideOf" not in helper.natural
    assert found["FoldWidePadPass"].kind == "pass_impl"


def test_a_long_function_keeps_its_signature_in_every_part() -> None:
    body = "\n".join(f"  int counted{n} = step({n});" for n in range(200))
    text = f"/// Plans the rows.\nint planRows(int wideRow) {{\n{body}\n}}\n"
    passages = chunk_file(CORPUS, "a.cpp", text, LANGUAGES[".cpp"]).passages
    assert len(passages) > 2
    assert {p.symbol for p in passages} == {"planRows"}
    assert all("wide row" in p.natural for p in passages[1:])
    assert "counted" not in passages[1].natural


def test_a_file_that_does_not_parse_is_cut_all_the_same_and_counted() -> None:
    text = "\n".join(["MACRO(((( {{{ ]]] ;; )) template <"] * 300)
    chunked = chunk_file(CORPUS, "a.hpp", text, LANGUAGES[".hpp"])
    assert not chunked.parsed
    assert tiles(chunked.passages, text)


def test_a_test_file_is_split_at_its_separator(sample_tree: Path) -> None:
    found = passages_of(sample_tree, "test/fold-wide-pad.mlir")
    assert list(found) == ["fold_contiguous_row", "keep_strided_row"]
    strided = found["keep_strided_row"]
    assert strided.text.startswith("// -----")
    assert "toy-fold-wide-pad" in strided.natural, "the RUN line of the file belongs to each case"
    assert "A strided row stays as it is" in strided.natural


def test_markdown_is_cut_at_headings_and_not_inside_fences(sample_tree: Path) -> None:
    found = passages_of(sample_tree, "docs/en/passes.md")
    assert "not a heading" not in found
    assert {p.kind for p in found.values()} == {"doc"}
    chinese = passages_of(sample_tree, "docs/zh/passes.md")
    assert any("双缓冲预取" in symbol for symbol in chinese)


def test_python_docstrings_are_natural_text(sample_tree: Path) -> None:
    plan = next(p for s, p in passages_of(sample_tree, "docs/rows.py").items() if "plan_rows" in s)
    assert "no core is idle while another has two" in plan.natural
    assert "min(count" not in plan.natural


def test_a_catalogue_entry_is_one_passage() -> None:
    text = "pass toy-fold (toy-opt)\nFold.\n  --max: most bytes\n"
    (passage,) = chunk_file(CORPUS, "a3/passes/toy-fold.txt", text, CATALOGUE).passages
    assert (passage.kind, passage.symbol, passage.end_line) == ("catalog", "toy-fold", 3)

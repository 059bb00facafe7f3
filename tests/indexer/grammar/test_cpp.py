"""C++: macros do not hide definitions, long ones are cut at statements, options stand for themselves."""

import pytest

from indexer.chunk import HARD_LINES, LANGUAGES, chunk_file
from indexer.grammar.cpp_braces import blocks_of
from indexer.grammar.skeleton import skeleton_of
from indexer.records import Corpus, Passage

CORPUS = Corpus("toy", "here", "0" * 40, "a3")

MACROS = """
#define DECLARE_ROW(op, type)                                                  \\
  __aicore__ __attribute__((always_inline)) void _mlir_##op(                   \\
      memref_t<__ubuf__ type, 1> *src);
TOY_HOST_DEVICE void planRow(__ubuf__ half *row) { step(row); }
DECLARE_ROW(copy, half)
DECLARE_ROW(copy, float)

template <typename T>
[aicore] void sumRow(__gm__ T *row, std::optional<int> start = {}) {
  LLVM_DEBUG(for (auto &x : row) { dbgs() << x << "; "; });
#ifdef TOY_FAST
  if (fast) {
#else
  if (slow) {
#endif
    step(row);
  }
}

class TOY_EXPORT RowUser {
public:
  TOY_DECLARE_ID(RowUser)
  void use();
};
"""


def chunk(text: str, path: str = "lib/a.cpp") -> list[Passage]:
    chunked = chunk_file(CORPUS, path, text, LANGUAGES[".cpp"])
    assert chunked.parsed
    return list(chunked.passages)


def symbols(text: str) -> list[str]:
    return [symbol for p in chunk(text) for symbol in p.symbol.split(", ") if symbol]


def test_macros_hide_no_definition() -> None:
    assert symbols(MACROS) == ["DECLARE_ROW", "planRow", "sumRow", "RowUser"]


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("a // {\nb", "a     \nb"),
        ("f(\"{(\", '(')", "f(\"\"  , '0')"),
        ("LLVM_DEBUG(x << y;);\nz", f"{' ' * 20}\nz"),
        ("ROW_OP(a, b)\nint c;", f"{' ' * 12}\nint c;"),
        ("if (a)\n  ROW_LOG(b);\nc();", f"if (a)\n{' ' * 12};\nc();"),
        ("else\n  ROW_LOG(b)\nc();", f"else\n{' ' * 11};\nc();"),
        ("ROW_OP(a) { body }", "ROW_OP(a) { body }"),
        ("return MAX_ROWS + 1;", "return MAX_ROWS + 1;"),
        ("ROW_FLAG flag{ROW_FLAG::A};", "ROW_FLAG flag{ROW_FLAG::A};"),
        ("TOY_API void f();", "        void f();"),
        ("# include <a>\nint b;", "             \nint b;"),
        ("f(int a = {}, int b)", "f(int a = 0, int b)".replace("= 0", "=  0")),
    ],
)
def test_the_skeleton_keeps_code_in_its_place(source: str, kept: str) -> None:
    assert skeleton_of(source.encode()).text.decode() == kept
    assert len(kept) == len(source)


def test_branches_that_do_not_balance_alone_become_one() -> None:
    torn = b"#if A\nif (a) {\n#else\nif (b) {\n#endif\n}\n"
    whole = b"#if B\nint c() { return 1; }\n#else\nint d() { return 2; }\n#endif\n"
    made = skeleton_of(torn + whole).text.decode()
    assert "if (a) {" in made
    assert "if (b)" not in made
    assert "int c()" in made
    assert "int d()" in made


def test_a_long_function_is_cut_at_outer_statements_and_comments_stay_with_theirs() -> None:
    body = "\n".join(
        f"  // Step {n} widens the row.\n  for (int i = 0; i < {n}; ++i) {{\n    step(i);\n    widen(i);\n  }}"
        for n in range(40)
    )
    passages = chunk(f"void planRows(Row wideRow) {{\n{body}\n}}\n")
    assert len(passages) > 2
    assert all(p.text.startswith("  // Step") for p in passages[1:])
    assert all("wide row" in p.natural for p in passages[1:])


def test_one_long_statement_is_cut_inside_its_lambda() -> None:
    body = "\n".join(f"    int row{n} = step({n});" for n in range(150))
    passages = chunk(f"void walkRows() {{\n  walk([&](Op op) {{\n{body}\n  }});\n}}\n")
    assert len(passages) > 1
    assert all(p.end_line - p.start_line < HARD_LINES for p in passages)


def test_members_of_a_long_class_stand_alone_and_its_other_lines_keep_its_name() -> None:
    fields = "\n".join(f"  /// Row {n}.\n  int row{n};" for n in range(25))
    method = "  int plan() {\n" + "    step();\n" * 30 + "    return 1;\n  }\n"
    head = "/// Plans.\nclass Planner : public OpRewritePattern<Row> {"
    passages = chunk(f"{head}\n{fields}\n{method}{fields}\n}};\n")
    assert {p.symbol for p in passages} == {"Planner", "Planner::plan"}
    assert {p.kind for p in passages} == {"pattern"}
    assert "op rewrite pattern row" in passages[-1].natural


def test_options_in_cpp_are_passages_with_their_default() -> None:
    text = """
static llvm::cl::opt<bool> enableRowPrefetch(
    "enable-row-prefetch", llvm::cl::desc("Read the next row while this one is computed; one more buffer."),
    llvm::cl::init(true));

struct RowOptions : public PassPipelineOptions<RowOptions> {
  Option<int> maxRows{*this, "max-rows",
                      llvm::cl::desc("Plan at most so many rows"), llvm::cl::init(16)};
  ListOption<std::string> targets{*this, "row-targets", llvm::cl::desc("Plan only for these")};
};
"""
    found = {p.symbol: p for p in chunk(text) if p.kind == "option"}
    assert list(found) == ["enable-row-prefetch", "max-rows", "row-targets"]
    assert "default true" in found["enable-row-prefetch"].natural
    assert "one more buffer" in found["enable-row-prefetch"].natural
    assert found["max-rows"].text.count("\n") == 1


def test_google_tests_are_named_by_suite_and_case() -> None:
    assert symbols("TEST_F(RowTest, PlansOneRow) {\n  step();\n}\n") == ["RowTest.PlansOneRow"]


def test_what_no_parser_reads_is_cut_at_braces() -> None:
    text = b"namespace toy {\nint f(a) {\n  if (x) { y; }\n}\nstruct Row {\n  int b;\n};\n}\n"
    assert [(u.symbol, u.start, u.end) for u in blocks_of(text, "code")] == [("f", 2, 4), ("Row", 5, 7)]


def test_natural_text_holds_no_rights_no_rulers_and_no_code() -> None:
    text = """//===- RowPlan.cpp - Plans rows ------------------------------------*- C++ -*-===//
//
// Copyright (c) Somebody 2025. All rights reserved.
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
//
//===----------------------------------------------------------------------===//
#include "toy/Row Plan/Rows.h"
// TODO(somebody): measure wide rows.
// rows.erase(rows.begin());
// %0 = toy.copy_row %a : memref<4xf32>
void planRows() {
  emitError("row {0} is wider than the buffer\\n");
} // namespace toy
"""
    (passage,) = chunk(text)
    assert passage.natural == (
        "a plan rows. RowPlan.cpp - Plans rows TODO: measure wide rows. row 0 is wider than the buffer"
    )

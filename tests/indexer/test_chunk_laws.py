"""Laws on generated files of each language: lines once and in order, exact spans, same text same key, all named."""

import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.chunk import HARD_LINES, LANGUAGES, chunk_file
from indexer.grammar.base import split_lines
from indexer.records import Corpus, Passage

CORPUS = Corpus("toy", "here", "0" * 40, "a3")
LATER = dataclasses.replace(CORPUS, commit="1" * 40)
# Lines with the name that each defines, "" for none; `a|b` may be found under either name.
Named = list[tuple[str, str]]

names = st.integers(0, 10**6).map("row{}".format)
blank = st.just([("", "")])
words = st.sampled_from(["Rows are wide.", "A row; it {is} short", "行很宽。", "TODO(x): step", "x = y;"])
comment = words.map(lambda text: [(f"// {text}", "")])


def sequence(part: st.SearchStrategy[Named], most: int) -> st.SearchStrategy[Named]:
    return st.lists(part, max_size=most).map(lambda parts: [line for part in parts for line in part])


@st.composite
def cpp_function(draw: st.DrawFn) -> Named:
    name, count = draw(names), draw(st.sampled_from([1, 3, 30, 100, 200]))
    specifier = draw(st.sampled_from(["", "static ", "__aicore__ ", "TOY_HOST_DEVICE "]))
    statement = draw(st.sampled_from(["  step(1);", "  if (a) {\n    b();\n  }", '  LOG("{(" << a;);', "  // why"]))
    return [(f"{specifier}void {name}(Row a) {{", name), *([(statement, "")] * count), ("}", "")]


@st.composite
def cpp_class(draw: st.DrawFn) -> Named:
    name, fields = draw(names), draw(st.sampled_from([1, 40, 120]))
    # A class that is short enough stays whole, under its own name.
    methods = [(line, f"{own}|{name}" if own else "") for line, own in draw(sequence(cpp_function(), 3))]
    return [(f"struct {name} : public Row {{", name), *([("  int field = 1;", "")] * fields), *methods, ("};", "")]


macro_call = st.just([("REGISTER_ROW(a, b)", "")])
directive = st.sampled_from(["#include <a.h>", "#define ROW(a) \\\n  f(a)", "#if A\n#endif"]).map(lambda d: [(d, "")])
cpp_file = sequence(st.one_of(cpp_function(), cpp_class(), comment, blank, macro_call, directive), 8)


@st.composite
def tablegen_record(draw: st.DrawFn) -> Named:
    name = draw(names)
    head = draw(st.sampled_from(["def {}", "class {}", "let a = b in\ndef {}", "foreach n = [1] in\ndef {}"]))
    body = draw(st.sampled_from([
        " : B;", ' : B<"x{", [1, 2]> {\n  let a = "};";\n}',
        " : B {\n  let description = [{\n    def no : B;\n  }];\n}",
        " : B {\n" + "  let a = 1;\n" * 100 + "}",
    ]))  # fmt: skip
    before, _, last = (head.format(name) + body).partition(f"{name}")
    return [(f"{before}{name}{last}", name)]


tablegen_file = sequence(st.one_of(tablegen_record(), comment, blank), 12)


@st.composite
def mlir_case(draw: st.DrawFn) -> Named:
    name, count = draw(names), draw(st.sampled_from([1, 10, 120, 300]))
    separator = draw(st.sampled_from([[], [("// -----", "")], [("// CHECK-LABEL: @other", "")]]))
    return [
        *separator,
        (f"func.func @{name}(%a: i32) {{", name),
        *([("  %b = toy.step %a : i32", "")] * count),
        ("}", ""),
    ]


mlir_file = sequence(st.one_of(mlir_case(), comment, blank), 8).map(lambda n: [("// RUN: toy-opt %s -toy-a", ""), *n])


@st.composite
def section(draw: st.DrawFn) -> Named:
    name, depth = draw(names), draw(st.integers(1, 4))
    part = draw(st.sampled_from([
        "text", "行很宽。\n\n" * 50, "| a | b |\n" * 90,
        "```\n# no heading\n\n" + "code\n\n" * 40 + "```", "- item\n" * 100,
    ]))  # fmt: skip
    return [(f"{'#' * depth} {name}", name), ("", ""), (part, ""), ("", "")]


markdown_file = sequence(section(), 7)
FILES = {".cpp": cpp_file, ".td": tablegen_file, ".mlir": mlir_file, ".md": markdown_file}


@pytest.mark.parametrize("suffix", FILES)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_laws(suffix: str, data: st.DataObject) -> None:
    made = data.draw(FILES[suffix])
    text = "\n".join(line for line, _ in made)
    passages = chunk(suffix, text)
    lines = split_lines(text)
    assert [line for p in passages for line in p.text.split("\n")] == lines
    assert [n for p in passages for n in range(p.start_line, p.end_line + 1)] == list(range(1, len(lines) + 1))
    assert all(p.end_line - p.start_line <= HARD_LINES for p in passages)
    assert len({p.key for p in passages}) == len(passages)
    assert [p.key for p in chunk(suffix, text, LATER)] == [p.key for p in passages]
    assert all("\n" not in p.natural for p in passages)
    for name, line in first_lines(made):
        holding = [p for p in passages if p.start_line <= line <= p.end_line]
        assert any(set(name.split("|")) & name_parts(p) for p in holding), (name, line)


@pytest.mark.parametrize("suffix", FILES)
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_is_added_at_the_end_changes_no_key_far_above(suffix: str, data: st.DataObject) -> None:
    text = "\n".join(line for line, _ in data.draw(FILES[suffix]))
    before, after = chunk(suffix, text), chunk(suffix, f"{text}\n\n// end\n")
    far = max(0, len(before) - 2)
    assert [p.key for p in after][:far] == [p.key for p in before][:far]


def chunk(suffix: str, text: str, corpus: Corpus = CORPUS) -> tuple[Passage, ...]:
    chunked = chunk_file(corpus, f"lib/a{suffix}", text, LANGUAGES[suffix])
    assert chunked.parsed
    return chunked.passages


def first_lines(made: Named) -> list[tuple[str, int]]:
    """Return each name with the line that it stands in."""
    out, line = [], 1
    for text, name in made:
        if name:
            out.append((name, line + text[: text.index(name.partition("|")[0])].count("\n")))
        line += text.count("\n") + 1
    return out


def name_parts(passage: Passage) -> set[str]:
    return {part for symbol in passage.symbol.split(", ") for part in symbol.split("::")}

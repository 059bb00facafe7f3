"""MLIR tests and Python: what belongs together stays together."""

from indexer.chunk import LANGUAGES, chunk_file
from indexer.records import Corpus, Passage

CORPUS = Corpus("toy", "here", "0" * 40, "a3")
RUN = (
    "// RUN: toy-opt %s -toy-fold-wide-pad --cse \\\n"
    '// RUN:   -pass-pipeline="builtin.module(toy-split,func.func(canonicalize))" | FileCheck %s --check-prefix=WIDE\n'
)


def chunk(path: str, text: str) -> list[Passage]:
    chunked = chunk_file(CORPUS, path, text, LANGUAGES[path[path.rindex(".") :]])
    assert chunked.parsed
    return list(chunked.passages)


def function(name: str, lines: int) -> str:
    body = "".join(f"  %{n} = toy.step %a : f32\n" for n in range(lines))
    return f"// The {name} row is kept.\n// CHECK-LABEL: @{name}\nfunc.func @{name}(%a: f32) {{\n{body}  return\n}}\n"


def test_every_case_knows_the_tool_and_the_passes_of_the_run_line() -> None:
    passages = chunk("a.mlir", RUN + function("wide", 2) + "// -----\n" + function("narrow", 2))
    assert [p.symbol for p in passages] == ["wide", "narrow"]
    for name in ("toy-opt", "toy-fold-wide-pad", "cse", "toy-split", "canonicalize"):
        assert all(name in p.natural.split(". ")[1].split() for p in passages), name
    assert not any(word in passages[1].natural for word in ("FileCheck", "check-prefix", "builtin", "WIDE"))


def test_a_long_case_is_cut_at_functions_with_their_comments() -> None:
    passages = chunk("a.mlir", RUN + "".join(function(f"row{n}", 20) for n in range(12)))
    assert len(passages) > 2
    assert [s for p in passages for s in p.symbol.split(", ")] == [f"row{n}" for n in range(12)]
    assert all(p.text.startswith("// The row") for p in passages[1:])


def test_a_label_that_no_function_has_is_known() -> None:
    (passage,) = chunk("a.mlir", RUN + "// WIDE-LABEL: func @made_by_the_pass\n" + function("wide", 1))
    assert "made by the pass" in passage.natural


def test_decorators_and_docstrings_stay_with_their_function() -> None:
    body = "\n".join(f"    step({n})" for n in range(100))
    said = '    """Plan a row.\n\n    Wide rows cost more.\n    """'
    text = f"import toy\n\n\n@toy.jit\n@toy.tune\ndef plan(row):\n{said}\n{body}\n"
    passages = chunk("a.py", text)
    first, *others = [p for p in passages if p.symbol == "plan"]
    assert first.text.startswith("@toy.jit\n@toy.tune\ndef plan")
    assert "Wide rows cost more." in first.natural
    assert others
    assert all("def plan row" in p.natural for p in others)


def test_a_header_of_rights_is_no_language() -> None:
    rights = [
        "Copyright (c) Somebody 2025.", "", "Permission is hereby granted, free of charge, to any person", "",
        "FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN", "THE SOFTWARE.",
    ]  # fmt: skip
    head = "".join(f"# {line}\n" for line in rights)
    (passage,) = chunk("a.py", f"{head}\n# Plans rows.\nimport toy\n")
    assert passage.natural == "a. Plans rows."


def test_strings_of_code_are_no_language() -> None:
    text = 'IR = """\ntoy.copy %a into %b by rows\n"""\n\n\ndef f():\n    raise E("the row is too wide")\n'
    natural = " ".join(p.natural for p in chunk("a.py", text))
    assert "the row is too wide" in natural
    assert "by rows" not in natural


def test_methods_of_a_long_class_are_named_with_it() -> None:
    body = "        go()\n" * 12
    methods = "".join(f"    def step{n}(self):\n{body}\n" for n in range(9))
    passages = chunk("a.py", f'class Planner(Base):\n    """Plans rows."""\n\n{methods}')
    assert [p.symbol for p in passages] == ["Planner", *(f"Planner.step{n}" for n in range(9))]

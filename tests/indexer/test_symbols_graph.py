"""The links between passes, operations, options, tests, documents, device library and diagnostics of one small tree."""

from pathlib import Path

import pytest

from indexer.chunk import LANGUAGES, chunk_file, grammar_of
from indexer.graph.links import link_passages
from indexer.opnames import OpNames
from indexer.records import Corpus, Naming, Passage, Sort
from indexer.symbols import name_passages

WEAVE = Path(__file__).parents[1] / "samples" / "weave"
SPILL = "spilled, needs * bytes while * bytes are there! (a narrower tree may fit)"


@pytest.fixture(scope="module")
def passages() -> list[Passage]:
    corpus = Corpus("ascendnpu-ir", "here", "c0ffee", "a3")
    found: list[Passage] = []
    for path in sorted(p for p in WEAVE.rglob("*") if p.is_file()):
        name, grammar = path.relative_to(WEAVE).as_posix(), grammar_of(path.name)
        assert grammar is not None, name
        found += chunk_file(corpus, name, path.read_text(encoding="utf-8"), grammar).passages
    return found


@pytest.fixture(scope="module")
def namings(passages: list[Passage]) -> list[Naming]:
    return name_passages(passages)


class Graph:
    def __init__(self, passages: list[Passage], namings: list[Naming]) -> None:
        self.passages, self.namings = passages, namings

    def of(self, name: str, sort: Sort) -> set[tuple[str, str]]:
        """Relation and file name of all that `name` stands in."""
        return {
            (n.relation, self.passages[n.row].path.rpartition("/")[2])
            for n in self.namings
            if (n.name, n.sort) == (name, sort)
        }

    def symbols(self, name: str, sort: Sort, relation: str) -> set[str]:
        return {
            self.passages[n.row].symbol for n in self.namings if (n.name, n.sort, n.relation) == (name, sort, relation)
        }


@pytest.fixture(scope="module")
def graph(passages: list[Passage], namings: list[Naming]) -> Graph:
    return Graph(passages, namings)


def test_a_pass_is_implemented_by_the_patterns_that_it_populates_from_another_file(graph: Graph) -> None:
    links = graph.of("lower-to-weave", "pass")
    assert {("defines", "Passes.td"), ("implements", "LowerToWeave.cpp"), ("implements", "Arith.cpp")} <= links
    assert ("implements", "SumTree.cpp") not in links


def test_a_pass_with_a_comment_before_its_argument_is_defined_and_implemented() -> None:
    corpus = Corpus("triton", "here", "c0ffee", "cuda")
    files = {
        "P.td": 'def WeaveLicm : Pass</*cli-arg*/"weave-licm", /*Op*/"ModuleOp"> {\n  let summary = "Hoist";\n}\n',
        "P.cpp": "#define GEN_PASS_DEF_WEAVELICM\nstruct L : WeaveLicmBase<L> {\n  void runOnOperation();\n};\n",
    }
    found = [p for name, text in files.items() for p in chunk_file(corpus, name, text, LANGUAGES[name[1:]]).passages]
    links = Graph(found, name_passages(found)).of("weave-licm", "pass")
    assert links == {("defines", "P.td"), ("implements", "P.cpp")}


def test_a_pattern_lowers_the_operation_it_matches_and_makes_those_it_creates(graph: Graph) -> None:
    assert any("ReduceToWeave" in s for s in graph.symbols("linalg.reduce", "op", "lowers"))
    assert any("ReduceToWeave" in s for s in graph.symbols("weave.hw.vsum", "op", "makes"))
    assert not graph.symbols("linalg.reduce", "op", "makes")


def test_a_template_pattern_lowers_what_it_is_registered_for(graph: Graph) -> None:
    assert any("BinaryToWeave" in s for s in graph.symbols("arith.addf", "op", "lowers"))
    assert any("BinaryToWeave" in s for s in graph.symbols("weave.hw.vadd", "op", "makes"))
    assert not graph.symbols("weave.hw.vadd", "op", "lowers")


def test_the_methods_of_an_operation_implement_it(graph: Graph) -> None:
    assert ("implements", "Ops.cpp") in graph.of("weave.hw.vadd", "op")


def test_a_device_library_function_is_known_by_its_expanded_name_and_by_its_operation(graph: Graph) -> None:
    for function in ("vadd_1d_float", "vadd_2d_half", "sum_all_float"):
        assert ("defines", "Vector.cpp") in graph.of(function, "symbol"), function
    assert ("implements", "Vector.cpp") in graph.of("weave.hw.vadd", "op")
    assert ("implements", "Vector.cpp") in graph.of("weave.hw.vsum", "op")
    assert not graph.of("vadd_dim_type", "symbol")


OF_TWO_DIALECTS = {
    "A.td": """
def A_Dialect : Dialect { let name = "aaa"; let cppNamespace = "::a"; }
def A_SortOp : Op<A_Dialect, "sort"> { let summary = "Sorts"; }
def A_AddOp : Op<A_Dialect, "vadd"> { let summary = "Adds"; }
""",
    "B.td": """
def B_Dialect : Dialect { let name = "bbb.hw"; let cppNamespace = "::b"; }
def B_VSortOp : Op<B_Dialect, "vsort"> {
  let extraClassDeclaration = [{ static StringRef getOpName() { return "sort"; } }];
}
def B_VAddOp : Op<B_Dialect, "vadd"> { let summary = "Adds"; }
""",
    "Device.cpp": """
#define MAKE_LIBRARY(op) void _mlir_ciface_##op##_1d_float(int *a) { run(a); }
MAKE_LIBRARY(sort)
MAKE_LIBRARY(vadds_vs)
""",
}


def test_of_one_name_in_two_dialects_the_library_is_of_the_one_that_calls_it() -> None:
    corpus = Corpus("ascendnpu-ir", "here", "c0ffee", "a3")
    passages: list[Passage] = []
    for path, text in OF_TWO_DIALECTS.items():
        grammar = grammar_of(path)
        assert grammar is not None
        passages += chunk_file(corpus, path, text, grammar).passages
    graph = Graph(passages, name_passages(passages))
    assert graph.of("bbb.hw.vsort", "op") == {("defines", "B.td"), ("implements", "Device.cpp")}
    assert graph.of("bbb.hw.vadd", "op") == {("defines", "B.td"), ("implements", "Device.cpp")}
    assert graph.of("aaa.sort", "op") == graph.of("aaa.vadd", "op") == {("defines", "A.td")}


def test_a_run_line_names_the_passes_and_options_of_every_case_of_its_file(graph: Graph) -> None:
    for name in ("weave-sum-tree", "lower-to-weave"):
        assert graph.symbols(name, "pass", "tests") == {"too_wide", "second"}
    assert ("tests", "sum-tree.mlir") in graph.of("tree-width-limit", "option")
    assert not graph.of("verify-diagnostics", "option")


def test_a_driver_option_is_linked_to_the_passes_it_decides_over(graph: Graph) -> None:
    assert graph.symbols("weave-sum-tree", "pass", "option_of") == {"EnableSumTree", "TreeWidth"}
    assert not graph.symbols("lower-to-weave", "pass", "option_of")
    assert ("uses", "Pipeline.cpp") in graph.of("tree-width", "option")


def test_options_are_defined_documented_and_used(graph: Graph) -> None:
    links = graph.of("enable-sum-tree", "option")
    assert {("defines", "Options.td"), ("documents", "passes.md"), ("uses", "driver.py")} <= links


def test_prose_that_names_a_class_documents_its_pass(graph: Graph) -> None:
    assert ("documents", "passes.md") in graph.of("weave-sum-tree", "pass")
    assert ("documents", "passes.md") in graph.of("weave.hw.vsum", "op")


def test_an_operation_with_a_capital_in_its_name_is_found_in_tests_and_documents(graph: Graph) -> None:
    assert {("tests", "sum-tree.mlir"), ("documents", "passes.md")} <= graph.of("weave.hw.mulL1", "op")


def test_a_dialect_that_is_only_included_is_named_as_the_tests_write_it(graph: Graph) -> None:
    assert ("defines", "Ops.td") in graph.of("strand.join_all", "op")
    assert not graph.of("thread.join_all", "op")


def test_a_message_put_together_before_it_is_emitted_is_known(graph: Graph) -> None:
    assert ("defines", "SumTree.cpp") in graph.of(SPILL, "diagnostic")
    assert ("tests", "sum-tree.mlir") in graph.of(SPILL, "diagnostic")


@pytest.mark.parametrize(
    ("message", "file"),
    [
        ("cannot split into * leaves of type *", "SumTree.cpp"),
        ("splitting a sum of * leaves", "SumTree.cpp"),
        ("more than one input to a reduction", "Arith.cpp"),
        ("operands have types * and", "Ops.cpp"),
        ("unknown arch *, choose one that is listed", "driver.py"),
    ],
)
def test_messages_have_holes_where_values_are_put_in(graph: Graph, message: str, file: str) -> None:
    assert ("defines", file) in graph.of(message, "diagnostic")


def test_links_lead_from_every_passage_to_the_definition(passages: list[Passage], namings: list[Naming]) -> None:
    links = link_passages(passages, namings)
    edges = {(passages[k.source].symbol.split(", ")[0], passages[k.target].symbol, k.relation) for k in links}
    assert ("BinaryToWeave", "lower-to-weave", "implements") in edges
    assert ("EnableSumTree", "weave-sum-tree", "option_of") in edges
    assert ("too_wide", "weave-sum-tree", "tests") in edges
    assert any(source == "too_wide" and "reportSpill" in target for source, target, _ in edges)
    assert all(k.source != k.target for k in links)


def test_a_class_of_two_dialects_is_told_apart_by_its_namespace() -> None:
    names = OpNames(
        [
            'def A_Dialect : Dialect {\n  let name = "a";\n  let cppNamespace = "::mlir::alpha";\n}',
            "class A_Op<string m> : Op<A_Dialect, m>;",
        ]
    )
    found = names.operation_of('def A_CastOp : A_Op<"cast">;')
    assert found is not None
    assert (found.name, found.namespace, found.cpp_class) == ("a.cast", "alpha", "CastOp")

"""What of a passage is compared: a thing's own lines."""

from agent.cli.index_diff import _passages
from agent.cli.output import Output
from agent.difference_documents import PassageChangeDoc, ThingDoc
from indexer.corpus import TextTree, read_manifest
from indexer.difference import Version, compare, version_of_tree
from indexer.reading import Job
from indexer.records import Sort

TD = """def ToyPad : Pass<"toy-pad"> {
  let summary = "Pad rows";
  let options = [
    Option<"width", "pad-width", "int", /*default=*/"32", "Bytes of a row">,
    ListOption<"sizes", "pad-sizes", "int64_t", "Sizes, as in <a, b>">,
    Option<"last", "pad-last", "bool", "false", "Pad the last one">
  ];
}
"""
SPLIT = """def ToySplit : Pass<"toy-split"> {
  let summary = "Split columns into pieces that a burst can carry";
}
"""
CPP = """#include "toy.h"

static llvm::cl::opt<int> first("toy-first", llvm::cl::desc("First"), llvm::cl::init(1));
static llvm::cl::opt<int> second("toy-second", llvm::cl::desc("Second"), llvm::cl::init(2));

#define GEN_PASS_DEF_TOYPAD
struct ToyPad : impl::ToyPadBase<ToyPad> {
  void runOnOperation() override {
    if (isWhole(getOperation()))
      return;
    padRows(getOperation(), 32);
  }
};
"""


def version(td: str, cpp: str = CPP) -> Version:
    manifest = read_manifest("ascendnpu-ir")
    texts = {"bishengir/include/Toy/Passes.td": td, "bishengir/lib/Toy/Pad.cpp": cpp}
    return version_of_tree(Job(TextTree("ascendnpu-ir", "a3", "here", texts), manifest, "ascendnpu-ir"), None)


def changed(old: Version, new: Version, sort: Sort) -> list[str]:
    return [thing.name for thing in compare(old, new, sort).changed]


def test_an_option_changes_by_its_own_text_alone() -> None:
    old = version(TD)
    for before, after, names in (
        ('"32"', '"64"', ["pad-width"]),
        ("<a, b>", "<a, b, c>", ["pad-sizes"]),
        ('"false"', '"true"', ["pad-last"]),
        ("Pad rows", "Pad all rows", []),
    ):
        new = version(TD.replace(before, after))
        assert changed(old, new, "option") == names
        assert changed(old, new, "pass") == ["toy-pad"]
    (thing,) = compare(old, version("// Padding.\n" + TD.replace('"32"', '"64"')), "option").changed
    (change,) = thing.changes
    assert (change.old_lines, change.new_lines) == (((4, 4),), ((5, 5),))


def test_an_option_of_the_command_line_changes_by_its_own_text_alone() -> None:
    assert changed(version(TD), version(TD, CPP.replace("init(2)", "init(3)")), "option") == ["toy-second"]


def test_blank_and_preprocessor_lines_around_a_definition_change_nothing() -> None:
    old = version(TD + SPLIT)
    for td, cpp in (
        (TD + "\n\n#ifdef TOY\n" + SPLIT + "#endif\n", CPP),
        ("\n#ifndef TOY_PASSES\n" + TD + SPLIT + "\n\n#endif // TOY_PASSES\n", CPP),
        (TD + SPLIT, CPP.replace("#define", "\n#include <more>\n\n#define") + "\n\n#undef GEN\n"),
    ):
        new = version(td, cpp)
        assert [changed(old, new, sort) for sort in ("pass", "op", "option")] == [[], [], []]


def test_lines_that_only_went_are_shown_beside_the_id_that_had_them() -> None:
    old, new = version(TD), version(TD, CPP.replace("    if (isWhole(getOperation()))\n      return;\n", ""))
    (thing,) = compare(old, new, "pass").changed
    (change,) = thing.changes
    assert change.old is not None
    assert (change.old_lines, change.new_lines) == (((9, 10),), ())
    passage = PassageChangeDoc(
        relation=change.relation, old=change.old.id, new="x", old_lines=list(change.old_lines), new_lines=[]
    )
    shown = list(_passages(Output("en", as_json=False), ThingDoc(name=thing.name, passages=[passage])))
    assert "L9-L10" not in shown[0]
    assert shown[1] == f"        without L9-L10 of {change.old.id}"

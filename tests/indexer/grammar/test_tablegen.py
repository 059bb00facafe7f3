"""TableGen: a record a passage, read as llvm-tblgen reads it, with what other files say of it."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from indexer.chunk import LANGUAGES, chunk_file
from indexer.grammar.tablegen import described, grammar_with, outline
from indexer.grammar.tablegen_bases import gather_bases, parents_of
from indexer.records import Corpus, Passage

CORPUS = Corpus("toy", "here", "0" * 40, "a3")
TBLGEN = shutil.which("llvm-tblgen-19")

BASE = """
def Toy_Dialect : Dialect {
  let name = "toy";
}
class Toy_Op<string mnemonic, list<Trait> traits = []> : Op<Toy_Dialect, !strconcat("ir.", mnemonic), traits>;
class Toy_RowOp<string mnemonic> : Toy_Op<mnemonic, [Pure]> {
  let description = [{
    A row operation works on one row at a time.

    ```mlir
    toy.ir.any %row
    ```
  }];
}
"""
OPS = """
def CopyRowOp : Toy_RowOp<"copy_row"> {
  let summary = "Copies a row";
  let arguments = (ins AnyMemRef:$src, AnyMemRef:$dst, I64:$rowCount);
}
"""
AWKWARD = """
class Rec<string s, list<int> l = []> { string text = s; list<int> numbers = l; }
def A : Rec<"a; def B : { \\"quoted\\" }">; // def C : Rec<"x">
def D : Rec<[{ def E : Rec<"y"> { } }], [1,
  2, !if(1, 3, 4)]> {
  let text = "}{";
}
/* def F : Rec<"z">; */
multiclass Pair<string s> {
  def _one : Rec<s>;
  def _two : Rec<s>;
}
defm G : Pair<"g">;
let text = "t" in {
  def H : Rec<"h">;
  let numbers = [1] in def I : Rec<"i">;
}
foreach n = [1, 2] in
  def J#n : Rec<"j">;
"""


def chunk(text: str, *others: str) -> dict[str, Passage]:
    bases = gather_bases([text, *others], described)
    chunked = chunk_file(CORPUS, "a.td", text, grammar_with(bases))
    assert chunked.parsed
    return {p.symbol: p for p in chunked.passages}


def test_an_operation_inherits_its_name_and_description_from_another_file() -> None:
    natural = chunk(OPS, BASE)["CopyRowOp"].natural
    assert "toy.ir.copy_row" in natural
    assert "A row operation works on one row at a time." in natural
    assert "toy.ir.any" not in natural
    assert "operands src dst row count" in natural


def test_without_the_other_file_the_operation_still_says_its_own() -> None:
    (passage,) = chunk_file(CORPUS, "a.td", OPS, LANGUAGES[".td"]).passages
    assert "Copies a row" in passage.natural
    assert "toy.ir.copy_row" not in passage.natural


def test_a_changed_base_changes_the_digest_and_another_definition_does_not() -> None:
    before = gather_bases([BASE, OPS], described).digest
    assert gather_bases([BASE.replace("one row at a time", "two rows"), OPS], described).digest != before
    assert gather_bases([BASE, OPS.replace("Copies a row", "Moves a row")], described).digest == before


@pytest.mark.parametrize(
    ("definition", "parents"),
    [
        ('def A : Base<"x", [T<1>]> { let b = c; }', ("Base",)),
        ('class A<string s = ":"> : Base<s>, Other;', ("Base", "Other")),
        ("def A;", ()),
        ("def A : Base<[{ : Not }]>, // : Nor\n  Other {", ("Base", "Other")),
        ("class A : A;", ("A",)),
    ],
)
def test_parents_are_read_past_arguments_strings_and_comments(definition: str, parents: tuple[str, ...]) -> None:
    assert parents_of(definition) == parents


def test_classes_that_derive_from_each_other_end() -> None:
    loop = 'class A : B { let summary = "in a"; }\nclass B : A { let summary = "in b"; }\n'
    assert "in b" in gather_bases([loop], described).inherited("def X : A;")


def test_an_option_says_its_type_and_default() -> None:
    text = 'def EnableRows : ToyOption<"Plan rows; they are wide.", "bool", "false"> {\n  let group = ["A"];\n}\n'
    passage = chunk(text)["EnableRows"]
    assert passage.kind == "option"
    assert "type bool default false" in passage.natural
    assert "Plan rows; they are wide." in passage.natural


def test_a_banner_goes_with_the_definition_below() -> None:
    rule = "//===" + "-" * 70 + "===//"
    text = f'def A : Toy_Op<"a">;\n\n{rule}\n// Row copies\n{rule}\n\ndef B : Toy_Op<"b">;\n'
    found = chunk(text)
    assert "Row copies" in found["B"].natural
    assert "Row copies" not in found["A"].natural


@pytest.mark.skipif(TBLGEN is None, reason="llvm-tblgen-19 is not installed")
def test_records_are_those_of_tblgen_on_the_same_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.td"
    file.write_text(AWKWARD, encoding="utf-8")
    ran = subprocess.run([str(TBLGEN), "--dump-json", str(file)], capture_output=True, check=True, text=True)
    records = {k: r for k, r in json.loads(ran.stdout).items() if isinstance(r, dict) and "!locs" in r}
    told = {int(r["!locs"][0].rpartition(":")[2]) for r in records.values() if not r["!anonymous"]}
    units = outline("a.td", AWKWARD).units
    inside = {n for u in units if u.symbol == "Pair" for n in range(u.start, u.end + 1)}
    assert told - inside <= {u.start for u in units}
    assert {u.symbol for u in units} >= {"Rec", "A", "D", "Pair", "G", "H", "I"}
    assert not {u.symbol for u in units} & {"B", "C", "E", "F"}

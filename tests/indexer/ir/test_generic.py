"""The generic-form reader against text in the form of the real compilers."""

import pytest

from indexer.ir.generic import parse_module

FILE = "/job/k.py"
TEXT = """// -----// IR Dump After EnableStrideAlign (hivm-enable-stride-align) //----- //
#loc = loc("/job/k.py":7:0)
#map = affine_map<()[s0] -> (s0 * 3)>
"builtin.module"() ({
  "func.func"() <{function_type = (i32) -> (), sym_name = "kern"}> ({
  ^bb0(%arg0: i32 loc("/job/k.py":7:0)):
    %0 = "arith.constant"() <{value = dense<"a, {b"> : tensor<1xi8>}> : () -> tensor<1xi8> loc(#loc1)
    %1:2 = "scf.for"(%arg0, %arg0) ({
    ^bb0(%arg1: i32 loc(#loc), %arg2: memref<?xf32, strided<[1], offset: ?>> loc(#loc)):
      "scf.yield"(%arg1) {a.unit, b = 1 : i64} : (i32) -> () loc(#loc3)
    }) {ExtractedLoadOrStore} : (i32, i32) -> (i32, i32) loc(#loc2)
    "scf.if"(%arg0) ({
      "scf.yield"() : () -> () loc(unknown)
    }, {
    }) : (i32) -> () loc(#loc2)
    "cf.br"(%arg0)[^bb1] : (i32) -> () loc(#loc2)
  ^bb1(%9: i32 loc(unknown)):  // pred: ^bb0
    "func.return"() : () -> () loc(#loc)
  }) {hacc.entry} : () -> () loc(#loc)
}) : () -> () loc(#loc)
#loc1 = loc(unknown)
#loc2 = loc(callsite("/lib/standard.py":3:4 at #loc4))
#loc3 = loc(fused<"x">["/lib/standard.py":1:1, "/job/k.py":12:3])
#loc4 = loc("/job/k.py":9:43)
"""


def test_regions_blocks_results_and_attributes_are_read() -> None:
    function = parse_module(TEXT, FILE).functions()["kern"]
    loop = next(op for op in function.walk() if op.name == "scf.for")
    assert [r.name for r in loop.results] == ["%1#0", "%1#1"]
    assert "ExtractedLoadOrStore" in loop.attributes
    assert loop.regions[0][0].arguments[1].type == "memref<?xf32, strided<[1], offset: ?>>"
    choice = next(op for op in function.walk() if op.name == "scf.if")
    assert [len(region) for region in choice.regions] == [1, 0]
    branch = next(op for op in function.walk() if op.name == "cf.br")
    assert branch.successors == ("^bb1",)
    assert [b.label for b in function.regions[0]] == ["^bb0", "^bb1"]


def test_a_string_with_brackets_and_commas_stays_whole() -> None:
    constant = next(op for op in parse_module(TEXT, FILE).top.walk() if op.name == "arith.constant")
    assert constant.attributes["value"] == 'dense<"a, {b"> : tensor<1xi8>'
    assert constant.place is None


def test_places_resolve_through_callsites_and_fusions_to_the_users_file() -> None:
    ops = {op.name: op for op in parse_module(TEXT, FILE).top.walk()}
    assert ops["scf.for"].place is not None
    assert (ops["scf.for"].place.line, ops["scf.for"].place.column) == (9, 43)
    inner = next(op for op in ops["scf.for"].walk() if op.name == "scf.yield")
    assert inner.place is not None
    assert inner.place.line == 12


def test_a_dump_cut_short_is_refused() -> None:
    with pytest.raises(ValueError, match="ends inside"):
        parse_module("\n".join(TEXT.splitlines()[:7]), FILE)


def test_text_that_is_not_generic_form_names_its_line() -> None:
    with pytest.raises(ValueError, match="line 2 is not generic-form"):
        parse_module("\nmodule {\n}\n", FILE)


def test_a_file_name_in_chinese_is_the_users_file() -> None:
    text = TEXT.replace("/job/k.py", "/job/\\E6\\A0\\B8.py")
    loop = next(op for op in parse_module(text, "/job/核.py").top.walk() if op.name == "scf.for")
    assert loop.place is not None
    assert (loop.place.file, loop.place.line) == ("/job/核.py", 9)

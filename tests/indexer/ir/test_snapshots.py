"""Dumps become snapshots of the whole module, at their places in the pipeline."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.ir.snapshots import Dump, PassRun, align, compose, count_ops, inline_aliases


def function(name: str, *ops: str) -> str:
    body = "\n".join(f'  "{op}"() : () -> () loc(unknown)' for op in ops)
    return f'"func.func"() <{{sym_name = "{name}"}}> ({{\n{body}\n}}) : () -> () loc(unknown)'


def module(*functions: str) -> str:
    return '"builtin.module"() ({\n' + "\n".join(functions) + '\n}) {of = "root"} : () -> () loc(unknown)\n'


def names(functions) -> dict[str, list[str]]:
    return {name: [op.name for op in top.walk()][1:] for name, top in functions.items()}


def dumps(*texts: str) -> list[tuple[Dump, int]]:
    return [(Dump(PassRun(f"p{i}"), "bishengir", text), 10 * i) for i, text in enumerate(texts)]


def test_a_function_dump_replaces_that_function_only():
    first, second = compose(
        dumps(module(function("a", "x.one"), function("b", "x.two")), function("b", "x.three") + "\n"), "k.py"
    )
    assert names(first.functions) == {"a": ["x.one"], "b": ["x.two"]}
    assert names(second.functions) == {"a": ["x.one"], "b": ["x.three"]}
    assert second.module_attributes["of"] == '"root"'
    assert second.functions["a"] is first.functions["a"]


def test_a_module_dump_replaces_all_functions():
    *_, last = compose(dumps(module(function("a", "x.one"), function("b")), module(function("a", "x.four"))), "k.py")
    assert names(last.functions) == {"a": ["x.four"]}
    assert count_ops(last.functions) == 2


def test_a_nested_module_leaves_the_other_functions():
    nested = '"builtin.module"() <{sym_name = "simt"}> ({\n' + function("c", "x.five") + "\n}) : () -> () loc(unknown)"
    *_, last = compose(dumps(module(function("a", "x.one")), nested), "k.py")
    assert names(last.functions) == {"a": ["x.one"], "c": ["x.five"]}


def test_a_dump_that_cannot_be_read_is_named():
    with pytest.raises(ValueError, match="p0: line 1 is not generic-form MLIR"):
        list(compose(dumps("func.func @pretty() {\n}\n"), "k.py"))


def test_map_aliases_are_written_out_and_location_aliases_stay():
    text = (
        "#map = affine_map<(d0) -> (d0)>\n#map1 = affine_map<(d0) -> (0)>\n#loc1 = loc(unknown)\n"
        '"x.y"() {m = [#map, #map1]} : () -> () loc(#loc1)\n'
    )
    line = inline_aliases(text).splitlines()[-1]
    assert line == '"x.y"() {m = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>]} : () -> () loc(#loc1)'


RUNS = st.lists(st.sampled_from([PassRun(a, s) for a in ("cse", "plan") for s in ("module", "f")]), max_size=12)


@given(RUNS, st.data())
def test_what_changed_keeps_its_order_among_all_that_ran(ran, data):
    keep = data.draw(st.lists(st.booleans(), min_size=len(ran), max_size=len(ran)))
    changed = [run for run, kept in zip(ran, keep, strict=True) if kept]
    steps = align(changed, ran, 3)
    assert [step.run for step in steps] == ran
    assert [step.position for step in steps] == list(range(3, 3 + len(ran)))
    assert [step.dump for step in steps if step.dump is not None] == list(range(len(changed)))
    assert [step.run for step in steps if step.dump is not None] == changed


def test_a_pass_listed_before_what_it_runs_inside_moves_to_its_dump():
    inline, nested = PassRun("inline"), PassRun("canonicalize", "f")
    steps = align([nested, inline], [inline, nested, PassRun("cse")])
    assert [(s.run.argument, s.dump) for s in steps] == [("canonicalize", 0), ("inline", 1), ("cse", None)]


def test_a_change_by_a_pass_that_is_not_listed_is_kept():
    steps = align([PassRun("secret")], [PassRun("cse")])
    assert {s.run.argument for s in steps} == {"secret", "cse"}

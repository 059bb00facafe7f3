"""An operation of the last state is traced to the pass that made it."""

from __future__ import annotations

from indexer.ir.blame import LineFinder, trace
from indexer.ir.records import Blame, Snapshot
from indexer.ir.snapshots import Dump, PassRun, compose

FILE = "k.py"


def op(name: str, line: int | None, results: str = "", operands: str = "") -> str:
    where = f'"{FILE}":{line}:4' if line else "unknown"
    made = f"{results} = " if results else ""
    used = ", ".join("i32" for _ in operands.split(",")) if operands else ""
    return f'{made}"{name}"({operands}) : ({used}) -> ({"i32" if results else ""}) loc({where})'


def module(**functions: list[str]) -> str:
    body = "\n".join(
        f'"func.func"() <{{sym_name = "{name}"}}> ({{\n' + "\n".join(ops) + "\n}) : () -> () loc(unknown)"
        for name, ops in functions.items()
    )
    return f'"builtin.module"() ({{\n{body}\n}}) : () -> () loc(unknown)\n'


def snapshots(**passes: str) -> list[Snapshot]:
    given = [(Dump(PassRun(name), "bishengir", text), i) for i, (name, text) in enumerate(passes.items())]
    return list(compose(given, FILE))


def test_the_maker_is_the_pass_after_which_it_appeared_and_it_names_what_fell():
    states = snapshots(
        ttir=module(f=[op("tt.load", 5), op("tt.store", 6)]),
        lower=module(f=[op("memref.copy", 5), op("memref.copy", 5), op("memref.copy", 6)]),
        deinterleave=module(f=[op("hivm.hir.load", 5), op("hivm.hir.vdeinterleave", 5), op("memref.copy", 6)]),
    )
    assert trace(states, states[-1]) == (
        Blame("hivm.hir.load", 5, 1, "deinterleave", 2, ("memref.copy",)),
        Blame("hivm.hir.vdeinterleave", 5, 1, "deinterleave", 2, ("memref.copy",)),
        Blame("memref.copy", 6, 1, "lower", 1, ("tt.store",)),
    )


def test_an_operation_that_went_and_came_back_is_blamed_on_its_return():
    states = snapshots(
        ttir=module(f=[op("scf.for", 3)]),
        unroll=module(f=[op("x.copy", 3)]),
        roll=module(f=[op("scf.for", 3)]),
    )
    assert trace(states, states[-1]) == (Blame("scf.for", 3, 1, "roll", 2, ("x.copy",)),)


def test_an_operation_of_the_source_has_no_maker():
    states = snapshots(ttir=module(f=[op("scf.for", 3)]), cse=module(f=[op("scf.for", 3), op("x.y", 3)]))
    assert [(b.op, b.pass_argument) for b in trace(states, states[-1])] == [("scf.for", None), ("x.y", "cse")]


def test_only_what_came_before_the_final_state_counts():
    states = snapshots(ttir=module(f=[op("a.b", 3)]), gone=module(f=[]), back=module(f=[op("a.b", 3)]))
    assert [b.pass_argument for b in trace(states, states[0])] == [None]


def test_counts_are_summed_over_functions():
    states = snapshots(ttir=module(f=[]), split=module(aic=[op("hivm.hir.load", 7)], aiv=[op("hivm.hir.load", 7)]))
    assert [(b.op, b.count) for b in trace(states, states[-1])] == [("hivm.hir.load", 2)]


def lines(text: str) -> list[tuple[str, int | None]]:
    (state,) = snapshots(ttir=text)
    return [(o.name, line) for o, line in LineFinder().lines(state.functions) if o.name != "func.func"]


def test_a_lost_line_is_carried_from_the_producer_then_from_a_user():
    text = module(
        f=[
            op("x.idx", None, "%0"),
            op("x.trunc", None, "%1", "%0"),
            op("x.use", 4, "%2", "%1"),
            op("x.next", None, "%3", "%2"),
        ]
    )
    assert lines(text) == [("x.idx", 4), ("x.trunc", 4), ("x.use", 4), ("x.next", 4)]


def test_a_function_without_lines_takes_that_of_its_call():
    call = f'"func.call"() <{{callee = @vf}}> : () -> () loc("{FILE}":9:1)'
    assert lines(module(f=[call], vf=[op("ave.hir.vexp", None)])) == [("func.call", 9), ("ave.hir.vexp", 9)]


def test_a_constant_belongs_to_no_line():
    text = module(f=[op("arith.constant", None, "%0"), op("hivm.hir.vadd", None, "%1", "%0")])
    assert lines(text) == [("arith.constant", None), ("hivm.hir.vadd", None)]


def test_a_name_used_again_in_a_sibling_region_is_another_value():
    def region(line: int) -> str:
        return (
            '"scf.if"() ({\n'
            + op("x.a", line, "%0")
            + "\n"
            + op("hivm.hir.b", None, "", "%0")
            + "\n}) : () -> () loc(unknown)"
        )

    found = lines(module(f=[region(3), region(8)]))
    assert [line for name, line in found if name == "hivm.hir.b"] == [3, 8]


def test_a_lost_line_is_carried_there_and_back_again():
    text = module(
        f=[
            op("x.buffer", None, "%0"),
            op("x.write", 4, "", "%0"),
            op("x.read", None, "", "%0"),
        ]
    )
    assert lines(text) == [("x.buffer", 4), ("x.write", 4), ("x.read", 4)]

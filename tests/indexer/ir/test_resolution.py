"""Each final operation is the user's, or the compiler's own with its pass and its reason."""

from __future__ import annotations

from indexer.ir.resolution import CompilerMade, resolve
from tests.indexer.ir.test_blame import FILE, module, op, snapshots


def test_own_lines_and_carried_ones_are_told_apart_and_numbers_do_not_count():
    states = snapshots(
        ttir=module(f=[op("hivm.hir.load", 3, "%0"), op("hivm.hir.vexp", None, "%1", "%0"), op("arith.addi", None)])
    )
    found = resolve(states, states[-1])
    assert (found.own, found.carried, found.lost, found.made) == (1, 1, 0, ())
    assert found.resolved_share == 1.0


def test_an_outlined_function_is_the_users_by_the_call_that_hands_it_its_arguments():
    call = f'"func.call"() <{{callee = @vf}}> : () -> () loc("{FILE}":9:1)'
    states = snapshots(ttir=module(f=[]), outline=module(f=[call], vf=[op("ave.hir.masked_store", None)]))
    assert (resolve(states, states[-1]).carried, resolve(states, states[-1]).made) == (1, ())


def test_what_no_line_asks_for_is_the_compilers_with_its_pass_and_why():
    load = op("hivm.hir.load", 3, "%0")
    states = snapshots(
        ttir=module(f=[op("tt.load", 3, "%0")]),
        lower=module(f=[load]),
        sync=module(f=[load, op("hivm.hir.set_flag", None), op("hivm.hir.set_flag", None)]),
        loops=module(f=[load, op("hivm.hir.set_flag", None), op("hivm.hir.set_flag", None), op("scf.for", None)]),
    )
    found = resolve(states, states[-1])
    assert found.made == (
        CompilerMade("hivm.hir.set_flag", 2, "sync", "order"),
        CompilerMade("scf.for", 1, "loops", "loop"),
    )
    assert (found.resolved_share, found.made_share) == (1.0, 0.75)


def test_what_came_with_the_source_and_has_no_line_is_lost():
    states = snapshots(ttir=module(f=[op("hivm.hir.load", 3), op("hivm.hir.store", None)]))
    found = resolve(states, states[-1])
    assert (found.lost, found.made, found.resolved_share) == (1, (), 0.5)


def test_a_module_without_operations_is_resolved():
    states = snapshots(ttir=module(f=[]))
    assert (resolve(states, states[-1]).resolved_share, resolve(states, states[-1]).made_share) == (1.0, 0.0)

"""A line is walked through the pipeline: each pass that changed it, what it replaced, and the operations as printed."""

from __future__ import annotations

from indexer.ir.history import follow_line
from indexer.ir.records import Snapshot
from indexer.ir.snapshots import Dump, PassRun, compose

FILE = "k.py"


def op(name: str, line: int, result: str = "") -> str:
    made = f"{result} = " if result else ""
    return f'{made}"{name}"() : () -> ({"i32" if result else ""}) loc("{FILE}":{line}:4)'


def states(**passes: list[str]) -> list[Snapshot]:
    texts = [
        '"builtin.module"() ({\n"func.func"() <{sym_name = "f"}> ({\n'
        + "\n".join(ops)
        + "\n}) : () -> () loc(unknown)\n}) : () -> () loc(unknown)\n"
        for ops in passes.values()
    ]
    dumps = [Dump(PassRun(name), "bishengir", text) for name, text in zip(passes, texts, strict=True)]
    return list(compose(zip(dumps, range(10, 10 * len(dumps) + 1, 10), strict=False), FILE))


def test_each_pass_says_what_it_replaced_and_only_those_that_changed_the_line_count():
    walked = follow_line(
        states(
            ttir=[op("tt.load", 5, "%0"), op("tt.store", 6)],
            elsewhere=[op("tt.load", 5, "%0"), op("memref.store", 6)],
            lower=[op("memref.alloc", 5, "%0"), op("memref.copy", 5), op("memref.store", 6)],
            deinterleave=[op("memref.alloc", 5, "%0"), op("hivm.hir.load", 5), op("hivm.hir.load", 5)],
        ),
        5,
    )
    assert [(s.pass_argument, s.replaced, s.made) for s in walked] == [
        ("ttir", (), ("tt.load",)),
        ("lower", ("tt.load",), ("memref.alloc", "memref.copy")),
        ("deinterleave", ("memref.copy",), ("hivm.hir.load",)),
    ]
    assert walked[-1].diff == (
        '  %0 = "memref.alloc"() : () -> (i32)',
        '- "memref.copy"() : () -> ()',
        '+ "hivm.hir.load"() : () -> ()',
        '+ "hivm.hir.load"() : () -> ()',
    )


def test_values_that_are_only_counted_anew_are_no_change():
    assert len(follow_line(states(ttir=[op("x.y", 5, "%0")], cse=[op("x.y", 5, "%7")]), 5)) == 1


def test_a_type_that_changes_is_a_change_without_new_names():
    wide = op("x.y", 5, "%0").replace("i32", "i64")
    _, narrowed = follow_line(states(ttir=[wide], narrow=[op("x.y", 5, "%0")]), 5)
    assert (narrowed.made, narrowed.replaced, len(narrowed.diff)) == ((), (), 2)


def test_a_line_that_is_removed_ends_with_the_pass_that_removed_it():
    *_, last = follow_line(states(ttir=[op("x.y", 5)], dce=[op("x.z", 6)], later=[]), 5)
    assert (last.pass_argument, last.position, last.replaced, last.diff) == (
        "dce", 20, ("x.y",), ('- "x.y"() : () -> ()',),
    )  # fmt: skip

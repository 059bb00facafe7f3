"""Dumps that a compiler left damaged: the last one of a compiler that died is passed over, any other is refused."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from agent.records import Compilation, Diagnostic, Launch
from agent.toolchain.ascend import compile_ttir
from agent.toolchain.collect import Collected, conclude
from agent.toolchain.install import find_ascend
from agent.toolchain.targets import find_target
from indexer.errors import ToolchainError
from indexer.ir.blame import trace
from indexer.ir.snapshots import Dump, PassRun, compose

KERNELS = Path(__file__).parents[2] / "kernels" / "lowering"
TARGET = find_target("ascend910b3")
WHOLE = b'"builtin.module"() ({\n  "x.y"() : () -> () loc("k.py":3:4)\n}) : () -> () loc(unknown)\n'
DIED = Diagnostic("error", "killed", None, "bishengir")


def collect(folder: Path, *dumps: bytes, failure: tuple[Diagnostic, ...] = ()) -> Compilation:
    work = folder / "work"
    work.mkdir()
    runs = [(PassRun(f"p{i}"), work / f"{i}.mlir") for i in range(len(dumps))]
    for (_, path), text in zip(runs, dumps, strict=True):
        path.write_bytes(text)
    part = Collected("bishengir", runs, [run for run, _ in runs], failure)
    launch = Launch("k", folder / "k.py", 1, {}, {}, (1, 1, 1))
    return conclude([part], launch, TARGET, "k.py", work, None)


def test_a_compiler_that_died_while_it_wrote_a_dump_leaves_the_states_before_it(tmp_path):
    made = collect(tmp_path, WHOLE, WHOLE[:50], failure=(DIED,))
    assert made.status == "rejected"
    assert [s.pass_argument for s in made.snapshots] == ["p0"]
    assert [(s.name, s.changed, s.ops) for s in made.stages] == [("p0", True, 0), ("p1", True, None)]


@pytest.mark.parametrize("dumps", [(WHOLE[:50], WHOLE), (WHOLE, WHOLE[:50]), (b"\xff\xfe" + WHOLE,)])
def test_a_damaged_dump_of_a_compiler_that_succeeded_is_named(tmp_path, dumps):
    with pytest.raises(ToolchainError, match="mlir"):
        collect(tmp_path, *dumps)


def test_a_damaged_dump_before_the_last_is_named_even_if_the_compiler_died(tmp_path):
    with pytest.raises(ToolchainError, match=r"0\.mlir"):
        collect(tmp_path, WHOLE[:50], WHOLE, failure=(DIED,))


@pytest.mark.slow
@pytest.mark.toolchain
def test_mutants_of_real_dumps_are_read_or_refused(tmp_path):
    file = KERNELS / "strided_softmax.py"
    launch = Launch(file.stem, file, 6, {}, {}, (1, 1, 1))
    compile_ttir(find_ascend(), file.with_suffix(".ttir").read_text(), launch, TARGET, file.name, tmp_path)
    dumps = sorted((tmp_path / "dumps").iterdir())
    chance = random.Random(20)  # noqa: S311 - the same mutants each time
    read = 0
    for _ in range(400):
        lines = chance.choice(dumps).read_text().splitlines()
        for _ in range(chance.randint(1, 3)):
            at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
            lines[at] = chance.choice([lines[other], "", lines[at][: chance.randrange(len(lines[at]) + 1)]])
        with suppress(ValueError):
            states = list(compose([(Dump(PassRun("p"), "bishengir", "\n".join(lines)), 0)], file.name))
            read += bool(trace(states, states[-1]))
    assert 0 < read < 400

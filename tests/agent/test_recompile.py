"""What changes with the shapes and makes Triton compile a kernel again is found, counted and told."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from agent.recompile import Recompilation, compare_launches, find_recompilations
from agent.recompile_documents import recompile_docs
from agent.records import KernelSource, Launch, ScalarArgument, TensorArgument
from agent.report.recompile import show_recompiles
from agent.report.terminal import Terminal
from agent.sandbox import SandboxPolicy
from agent.toolchain.targets import find_target
from agent.workbench import Workbench, open_workbench
from indexer.messages import Lang

SOURCE = """import triton


@triton.jit
def kern(x_ptr, n,
         WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    pass
"""


def launch(size: int, key: str, **given: object) -> Launch:
    fields = {
        "signature": {"x_ptr": "*fp32", "n": "i32"},
        "constexprs": {"WIDTH": size, "BLOCK": 64},
        "arguments": (TensorArgument("x_ptr", "fp32", (4, size), (size, 1)), ScalarArgument("n", "i32", size)),
        "aligned": ("x_ptr",),
    }
    return Launch("kern", Path("k.py"), 5, grid=(1, 1, 1), key=key, **{**fields, **given})  # type: ignore[arg-type]


def compared(*launches: Launch, seconds: float = 0.5) -> Recompilation | None:
    found = compare_launches(launches, SOURCE, {"kern": seconds} if seconds else {})
    assert len(found) < 2
    return found[0] if found else None


def test_a_constant_that_copies_an_extent_is_named_with_its_line_and_the_extent():
    found = compared(launch(100, "a"), launch(200, "b"), launch(300, "c"))
    assert found is not None
    assert (found.shapes, found.compilations, found.avoidable, found.stall_seconds) == (3, 3, 2, 1.0)
    (cause,) = found.causes
    assert (cause.parameter, cause.kind, cause.values, cause.line) == ("WIDTH", "constexpr", ("100", "200", "300"), 6)
    assert cause.follows == "x_ptr.shape[1]"


def test_a_constant_rounded_up_to_a_power_of_two_is_known_as_such():
    found = compared(launch(100, "a", constexprs={"WIDTH": 128}), launch(200, "b", constexprs={"WIDTH": 256}))
    assert found is not None
    assert found.causes[0].follows == "next_power_of_2(x_ptr.shape[1])"
    assert "least size" in recompile_docs([found], SOURCE, "en")[0].causes[0].advice


def test_shapes_that_share_their_artefact_are_no_recompilation():
    fixed = {"WIDTH": 64, "BLOCK": 64}
    assert compared(launch(96, "a", constexprs=fixed), launch(192, "a", constexprs=fixed)) is None


def test_the_configurations_of_a_tuner_are_none_either():
    made = [launch(n, f"{b}", constexprs={"BLOCK": b}, group="g") for n in (96, 192) for b in (64, 128)]
    assert compared(*made) is None


def test_what_triton_specialises_on_is_told_apart():
    fixed = {"WIDTH": 64, "BLOCK": 64}
    one = launch(1, "b", constexprs={**fixed, "n": 1}, signature={"x_ptr": "*fp32"})
    wide = launch(1 << 32, "c", constexprs=fixed, signature={"x_ptr": "*fp32", "n": "i64"})
    odd = launch(33, "d", constexprs=fixed, aligned=("x_ptr", "n"))
    for other, kind in ((one, "one"), (wide, "type"), (odd, "alignment")):
        found = compared(launch(20, "a", constexprs=fixed), other)
        assert found is not None
        assert [(cause.parameter, cause.kind) for cause in found.causes] == [("n", kind)]


@pytest.mark.parametrize(
    ("lang", "told"),
    [
        ("en", ["compiled 2 times for 2 shapes", "x_ptr.shape[1]", "at run time", "at least", "closed back end"]),
        ("zh", ["在 2 种形状下编译 2 次", "x_ptr.shape[1]", "运行时参数", "至少 0.5 秒", "闭源后端"]),
    ],
)
def test_a_recompilation_is_told_in_both_languages_with_what_its_stall_rests_on(lang: Lang, told: list[str]):
    found = compared(launch(100, "a"), launch(200, "b"))
    assert found is not None
    out = io.StringIO()
    show_recompiles(Terminal(Console(file=out, width=200), lang), recompile_docs([found], SOURCE, lang))
    assert [words for words in told if words not in out.getvalue()] == []


def test_a_stall_is_not_predicted_where_nothing_was_compiled():
    found = compared(launch(100, "a"), launch(200, "b"), seconds=0)
    assert found is not None
    (doc,) = recompile_docs([found], SOURCE, "en")
    assert doc.stall_seconds is None
    assert "no compilation" in doc.stall_basis


SLOW = """
import torch
import triton
import triton.language as tl

SHAPES = [(48,), (80,), (112,)]


@triton.jit
def scale(x_ptr, o_ptr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < WIDTH
    tl.store(o_ptr + offs, tl.load(x_ptr + offs, mask=mask) * 2.0, mask=mask)


def make_inputs(seed, shape=SHAPES[0]):
    return (torch.ones(shape),)


def run(x):
    out = torch.empty_like(x)
    scale[(1,)](x, out, WIDTH=x.numel(), BLOCK=128)
    return out
"""
FAST = SLOW.replace("WIDTH: tl.constexpr", "WIDTH")
# An integer that is 1, divisible by 16, neither: three compilations, unless the decorator says otherwise.
SPECIALISED = FAST.replace("[(48,), (80,), (112,)]", "[(1,), (16,), (33,)]")
ADVISED = SPECIALISED.replace("@triton.jit", '@triton.jit(do_not_specialize=["WIDTH"])')


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with open_workbench(find_target("ascend910b3"), SandboxPolicy()) as opened:
        yield opened


def found_in(bench: Workbench, text: str) -> tuple[Recompilation, ...]:
    return find_recompilations(bench.worker, bench.lower(KernelSource(Path("sizes.py"), text)))


@pytest.mark.slow
@pytest.mark.toolchain
def test_shapes_of_the_file_are_traced_and_a_run_time_size_needs_one_compilation(bench: Workbench):
    (found,) = found_in(bench, SLOW)
    assert found_in(bench, FAST) == ()
    assert (found.shapes, found.compilations, found.avoidable) == (3, 3, 2)
    assert [(c.parameter, c.values, c.follows) for c in found.causes] == [
        ("WIDTH", ("48", "80", "112"), "x_ptr.shape[0]")
    ]
    assert found.stall_seconds is not None
    assert found.stall_seconds > 0


@pytest.mark.toolchain
def test_what_the_decorator_is_advised_to_say_ends_the_recompilations(bench: Workbench):
    (found,) = found_in(bench, SPECIALISED)
    assert {(c.parameter, c.kind) for c in found.causes} == {("WIDTH", "one"), ("WIDTH", "alignment")}
    assert found_in(bench, ADVISED) == ()

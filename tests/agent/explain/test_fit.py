"""The largest tile is searched for with few compilations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agent.explain.fit import MAX_LOWERINGS, Search, find_fit
from agent.explain.places import return_inside, tile_condition
from agent.records import Compilation, Launch, Resources

SOURCE = """
@triton.jit
def toy(x_ptr, M: tl.constexpr, N: tl.constexpr, STEPS: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    if tl.sum(at) > 3:
        x = tl.load(x_ptr + at)
    for i in range(STEPS):
        if x > i:
            return
"""
LAUNCH = Launch("toy", Path("toy.py"), 2, {"x_ptr": "*fp32"}, {"M": 64, "N": 1024, "STEPS": 4096}, (1, 1, 1))


def planned(used: int, limit: int) -> Compilation:
    """What a compiler would say whose only buffer is M x N bytes."""
    resources = Resources(used, limit, 0, 0, 0, 0)
    return Compilation(LAUNCH, "toy", "ok" if used <= limit else "rejected", (), (), resources, (), {})


class Compiler:
    """Reads the two sizes that a text of the kernel has."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.calls = 0

    def __call__(self, text: str) -> Compilation:
        self.calls += 1
        line = next(line for line in text.splitlines() if "arange" in line)
        sizes = [part.partition(")")[0] for part in line.split("arange(0, ")[1:]]
        m, n = (LAUNCH.constexprs.get(size) or int(size) for size in sizes)
        return planned(int(str(m)) * int(str(n)), self.limit)


def search(compiler: Compiler) -> Search:
    return Search(compiler, lambda made: made.status == "ok", 64 * 1024 / compiler.limit, "ub_bytes")


def test_the_constexpr_of_a_tile_is_halved_until_it_fits_and_no_further() -> None:
    compiler = Compiler(20_000)
    found = find_fit(SOURCE, LAUNCH, search(compiler))
    assert found is not None
    assert (found.name, found.fits, found.too_large, found.used_bytes) == ("N", 256, 512, 64 * 256)
    assert compiler.calls <= MAX_LOWERINGS


def test_a_kernel_that_no_tile_helps_ends_within_the_bound() -> None:
    compiler = Compiler(1)
    assert find_fit(SOURCE, LAUNCH, search(compiler)) is None
    assert compiler.calls <= MAX_LOWERINGS


def test_a_kernel_of_another_file_is_left_alone() -> None:
    compiler = Compiler(20_000)
    assert find_fit(SOURCE, replace(LAUNCH, kernel="elsewhere"), search(compiler)) is None
    assert compiler.calls == 0


def test_the_condition_that_is_a_tile_is_found_and_one_that_is_reduced_is_not() -> None:
    assert tile_condition(SOURCE, LAUNCH) == 8
    assert return_inside(SOURCE, 7) == 9
    assert return_inside(SOURCE, 4) == 4

import pytest

from agent.rewrite.narrow_compare import narrow_compare

SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32", "m": "i64"}
CONSTS = {"B": 1024}
HEAD = "def kern(x_ptr, o_ptr, n, m, B: tl.constexpr):\n"

PART = "tl.cast(n, tl.int64) - tl.cast(tl.program_id(0), tl.int64) * B"


def rewritten(apply, *lines: str) -> str | None:
    found = apply(narrow_compare, HEAD + "".join(f"    {line}\n" for line in lines), SIG, CONSTS)
    return found.source if found is not None else None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("k = tl.arange(0, B).to(tl.int64) < n", "k = tl.arange(0, B) < n"),
        (
            "k = tl.arange(0, B) < m",
            "k = tl.arange(0, B) < tl.minimum(tl.maximum(tl.cast(m, tl.int64), -1), B).to(tl.int32)",
        ),
        (
            "k = tl.arange(0, B) * 4 >= m",
            "k = tl.arange(0, B) * 4 >= tl.minimum(tl.maximum(tl.cast(m, tl.int64), -1), B * 4 - 3).to(tl.int32)",
        ),
        (
            "k = m > tl.arange(0, B)",
            "k = -tl.arange(0, B) > tl.minimum(tl.maximum(-m, -B), 1).to(tl.int32)",
        ),
        (
            "k = (tl.program_id(0).to(tl.int64) * B + tl.arange(0, B) < n)",
            f"k = (tl.arange(0, B) < tl.minimum(tl.maximum({PART}, -1), B).to(tl.int32))",
        ),
        (
            "k = (tl.arange(0, B)[:, None].to(tl.int64) < n) & (tl.arange(0, 16)[None, :] < 7)",
            "k = (tl.arange(0, B)[:, None] < n) & (tl.arange(0, 16)[None, :] < 7)",
        ),
    ],
)
def test_a_64_bit_comparison_of_lanes_is_made_in_32_bits(apply, before: str, after: str) -> None:
    source = rewritten(apply, before)
    assert source is not None
    assert source.splitlines()[-1].strip() == after


@pytest.mark.parametrize(
    "line",
    [
        "k = tl.arange(0, B) < n",  # is a 32-bit one
        "k = m < n",  # is a scalar
        "k = tl.load(x_ptr + tl.arange(0, B)) < m",  # are data
        "k = tl.arange(0, B).to(tl.int64) * n < m",  # the reach of the lanes is not known
        "k = 0 < tl.arange(0, B).to(tl.int64) < n",  # is a chain
        "k = tl.arange(0, B).to(tl.int64) < 10000000000",  # the bound does not fit
    ],
)
def test_any_other_comparison_stays(apply, line: str) -> None:
    assert rewritten(apply, line) is None


def test_a_variable_that_holds_the_lanes_is_used_and_the_rest_stays(apply) -> None:
    source = rewritten(
        apply, "o = tl.arange(0, B)  # lanes", "y = tl.where(o.to(tl.int64) < n,  # why", "             o, 0)"
    )
    assert source is not None
    assert source.endswith("    o = tl.arange(0, B)  # lanes\n    y = tl.where(o < n,  # why\n                 o, 0)\n")


def test_a_scalar_that_a_loop_moves_is_read_where_it_is_compared(apply) -> None:
    lines = ("for k in range(0, n, B):", "    a = k + tl.arange(0, B).to(tl.int64) < m")
    source = rewritten(apply, *lines)
    assert source is not None
    assert "tl.arange(0, B) < tl.minimum(tl.maximum(m - tl.cast(k, tl.int64), -1), B)" in source


def test_lengths_that_come_from_memory_are_clamped_before_they_are_spread(apply) -> None:
    lines = ("t = tl.load(i_ptr + tl.arange(0, 16))", "k = tl.arange(0, B)[None, :] < t[:, None]")
    text = HEAD.replace("o_ptr", "i_ptr") + "".join(f"    {line}\n" for line in lines)
    found = apply(narrow_compare, text, {**SIG, "i_ptr": "*i64"}, CONSTS)
    assert found is not None
    bound = "tl.minimum(tl.maximum(t[:, None], -1), B).to(tl.int32)"
    assert found.source.endswith(f"    k = tl.arange(0, B)[None, :] < {bound}\n")

"""Rules that put vector operations in the place of what the compiler makes scalar or long-winded."""

import numpy as np
import pytest

from agent.rewrite.block_loop import block_loop
from agent.rewrite.compared_bins import compared_bins
from agent.rewrite.counted_in_float import counted_in_float
from agent.rewrite.direct_exp import direct_exp
from agent.rewrite.flat_tile import flat_tile
from agent.rewrite.flipped_load import flipped_load
from agent.rewrite.hoisted_load import hoisted_load
from agent.rewrite.index_by_value import index_by_value
from agent.rewrite.late_atomic import late_atomic
from agent.rewrite.limb_product import limb_product
from agent.rewrite.masked_remainder import masked_remainder
from agent.rewrite.narrow_sum import narrow_sum
from agent.rewrite.plain_casts import plain_casts
from agent.rewrite.selected_max import selected_max
from agent.rewrite.sixteen_bits import sixteen_bits
from agent.rewrite.staged_shift import staged_shift
from agent.rewrite.unit_stride_first import unit_stride_first

SIG = {"x_ptr": "*fp32", "h_ptr": "*fp16", "i_ptr": "*i32", "b_ptr": "*i8", "l_ptr": "*i64", "n": "i32"}
HEAD = """def kern(x_ptr, h_ptr, i_ptr, b_ptr, l_ptr, n, B: tl.constexpr, D: tl.constexpr):
    o = tl.arange(0, B)
    x = tl.load(x_ptr + o)
    i = tl.load(i_ptr + o)
    b = tl.load(b_ptr + o)
    t = tl.load(i_ptr + o[:, None] * B + o[None, :])
"""


def rewritten(apply, rule, *lines: str) -> list[str] | None:
    found = apply(rule, HEAD + "".join(f"    {line}\n" for line in lines), SIG, {"B": 128, "D": 48})
    return found.source.split(HEAD)[1].replace("\n    ", "\n").strip().splitlines() if found is not None else None


@pytest.mark.parametrize(
    ("rule", "before", "last"),
    [
        (
            index_by_value,
            "y = tl.argmin(t, axis=1)",
            "y = tl.min(tl.where(t == tl.expand_dims(extreme, 1), tl.arange(0, B)[None, :], B), 1)",
        ),
        (index_by_value, "y = i.argmax(0)", "y = tl.min(tl.where(i == extreme, tl.arange(0, B), B), 0)"),
        (masked_remainder, "y = i % 64", "y = (i - ((i + ((i >> 31) & (64 - 1))) & (0 - 64)))"),
        (masked_remainder, "y = i % D", "y = remainder"),
        (staged_shift, "y = i << (o & 7)", "y = shifted"),
        (staged_shift, "y = t >> (o % 4)[None, :]", "y = shifted"),
        (counted_in_float, "y = tl.sum((x > 0).to(tl.int32), 0)", "y = tl.sum((x > 0).to(tl.float32), 0).to(tl.int32)"),
        (counted_in_float, "y = (i & 3).sum(axis=0)", "y = tl.sum((i & 3).to(tl.float32), axis=0).to(tl.int32)"),
        (narrow_sum, "y = tl.max(t.to(tl.int64), 1)", "y = tl.max(t, 1).to(tl.int64)"),
        (
            narrow_sum,
            "y = tl.sum(t.to(tl.int64), 1)",
            "y = (tl.sum(t >> 16, 1).to(tl.int64) * 65536 + tl.sum(t & 0xFFFF, 1).to(tl.int64))",
        ),
        (direct_exp, "y = tl.exp2(x * 1.44269504)", "y = tl.exp(x)"),
        (direct_exp, "y = tl.math.exp2((x - 1.0) * 1.4427)", "y = tl.exp(x - 1.0)"),
        (direct_exp, "y = tl.exp2(x / 0.6931471805599453)", "y = tl.exp(x)"),
        (selected_max, "y = tl.maximum(x, 0.0)", "y = tl.where(x > 0.0, x, 0.0)"),
        (
            selected_max,
            "y = tl.minimum(x, x * 2)",
            'y = tl.where(x < other_side, x, tl.where(other_side <= float("inf"), other_side, x))',
        ),
        (sixteen_bits, "y = b * b + 3", "y = ((b.to(tl.int16) * b.to(tl.int16)) + 3).to(tl.int8)"),
        (compared_bins, "y = tl.histogram(i, 16)", "y = tl.sum(hits.to(tl.float32), 0).to(tl.int32)"),
        (
            unit_stride_first,
            "y = tl.make_block_ptr(x_ptr, (n, n), strides=(1, n), offsets=(0, 0), block_shape=(B, B), order=(1, 0))",
            "y = tl.make_block_ptr(x_ptr, (n, n), strides=(1, n), offsets=(0, 0), block_shape=(B, B), order=(0, 1))",
        ),
        (flipped_load, "y = tl.load(x_ptr + (B - 1) - o)", "y = tl.flip(tl.load(x_ptr + o), 0)"),
    ],
)
def test_a_scalar_form_becomes_a_vector_one(apply, rule, before: str, last: str) -> None:
    made = rewritten(apply, rule, before)
    assert made is not None
    assert made[-1] == last


@pytest.mark.parametrize(
    ("rule", "lines"),
    [
        (index_by_value, ["y = tl.argmax(x, 0)"]),  # floats have the instruction
        (masked_remainder, ["y = x % 2.0"]),
        (masked_remainder, ["y = i % n"]),  # how large the divisor is, is not known
        (staged_shift, ["y = i >> 3"]),
        (staged_shift, ["y = i >> o"]),  # amounts of 32 and more
        (counted_in_float, ["y = tl.sum(i, 0)"]),  # sums of any word may pass 2**24
        (narrow_sum, ["y = tl.sum(tl.load(l_ptr + o), 0)"]),  # 64 bits in memory
        (direct_exp, ["y = tl.exp2(x * 1.5)"]),
        (direct_exp, ["y = tl.exp2(x)"]),
        (selected_max, ["y = tl.maximum(i, 0)"]),
        (sixteen_bits, ["y = i + 1"]),
        (compared_bins, ["y = tl.histogram(i, 4096)"]),  # does not fit UB
        (plain_casts, ["y = x + 1.0"]),
        (flipped_load, ["y = tl.load(x_ptr - o, mask=o < n)"]),
        (late_atomic, ["for k in range(n):", "    tl.atomic_add(x_ptr + k, x)"]),  # another place each round
        (late_atomic, ["for k in range(n):", "    tl.atomic_add(x_ptr + o, x)", "    tl.store(x_ptr + o, x)"]),
        (hoisted_load, ["for k in range(n):", "    w = tl.load(x_ptr + o)", "    tl.store(x_ptr + o, w * 2)"]),
        (hoisted_load, ["for k in range(n):", "    w = tl.load(x_ptr + k + o)", "    tl.store(h_ptr + o, w)"]),
        (block_loop, ["s = 0.0", "for k in range(n):", "    s = s * 2 + tl.load(x_ptr + k)"]),
        (block_loop, ["s = 0.0", "for k in range(n):", "    s += tl.load(x_ptr + k) * s"]),
    ],
)
def test_what_is_not_the_same_for_certain_stays(apply, rule, lines: list[str]) -> None:
    assert rewritten(apply, rule, *lines) is None


def test_the_high_half_of_a_product_is_made_of_four_products(apply) -> None:
    made = rewritten(apply, limb_product, "y = tl.umulhi(i, n)")
    assert made is not None
    assert "umulhi" not in "".join(made)
    assert "".join(made).count("_high * ") == 2


def test_half_precision_is_left_once_and_entered_once(apply) -> None:
    lines = ["h = tl.load(h_ptr + o)", "e = tl.exp(h.to(tl.float32)).to(tl.float16)", "tl.store(h_ptr + o, e * h)"]
    made = rewritten(apply, plain_casts, *lines)
    assert made is not None
    assert made[0] == "h = tl.load(h_ptr + o).to(tl.float32)"
    assert "float16" not in "".join(made)


def test_an_atomic_update_is_made_once_behind_the_loop(apply) -> None:
    made = rewritten(apply, late_atomic, "for k in range(n):", "    tl.atomic_add(x_ptr + o, x * k)")
    assert made == [
        "total = tl.zeros((B,), tl.float32)",
        "for k in range(n):",
        "    total += x * k",
        "tl.atomic_add(x_ptr + o, total)",
    ]


def test_an_invariant_load_is_made_before_the_loop(apply) -> None:
    loop = ["for k in range(n):", "    w = tl.load(h_ptr + o)", "    tl.store(x_ptr + k * B + o, w)"]
    made = rewritten(apply, hoisted_load, *loop)
    assert made is not None
    assert made[0] == "w = tl.load(h_ptr + o)"


def test_a_summing_loop_takes_a_block_a_round(apply) -> None:
    made = rewritten(apply, block_loop, "s = 0.0", "for k in range(n):", "    s += tl.exp(tl.load(x_ptr + k))")
    assert made is not None
    assert made[-1] == "s += tl.sum(s_lanes, 0)"
    assert any("tl.where(live, tl.exp(tl.load(x_ptr + k, mask=live, other=0.0)), 0.0)" in line for line in made)


def signed_remainder(x: int, divisor: int) -> int:
    """Take the remainder as the rule's lines do, in exact integers but for the float32 quotients."""

    def quotient(value: int) -> int:
        inverse = np.float32(1.0 / divisor)
        return int(np.float32(value) * inverse)

    left = x - quotient(x) * divisor
    left -= quotient(left) * divisor
    left += ((left >> 31) & divisor) - divisor
    left += (left >> 31) & divisor
    return left - ((x >> 31) & (-left >> 31) & divisor)


@pytest.mark.parametrize("divisor", [3, 7, 48, 1000, 65537, (1 << 22) - 1])
def test_the_remainder_by_float_quotients_is_exact_at_the_ends(divisor: int) -> None:
    ends = [0, 1, divisor - 1, divisor, divisor + 1, (1 << 24) + 1, (1 << 31) - 1, -(1 << 31), 123456789]
    multiples = [k * divisor + d for k in (1, 2, (1 << 30) // divisor) for d in (-1, 0, 1)]
    for x in [*ends, *multiples, *(-m for m in multiples)]:
        assert signed_remainder(x, divisor) == (abs(x) % divisor) * (1 if x >= 0 else -1)


ROWS = """def kern(x_ptr, o_ptr, M: tl.constexpr, C: tl.constexpr, P: tl.constexpr):
    r = tl.arange(0, M)
    c = tl.arange(0, P)
    p = r[:, None] * C + c[None, :]
    ok = c[None, :] < C
    x = tl.load(x_ptr + p, mask=ok, other=0.0)
"""


@pytest.mark.parametrize(
    ("last", "fits"),
    [
        ("tl.store(o_ptr + p, x * 2, mask=ok)", True),
        ("tl.store(o_ptr + p, x * c[None, :], mask=ok)", False),  # sees the columns
        ("tl.store(o_ptr + p, x, mask=c[None, :] < C - 1)", False),  # leaves a part of each row
        ("tl.store(o_ptr + r, tl.sum(x, 1))", False),
    ],
)
def test_contiguous_rows_become_one_range_only_where_no_axis_is_seen(apply, last: str, *, fits: bool) -> None:
    types = {"x_ptr": "*fp32", "o_ptr": "*fp32"}
    found = apply(flat_tile, f"{ROWS}    {last}\n", types, {"M": 1024, "C": 3, "P": 4})
    assert (found is not None) is fits
    if found is not None:
        assert found.source.count("tl.arange(0, M * P) < C * M") == 2

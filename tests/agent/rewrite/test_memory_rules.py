"""Rules that change where and how data are loaded."""

import pytest

from agent.records import TensorArgument
from agent.rewrite.skip_padding import skip_padding
from agent.rewrite.split_block import split_block
from agent.rewrite.table_gather import table_gather
from agent.rewrite.tile_index import tile_index
from agent.rewrite.transposed_load import transposed_load

SIG = {"x_ptr": "*fp32", "i_ptr": "*i32", "o_ptr": "*fp32", "n": "i32", "s": "i32"}
CONSTS = {"B": 2048, "W": 32, "C": 16}
HEAD = "def kern(x_ptr, i_ptr, o_ptr, n, s, B: tl.constexpr, W: tl.constexpr, C: tl.constexpr):\n"
OFFS = "o = tl.program_id(0) * B + tl.arange(0, B)"


def rewritten(apply, rule, *lines: str, at: str = "", tail: str = "", arguments=()) -> list[str] | None:
    text = HEAD + "".join(f"    {line}\n" for line in lines) + tail
    found = apply(rule, text, SIG, CONSTS, at=at, arguments=arguments)
    return found.source.splitlines()[6:] if found is not None else None


def test_an_elementwise_block_is_worked_through_in_parts(apply) -> None:
    rows = rewritten(
        apply, split_block(4), OFFS, "y = tl.zeros((B,), tl.float32)", "tl.store(o_ptr + o, y, mask=o < n)"
    )
    assert rows is not None
    assert rows[1:] == [
        "    PART: tl.constexpr = 512 if B > 512 else B",
        "    for part_start in range(0, B, PART):",
        "        o = tl.program_id(0) * B + (part_start + tl.arange(0, PART))",
        "        y = tl.zeros((PART,), tl.float32)",
        "        tl.store(o_ptr + o, y, mask=o < n)",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "tl.store(o_ptr, tl.sum(tl.load(x_ptr + o), 0))",  # mixes lanes
        "tl.store(x_ptr + o, tl.load(x_ptr + o + 1))",  # a later part would read what an earlier one wrote
        "tl.store(o_ptr + o, tl.load(x_ptr + tl.load(i_ptr + o)))",  # the address is not known
        "tl.store(o_ptr + tl.arange(0, C), 1.0)",  # two sizes
        "tl.atomic_add(o_ptr + o, 1.0)",  # not known to be the same
    ],
)
def test_a_kernel_whose_lanes_depend_on_one_another_stays_whole(apply, line: str) -> None:
    assert rewritten(apply, split_block(4), OFFS, line) is None


def test_rows_that_are_reduced_one_by_one_are_worked_through_in_parts(apply) -> None:
    lines = (
        "r = tl.arange(0, W)",
        "p = r[:, None] * B + tl.arange(0, B)[None, :]",
        "x = tl.load(x_ptr + p)",
        "tl.store(o_ptr + p, x - tl.sum(x, axis=1)[:, None])",
    )
    rows = rewritten(apply, split_block(4), *lines)
    assert rows is not None
    assert rows[1:4] == [
        "    PART: tl.constexpr = 8 if W > 8 else W",
        "    for part_start in range(0, W, PART):",
        "        r = (part_start + tl.arange(0, PART))",
    ]


def test_an_axis_of_a_square_tile_is_not_told_from_the_other(apply) -> None:
    lines = ("p = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]", "tl.store(o_ptr + p, tl.load(x_ptr + p))")
    assert rewritten(apply, split_block(4), *lines) is None


def test_parts_do_not_get_too_small(apply) -> None:
    assert rewritten(apply, split_block(16), OFFS, "tl.store(o_ptr + o, 1.0)") is None


@pytest.mark.parametrize("other", ["", ", other=0.0"])
def test_padding_that_nobody_sees_is_not_filled(apply, other: str) -> None:
    load = f"v = tl.load(x_ptr + o, mask=o < n{other})"
    rows = rewritten(
        apply, skip_padding, OFFS, load, "w = tl.exp(v) * 2", "tl.store(o_ptr + o, w, mask=(o < n) & (o > 3))"
    )
    assert rows is not None
    assert rows[2] == "    v = tl.load(x_ptr + o, mask=o < n, care_padding=False)"


@pytest.mark.parametrize(
    "uses",
    [
        ("tl.store(o_ptr + o, v)",),  # stored without the mask
        ("tl.store(o_ptr + o, v, mask=o < s)",),  # under another
        ("tl.store(o_ptr + o, v - tl.max(v, 0), mask=o < n)",),  # reduced
        ("if n > 1:", "    v = v + 1", "tl.store(o_ptr + o, v, mask=o < n)"),  # may be either
        ("n = 5", "tl.store(o_ptr + o, v, mask=o < n)"),  # the same text, another mask
        ("tl.store(o_ptr + tl.cast(v, tl.int32), 1.0, mask=o < n)",),  # an address
    ],
)
def test_padding_that_somebody_may_see_stays(apply, uses: tuple[str, ...]) -> None:
    assert rewritten(apply, skip_padding, OFFS, "v = tl.load(x_ptr + o, mask=o < n)", *uses) is None


ROW, COL = "r = tl.arange(0, W)", "c = tl.arange(0, C)"


def test_a_tile_read_across_its_rows_is_read_along_them(apply) -> None:
    load = (
        "v = tl.load(x_ptr + n * 4 + r[:, None] + c[None, :] * s, mask=(r[:, None] < n) & (c[None, :] < s), other=0.0)"
    )
    rows = rewritten(apply, transposed_load, ROW, COL, load, at="load(")
    assert rows is not None
    assert rows[-1] == (
        "    v = tl.trans(tl.load(x_ptr + n * 4 + c[:, None] * s + r[None, :],"
        " mask=(r[None, :] < n) & (c[:, None] < s), other=0.0))"
    )


def test_a_tile_pointer_that_a_loop_moves_is_turned_where_it_is_made(apply) -> None:
    lines = (
        "p = x_ptr + r[:, None] + c[None, :] * s",
        "for k in range(0, n):",
        "    v = tl.load(p)",
        "    p += s * 16",
    )
    rows = rewritten(apply, transposed_load, ROW, COL, *lines, at="load(")
    assert rows is not None
    assert rows[3] == "    p = x_ptr + c[:, None] * s + r[None, :]"
    assert rows[5] == "        v = tl.trans(tl.load(p))"


@pytest.mark.parametrize(
    "lines",
    [
        ("v = tl.load(x_ptr + r[:, None] * s + c[None, :])",),  # is in order
        ("v = tl.load(x_ptr + r[:, None] * s + c[None, :] * n)",),  # has no order
        ("p = x_ptr + r[:, None] + c[None, :] * s", "v = tl.load(p)", "tl.store(p, v)"),  # another use
        ("m = tl.load(i_ptr + r)", "v = tl.load(x_ptr + r[:, None] + c[None, :] * s, mask=m[:, None] > 0)"),
    ],
)
def test_any_other_tile_stays(apply, lines: tuple[str, ...]) -> None:
    assert rewritten(apply, transposed_load, ROW, COL, *lines, at="v = tl.load(") is None


TABLE = (TensorArgument("x_ptr", "fp32", (10, 50), (50, 1)),)
HOST = "\n\ndef run(x, i, o):\n    kern[(1,)](x, i, o, 1, 2, B=2048, W=32, C=16)\n"
LOOKUP = ("j = tl.load(i_ptr + o, mask=o < n)", "v = tl.load(x_ptr + j, mask=o < n, other=0.5)  # looked up")


def test_a_small_table_is_loaded_and_gathered_from(apply) -> None:
    rows = rewritten(apply, table_gather, OFFS, *LOOKUP, at="looked", tail=HOST, arguments=TABLE)
    assert rows is not None
    assert rows[0].endswith("C: tl.constexpr, TABLE: tl.constexpr, TABLE_BLOCK: tl.constexpr):")
    assert rows[3:10] == [
        "    if TABLE_BLOCK <= 12288:",
        "        table_lanes = tl.arange(0, TABLE_BLOCK)",
        "        table = tl.load(x_ptr + table_lanes, mask=table_lanes < TABLE, other=0)",
        "        picked = tl.where(o < n, tl.gather(table, tl.where(o < n, j, 0).to(tl.int32), 0), 0.5)",
        "    else:",
        "        picked = tl.load(x_ptr + j, mask=o < n, other=0.5)",
        "    v = picked  # looked up",
    ]
    assert rows[-1].endswith("C=16, TABLE=x.numel(), TABLE_BLOCK=triton.next_power_of_2(x.numel()))")


@pytest.mark.parametrize(
    "table", [TensorArgument("x_ptr", "fp32", (200, 200), (200, 1)), TensorArgument("x_ptr", "fp32", (8, 8), (16, 1))]
)
def test_a_large_table_or_one_with_gaps_stays(apply, table: TensorArgument) -> None:
    assert rewritten(apply, table_gather, OFFS, *LOOKUP, at="looked", tail=HOST, arguments=(table,)) is None


def test_a_tensor_that_the_host_makes_in_the_call_stays(apply) -> None:
    host = HOST.replace("(x, i", "(x.clone(), i")
    assert rewritten(apply, table_gather, OFFS, *LOOKUP, at="looked", tail=host, arguments=TABLE) is None


def test_a_flat_index_gets_its_axes_back(apply) -> None:
    lines = (
        "r = o // W",
        "v = tl.load(x_ptr + r * n + o % W, mask=o < s * W)",
        "tl.store(o_ptr + o, v, mask=o < s * W)",
    )
    rows = rewritten(apply, tile_index, OFFS, *lines)
    assert rows is not None
    assert rows[1:] == [
        "    if B % W == 0:",
        "        tile_rows = (tl.program_id(0) * (B // W) + tl.arange(0, B // W))[:, None]",
        "        tile_cols = tl.arange(0, W)[None, :]",
        "        o = tile_rows * W + tile_cols",
        "    else:",
        "        o = tl.program_id(0) * B + tl.arange(0, B)",
        "        tile_rows = o // W",
        "        tile_cols = o % W",
        "    r = tile_rows",
        "    v = tl.load(x_ptr + r * n + tile_cols, mask=tile_rows < s)",
        "    tl.store(o_ptr + o, v, mask=tile_rows < s)",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        (OFFS, "v = tl.load(x_ptr + o // 3)"),  # does not divide the block
        (OFFS, "v = tl.load(x_ptr + o // W + o % C)"),  # two divisors
        (OFFS, "v = tl.load(x_ptr + o // W, mask=o < n)"),  # may end inside a row
        ("o = n + tl.arange(0, B)", "v = tl.load(x_ptr + o // W)"),  # starts anywhere
        (OFFS, "v = tl.sum(tl.load(x_ptr + o // W), 0)"),  # sums the tile
    ],
)
def test_any_other_division_stays(apply, lines: tuple[str, ...]) -> None:
    assert rewritten(apply, tile_index, *lines) is None

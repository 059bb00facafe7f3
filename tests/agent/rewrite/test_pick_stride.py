import pytest

from agent.records import ScalarArgument
from agent.rewrite.fixed_stride import fixed_stride
from agent.rewrite.pick_stride import pick_stride

SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
HEAD = "def kern(x_ptr, o_ptr, n, S: tl.constexpr, B: tl.constexpr):\n    o = tl.arange(0, B)\n"


def rewritten(apply, line: str, *, stride: int = 2, dtype: str = "*fp32") -> list[str] | None:
    sig, consts = {**SIG, "x_ptr": dtype}, {"S": stride, "B": 256}
    found = apply(pick_stride, f"{HEAD}    {line}\n", sig, consts, at="load(")
    return [row.strip() for row in found.source.splitlines()[8:]] if found is not None else None


def test_stride_2_is_a_contiguous_load_and_a_split(apply) -> None:
    assert rewritten(apply, "v = tl.load(x_ptr + n * 8 + o * 2, mask=o < n, other=0.5)") == [
        "wide = tl.arange(0, B * 2)",
        "span = tl.load(x_ptr + n * 8 + wide, mask=wide < n * 2 - 1, other=0.5)",
        "v, skipped = tl.split(tl.reshape(span, (B, 2)))",
    ]


def test_stride_4_is_split_twice(apply) -> None:
    rows = rewritten(apply, "v = tl.load(x_ptr + o * 4)")
    assert rows is not None
    assert rows[1] == "span = tl.load(x_ptr + wide, mask=wide < B * 4 - 3, care_padding=False)"
    assert rows[2:] == [
        "every_2, skipped_2 = tl.split(tl.reshape(span, (B * 2, 2)))",
        "v, skipped = tl.split(tl.reshape(every_2, (B, 2)))",
    ]


def test_stride_3_is_gathered(apply) -> None:
    rows = rewritten(apply, "v = tl.load(x_ptr + o * 3)")
    assert rows is not None
    assert rows[-1] == "v = tl.gather(span, o * 3, 0)"


def test_rows_of_stride_3_are_gathered_along_their_axis(apply) -> None:
    rows = rewritten(apply, "v = tl.load(x_ptr + tl.arange(0, 4)[:, None] * n + tl.arange(0, 32)[None, :] * 3)")
    assert rows is not None
    assert rows[-1] == "v = tl.gather(span, tl.broadcast_to(tl.arange(0, 32)[None, :] * 3, (4, 32)), 1)"


def test_a_range_that_would_fill_ub_stays_strided(apply) -> None:
    assert rewritten(apply, "v = tl.load(x_ptr + tl.arange(0, 16384) * 2)") is None


def test_a_constexpr_stride_keeps_the_old_form_for_its_other_values(apply) -> None:
    rows = rewritten(apply, "tl.store(o_ptr + o, tl.load(x_ptr + o * S))  # kept")
    assert rows is not None
    assert rows[0] == "if S == 2:"
    assert rows[-3:] == ["else:", "picked = tl.load(x_ptr + o * S)", "tl.store(o_ptr + o, picked)  # kept"]


@pytest.mark.parametrize("mask", ["(o < n) & (n > 3)", "(o >= n) & (o < 200)", "o <= n"])
def test_every_bound_of_the_lanes_is_written_for_the_wide_ones(apply, mask: str) -> None:
    rows = rewritten(apply, f"v = tl.load(x_ptr + o * 2, mask={mask})")
    assert rows is not None
    wide = {
        "(o < n) & (n > 3)": "(wide < n * 2 - 1) & (n > 3)",
        "(o >= n) & (o < 200)": "(wide >= n * 2) & (wide < 399)",
        "o <= n": "wide <= n * 2",
    }
    assert f"mask={wide[mask]}" in rows[1]


@pytest.mark.parametrize(
    "line",
    [
        "v = tl.load(x_ptr + o)",  # is contiguous
        "v = tl.load(x_ptr + o * n)",  # a run-time stride
        "v = tl.load(x_ptr + o * 16)",  # the range is larger than the slots
        "v = tl.load(x_ptr + o * 2, mask=o % 3 == 0)",  # a mask with holes
        "v = tl.load(x_ptr + o * 2, mask=o < n, other=o)",  # a tile in the masked lanes
        "v = tl.load(x_ptr + o * o)",  # is no stride at all
        "if n > 1: v = tl.load(x_ptr + o * 2)",  # no line can be put before it
    ],
)
def test_any_other_load_stays(apply, line: str) -> None:
    assert rewritten(apply, line) is None


def test_wide_elements_stay(apply) -> None:
    assert rewritten(apply, "v = tl.load(x_ptr + o * 2)", dtype="*i64") is None


def test_the_last_axis_of_a_tile_is_picked_from_each_row(apply) -> None:
    line = "v = tl.load(x_ptr + o[:, None] * n + tl.arange(0, 16)[None, :] * 2)"
    rows = rewritten(apply, line)
    assert rows is not None
    assert rows[0] == "wide = tl.arange(0, 32)[None, :]"
    assert rows[1].startswith("span = tl.load(x_ptr + o[:, None] * n + wide, mask=wide < 31,")
    assert rows[2] == "v, skipped = tl.split(tl.reshape(span, (B, 16, 2)))"


def test_the_rest_of_a_line_stays_in_order(apply) -> None:
    rows = rewritten(apply, "a = 1; v = tl.load(x_ptr + o * 2); b = 2")
    assert rows is not None
    assert (rows[0], rows[-1]) == ("a = 1", "v, skipped = tl.split(tl.reshape(span, (B, 2))); b = 2")


def test_applying_it_again_finds_nothing(apply) -> None:
    text = HEAD + "    v = tl.load(x_ptr + o * S)\n"
    first = apply(pick_stride, text, SIG, {"S": 2, "B": 256})
    assert first is not None
    again = first.source.split("@triton.jit\n")[1]
    assert apply(pick_stride, again, SIG, {"S": 2, "B": 256}) is None


def test_a_stride_of_the_host_becomes_a_constexpr(apply) -> None:
    text = "def kern(x_ptr, o_ptr, s, B: tl.constexpr):\n    o = tl.arange(0, B)\n    v = tl.load(x_ptr + o * s)\n"
    arguments = (ScalarArgument("s", "i32", 2),)
    found = apply(fixed_stride, text, {**SIG, "s": "i32"}, {"B": 256}, arguments=arguments)
    assert found is not None
    assert "def kern(x_ptr, o_ptr, s: tl.constexpr, B: tl.constexpr):" in found.source
    assert "if s == 2:" in found.source

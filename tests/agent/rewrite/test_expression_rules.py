import pytest

from agent.rewrite.fewer_bit_ops import fewer_bit_ops
from agent.rewrite.fused_relu import fused_relu
from agent.rewrite.merged_bound import merged_bound
from agent.rewrite.number_max import number_max
from agent.rewrite.scan_rows import scan_rows

SIG = {"x_ptr": "*fp32", "i_ptr": "*i32", "n": "i32", "m": "i32"}
CONSTS = {"B": 128}
HEAD = """def kern(x_ptr, i_ptr, n, m, B: tl.constexpr):
    o = tl.arange(0, B)
    x = tl.load(x_ptr + o)
    i = tl.load(i_ptr + o)
    t = tl.load(x_ptr + o[:, None] * B + o[None, :])
"""
TAIL = "    tl.store(x_ptr + o, y)\n"
ALL = "propagate_nan=tl.PropagateNan.ALL"


def rewritten(apply, rule, *lines: str) -> str | None:
    text = HEAD + "".join(f"    {line}\n" for line in lines) + TAIL
    found = apply(rule, text, SIG, CONSTS)
    return found.source.split(HEAD)[1].removesuffix(TAIL).splitlines()[-1].strip() if found is not None else None


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        (number_max, "y = tl.minimum(tl.maximum(x, -1.0), 6.0)", f"y = tl.minimum(tl.maximum(x, -1.0), 6.0, {ALL})"),
        (number_max, "y = tl.maximum(i.to(tl.float32), 0.5)", None),
        (number_max, "y = tl.maximum(o.to(tl.float32), 0.5)", f"y = tl.maximum(o.to(tl.float32), 0.5, {ALL})"),
        (number_max, "y = tl.maximum(x, 0.0)", None),
        (number_max, "y = tl.maximum(n, m)", None),
        (merged_bound, "y = (o < n) | (o < m)", "y = (o < tl.maximum(n, m))"),
        (merged_bound, "y = (o >= n) | (m <= o)", "y = (o >= tl.minimum(n, m))"),
        (merged_bound, "y = (o < n) | (o >= m)", None),
        (merged_bound, "y = (o < n) | (i < m)", None),
        (merged_bound, "y = (o < n) | (o * 2 < m)", None),
        (scan_rows, "y = tl.cumsum(t, 1)", "y = tl.trans(tl.cumsum(tl.trans(t), 0))"),
        (scan_rows, "y = tl.cumsum(t, axis=-1, reverse=True)", "y = tl.trans(tl.cumsum(tl.trans(t), 0, reverse=True))"),
        (scan_rows, "y = tl.cumsum(t, 0)", None),
        (scan_rows, "y = tl.cumsum(x, 0)", None),
        (fewer_bit_ops, "y = i ^ o", "y = ((i | o) - (i & o))"),
        (fewer_bit_ops, "y = (x > 0) ^ (x < 9)", None),
        (fewer_bit_ops, "y = n ^ m", None),
        (fused_relu, f"y = tl.maximum(x * 2, 0.0, {ALL})", "y = libdevice.relu(x * 2)"),
        (fused_relu, "y = tl.maximum(x, 0.0)", None),
        (fused_relu, f"y = tl.maximum(x, 1.0, {ALL})", None),
    ],
)
def test_an_expression_is_rewritten_only_where_it_is_the_same(apply, rule, before: str, after: str | None) -> None:
    assert rewritten(apply, rule, before) == after


def test_a_running_minimum_that_a_loop_makes_of_itself_is_not_a_number(apply) -> None:
    assert rewritten(apply, number_max, "for k in range(n):", "    y = tl.maximum(y, x)") is None


def test_relu_is_imported_once(apply) -> None:
    found = apply(
        fused_relu, HEAD + f"    y = tl.maximum(x, 0, {ALL}) + tl.maximum(0.0, x, {ALL})\n" + TAIL, SIG, CONSTS
    )
    assert found is not None
    assert found.source.count("from triton.language.extra.ascend import libdevice\n") == 1
    assert found.source.count("libdevice.relu(x)") == 2

import ast
from pathlib import Path

import pytest

from agent.records import Launch
from agent.symptoms.edits import Code
from agent.symptoms.origin import Origin, structure
from agent.symptoms.table import SYMPTOMS
from tests.agent.symptoms.lowered import subject

HEAD = """import triton
import triton.language as tl


@triton.jit
def kern(x_ptr, i_ptr, o_ptr, n, s, BLOCK: tl.constexpr):
    \"\"\"它很慢。\"\"\"
    rows = tl.arange(0, 8)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
"""
SIGNATURE = {"x_ptr": "*fp32", "i_ptr": "*i32", "o_ptr": "*fp32", "n": "i64", "s": "i32"}
LAUNCH = Launch("kern", Path("k.py"), 1, SIGNATURE, {"BLOCK": 1024}, (1, 1, 1))
BY_ID = {s.id: s for s in SYMPTOMS}


def edited(symptom: str, *lines: str, line: int = -1) -> str:
    """Return the lines of the counterfactual of a symptom seen on one of `lines`."""

    source = HEAD + "".join(f"    {text}\n" for text in lines)
    made = subject([], source, signature=SIGNATURE, constexprs={"BLOCK": 1024})
    number = HEAD.count("\n") + (len(lines) if line < 0 else line)
    variant = BY_ID[symptom].counterfactual(made, structure(symptom, [], Origin(None, None), line=number))
    assert variant is not None
    assert variant.source is not None
    ast.parse(variant.source)
    assert variant.source.startswith(HEAD.rsplit("    rows", 1)[0])
    return "\n".join(text.strip() for text in variant.source[len(HEAD) :].splitlines())


@pytest.mark.parametrize(
    ("symptom", "before", "after"),
    [
        ("i64_cmp", "m = offs.to(tl.int64) < n", "m = (offs.to(tl.int32) < n.to(tl.int32))"),
        ("i64_cmp", "m = tl.where(offs < BLOCK, n, 0)", "m = tl.where((offs.to(tl.int32) < BLOCK), n, 0)"),
        ("i64_add", "k = n * 31 + rows", "k = ((n.to(tl.int32) * 31) + rows.to(tl.int32))"),
        ("int_mod", "k = rows % s", "k = (rows & s)"),
        ("tensor_shift", "k = rows >> offs", "k = (rows + offs)"),
        ("cumsum_last", "k = tl.cumsum(offs, 0)", "k = offs"),
        ("int_argmax", "k = tl.argmax(offs, axis=0)", "k = tl.argmax(offs.to(tl.float32), axis=0)"),
        ("i64_reduce", "k = tl.sum(n + offs, 0)", "k = tl.sum((n + offs).to(tl.int32), 0)"),
        ("nan_max", "k = tl.maximum(x, 0.0)", "k = tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)"),
        ("erf_poly", "k = 1.0 + tl.erf(x * 2)", "k = 1.0 + (x * 2)"),
        ("xor_expand", "k = x ^ (x >> 3)", "k = (x | x >> 3)"),
        ("xor_expand", "k = x ^ n ^ s", "k = (x | n | s)"),
        ("xor_expand", "k ^= x ^ s", "k = (k | (x | s))"),
        ("int_mod", "k %= s", "k = (k & s)"),
        (
            "nan_max",
            "k = tl.minimum(tl.maximum(x, n), s)",
            "k = tl.minimum(tl.maximum(x, n, propagate_nan=tl.PropagateNan.ALL), s, propagate_nan=tl.PropagateNan.ALL)",
        ),
        ("discrete_mask", "tl.store(o_ptr + offs, x, mask=m)", "tl.store(o_ptr + offs, x)"),
        ("discrete_mask", "tl.store(o_ptr + offs, x, m)", "tl.store(o_ptr + offs, x)"),
        ("mask_fill", "x = tl.load(x_ptr + offs, m, 0.0)", "x = tl.load(x_ptr + offs, m, care_padding=False)"),
        ("dot_mask_k", "x = tl.load(x_ptr + offs, mask=m, other=0)", "x = tl.load(x_ptr + offs)"),
        ("relu_epilogue", "y = tl.maximum(acc, 0.0)", "y = acc"),
        ("static_stride", "x = tl.load(x_ptr + offs * 3 + 1)", "x = tl.load(x_ptr + offs + 1)"),
        ("dyn_stride_col", "x = tl.load(x_ptr + s * offs + n * BLOCK)", "x = tl.load(x_ptr + offs + n * BLOCK)"),
        ("atomic_in_loop", "tl.atomic_add(o_ptr + offs, x, mask=m)", "tl.store(o_ptr + offs, x, m)"),
    ],
)
def test_the_edit_is_the_smallest_one(symptom: str, before: str, after: str) -> None:
    assert edited(symptom, before) == after


def test_only_the_last_axis_is_made_contiguous() -> None:
    load = "x = tl.load(x_ptr + rows[:, None] * n + offs[None, :] * s)"
    assert edited("dyn_stride_col", load) == "x = tl.load(x_ptr + rows[:, None] * n + offs[None, :])"


def test_the_index_load_is_replaced_where_it_is_made() -> None:
    lines = ("idx = tl.load(i_ptr + offs, mask=offs < n)", "x = tl.load(x_ptr + idx)")
    assert edited("gather_scalar", *lines) == "idx = (0 + offs)\nx = tl.load(x_ptr + idx)"


def test_an_index_load_through_a_named_pointer_is_replaced_by_its_offsets() -> None:
    lines = ("at = i_ptr + offs", "idx = tl.load(at)", "x = tl.load(x_ptr + idx)")
    assert edited("gather_scalar", *lines).splitlines()[1] == "idx = (0 + offs)"


def test_nested_divisions_go_together_and_constant_ones_stay() -> None:
    lines = ("h = (offs // 7) % 5 + BLOCK // 4", "x = tl.load(x_ptr + h)")
    assert edited("divmod_index", *lines).splitlines()[0] == "h = offs + BLOCK // 4"


HELPERS = """

@triton.jit
def unravel(i, W):
    row = i // W
    return row, i % W


@triton.jit
def pick(p, at):
    return tl.load(p + at)
"""


def test_what_a_helper_computes_is_followed_into_it() -> None:
    lines = ("a, b = unravel(offs, BLOCK)", "x = tl.load(x_ptr + a + b)")
    found = edited("divmod_index", *lines, HELPERS, line=2)
    assert "row = i\nreturn row, i" in found


def test_what_a_helper_is_handed_is_followed_to_its_caller() -> None:
    lines = ("idx = tl.load(i_ptr + offs)", "x = pick(x_ptr, idx)", HELPERS)
    inside = len(lines) - 1 + HELPERS[: HELPERS.index("return tl.load")].count("\n") + 1
    assert edited("gather_scalar", *lines, line=inside).splitlines()[0] == "idx = (0 + offs)"


def test_the_body_of_the_kernel_is_wrapped_for_a_line_of_its_helper() -> None:
    source = HEAD + "    tl.store(o_ptr + offs, pick(x_ptr, offs))\n" + HELPERS
    text = Code(source, source.count("\n"), LAUNCH).wrap_body("for _round in range(0, 2):").source
    assert text.index("for _round") < text.index("tl.store")


def test_an_accumulator_starts_from_zeros_of_its_own_shape() -> None:
    lines = ("acc = tl.load(o_ptr + offs)", "for k in range(0, n):", "    acc += tl.dot(x, x)")
    assert edited("dot_acc_init", *lines).splitlines()[0] == "acc = tl.zeros_like(tl.load(o_ptr + offs))"


def test_a_carried_value_is_not_read_once_the_new_one_is_there() -> None:
    lines = ("prev = 0", "for i in range(n):", "    nxt = prev + i", "    acc = nxt - prev", "    prev = nxt")
    assert edited("carried_copy", *lines, line=2).splitlines()[2:] == [
        "nxt = prev + i",
        "acc = nxt - nxt",
        "prev = nxt",
    ]


def test_a_cast_operand_is_handed_over_in_its_new_type() -> None:
    lines = ("x = tl.load(x_ptr + offs)", "y = x.to(tl.float16)", 'SIG = {"i_ptr": "*i32", "x_ptr": "*fp32"}')
    assert edited("dot_operand_cast", *lines, line=2).splitlines()[2] == 'SIG = {"i_ptr": "*i32", "x_ptr": "*fp16"}'


def test_a_while_loop_becomes_a_counted_one() -> None:
    lines = ("i = 0", "while i < n:", "    x = tl.load(x_ptr + i)", "    i += 1")
    assert edited("while_loop", *lines, line=3).splitlines()[1] == "for _round in range(0, 8):"


def test_the_body_is_wrapped_below_its_docstring() -> None:
    source = HEAD + "    tl.store(o_ptr + offs, tl.load(x_ptr + offs))\n"
    code = Code(source, 10, LAUNCH)
    text = code.wrap_body("for _round in range(0, 2):").source.splitlines()
    assert text[7:9] == ["    for _round in range(0, 2):", "        rows = tl.arange(0, 8)"]
    ast.parse("\n".join(text))


def test_edits_are_placed_right_behind_wide_characters() -> None:
    source = "def kern(x_ptr):\n    y = f('慢慢慢') ^ x_ptr\n"
    code = Code(source, 2, LAUNCH)
    edit = code.change(code.here(), lambda n: "z" if isinstance(n, ast.Name) and n.id == "x_ptr" else None)
    assert edit is not None
    assert edit.source == "def kern(x_ptr):\n    y = f('慢慢慢') ^ z\n"


def test_no_edit_is_offered_where_the_line_has_nothing_to_change() -> None:

    made = subject([], HEAD, signature=SIGNATURE)
    assert BY_ID["i64_cmp"].counterfactual(made, structure("i64_cmp", [], Origin(None, None), line=8)) is None

from pathlib import Path

import libcst as cst
import pytest

from agent.records import Launch
from agent.rewrite.algebra import Lane, number
from agent.rewrite.flow import KernelBody, read_body
from agent.rewrite.render import NotWritable, write_sum
from agent.rewrite.source import read_kernel
from agent.rewrite.values import Mask, Number, Pointer

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kern(x_ptr, n, m, B: tl.constexpr):\n"


def body_of(*lines: str) -> KernelBody:
    file = read_kernel(HEAD + "".join(f"    {line}\n" for line in lines), "kern")
    assert file is not None
    launch = Launch("kern", Path("k.py"), 1, {"x_ptr": "*fp16", "n": "i32", "m": "i64"}, {"B": 128}, (1, 1, 1))
    return read_body(file, launch)


def value_of(name: str, *lines: str) -> object:
    return body_of(*lines, "end = 0").points[-1].scope.variables[name].value


def test_an_address_is_a_base_and_a_sum() -> None:
    value = value_of("p", "o = tl.program_id(0) * B + tl.arange(0, B)", "p = x_ptr + o * 3 - n")
    assert isinstance(value, Pointer)
    assert (value.base, value.dtype, value.bits) == ("x_ptr", "fp16", 32)
    affine = value.poly.split()
    assert affine is not None
    assert list(affine.coefficients.values()) == [number(3)]


def test_a_subscript_moves_a_lane_to_its_axis() -> None:
    value = value_of("t", "r = tl.arange(0, 16)", "c = tl.arange(0, B)", "t = r[:, None] * n + c[None, :]")
    assert isinstance(value, Number)
    assert [lane.axis for lane in value.poly.lanes] == [-2, -1]
    assert [size.known for size in value.shape] == [16, 128]


def test_a_cast_or_a_wide_scalar_makes_it_64_bit() -> None:
    assert getattr(value_of("t", "t = tl.arange(0, B).to(tl.int64)"), "bits", 0) == 64
    assert getattr(value_of("t", "t = tl.arange(0, B) + m"), "bits", 0) == 64
    assert getattr(value_of("t", "t = tl.arange(0, B) + n"), "bits", 0) == 32


def test_conditions_joined_by_and_keep_their_parts() -> None:
    value = value_of("k", "o = tl.arange(0, B)", "k = (o < n) & (o >= 4)")
    assert isinstance(value, Mask)
    assert [getattr(part, "operator", "") for part in value.parts] == ["<", ">="]


def test_what_a_loop_changes_is_not_what_it_was_before() -> None:
    body = body_of("i = 0", "for k in range(0, n):", "    i = i + k", "end = i")
    assert not isinstance(body.points[-1].scope.variables["i"].value, Number)


def test_a_pointer_that_a_loop_only_moves_keeps_its_lanes() -> None:
    body = body_of("p = x_ptr + tl.arange(0, B)", "for k in range(0, n):", "    v = tl.load(p)", "    p += B")
    inside = next(p for p in body.points if p.loops and isinstance(p.statement, cst.Assign))
    value = inside.scope.variables["p"].value
    assert isinstance(value, Pointer)
    assert list(value.poly.lanes) == [Lane(value.shape[0])]
    affine = value.poly.split()
    assert affine is not None
    with pytest.raises(NotWritable):
        write_sum(affine.scalar, inside.scope)


def test_a_sum_is_not_written_where_a_name_has_got_another_value() -> None:
    body = body_of("w = n // 2", "v = w * 2", "w = 0", "end = 0")
    scope = body.points[-1].scope
    value = scope.variables["v"].value
    assert isinstance(value, Number)
    with pytest.raises(NotWritable):
        write_sum(value.poly, scope)


@pytest.mark.parametrize(
    ("text", "written"),
    [("n * 2 - 1", "n * 2 - 1"), ("-n", "-n"), ("(n + 1) * B", "n * B + B"), ("4 - 4", "0"), ("B * B", "B * B")],
)
def test_a_scalar_is_written_back_as_a_sum(text: str, written: str) -> None:
    body = body_of(f"v = {text}", "end = 0")
    value = body.points[-1].scope.variables["v"].value
    assert isinstance(value, Number)
    assert write_sum(value.poly, body.points[-1].scope) == written

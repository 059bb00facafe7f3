"""A type reads back as it is printed, and says how much memory it means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.ir.types import element_bits, known_bits, memref, row_major, shaped, vector


def test_a_strided_memref_is_read_with_its_unknowns() -> None:
    kind = shaped("memref<4x?xf16, strided<[?, 8], offset: ?>, #hivm.address_space<gm>>")
    assert kind is not None
    assert (kind.shape, kind.strides, kind.element, kind.space) == ((4, None), (None, 8), "f16", "gm")
    assert kind.element_bits == 16


def test_a_plain_memref_has_row_major_strides() -> None:
    kind = shaped("memref<2x3x4xi64>")
    assert kind is not None
    assert kind.strides == (12, 4, 1)
    assert kind.bytes == 192


@pytest.mark.parametrize("text", ["i64", "index", "!tt.ptr<f32>", "vector<4xf32>"])
def test_what_is_no_buffer_has_no_shape(text: str) -> None:
    assert shaped(text) is None


@given(st.lists(st.integers(1, 9), max_size=4), st.sampled_from(["f32", "bf16", "i1", "i8", "!tt.ptr<f32>"]))
def test_a_printed_shape_reads_back(shape: list[int], element: str) -> None:
    kind = shaped(f"tensor<{''.join(f'{d}x' for d in shape)}{element}>")
    assert kind is not None
    assert (list(kind.shape), kind.element) == (shape, element)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("memref<4x8xf32, strided<[16, 1]>>", 224),
        ("memref<4x8xf32>", 128),
        ("memref<?x8xf32>", None),
        ("memref<4x!tt.ptr<f32>>", None),
        ("memref<16xi1, #hivm.address_space<ub>>", 2),
    ],
)
def test_a_memref_spans_its_gaps(text: str, span: int | None) -> None:
    found = memref(text)
    assert found is not None
    assert found.span_bytes == span


def test_a_vector_is_no_buffer_and_a_tensor_no_memref() -> None:
    found = vector("vector<[4]x16xbf16>")
    assert found is not None
    assert (found.shape, found.element_bits) == ((4, 16), 16)
    assert vector("memref<4xf32>") is None
    assert memref("tensor<4xf32>") is None


@pytest.mark.parametrize(("element", "bits"), [("f8E4M3FN", 8), ("index", 64), ("si16", 16), ("!tt.ptr<f32>", None)])
def test_the_width_of_an_element_is_known_or_that_of_an_index(element: str, bits: int | None) -> None:
    assert known_bits(element) == bits
    assert element_bits(element) == (bits or 64)


def test_strides_of_a_dense_array_end_at_an_unknown_size() -> None:
    assert row_major((2, None, 4)) == (None, 4, 1)

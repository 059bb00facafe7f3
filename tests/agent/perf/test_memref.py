from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.perf.affine import evaluate_map
from agent.perf.memref import MemRef, element_bits, parse_memref, row_major, vector_bits


def test_a_type_gives_sizes_strides_width_and_space() -> None:
    view = parse_memref("memref<64x?xf16, strided<[?, 1], offset: ?>, #hivm.address_space<gm>>")
    assert view == MemRef((64, None), (None, 1), 16, "gm")


def test_a_type_without_layout_is_dense() -> None:
    view = parse_memref("memref<4x8x16xi1, #hivm.address_space<ub>>")
    assert view is not None
    assert view.strides == (128, 16, 1)
    assert (view.elements, view.bytes) == (512, 64)


def test_another_type_is_no_memref() -> None:
    assert parse_memref("i32") is None
    assert vector_bits("vector<64xf32>") == 2048
    assert vector_bits("index") == 0
    assert element_bits("bf16") == 16


@pytest.mark.parametrize(
    ("sizes", "strides", "run", "pieces", "pitch_elements"),
    [
        ((16, 32), (32, 1), 512, 1, None),
        ((16, 32), (100, 1), 32, 16, 100),
        ((16, 1), (8, 1), 1, 16, 8),
        ((4, 16, 32), (10000, 32, 1), 512, 4, 10000),
        ((1, 32), (999, 1), 32, 1, None),
        ((64,), (3,), 1, 64, 3),
    ],
)
def test_contiguous_pieces_follow_the_strides(
    sizes: tuple[int, ...], strides: tuple[int, ...], run: int, pieces: int, pitch_elements: int | None
) -> None:
    view = MemRef(sizes, strides, 32, "gm")
    assert (view.run, view.pieces) == (run, pieces)
    assert view.pitch_bytes == (None if pitch_elements is None else 4 * pitch_elements)


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_a_dense_view_is_one_piece(sizes: list[int]) -> None:
    view = MemRef(tuple(sizes), row_major(tuple(sizes)), 32, "gm")
    assert view.pieces == 1
    assert view.run == view.elements


@settings(deadline=None)
@given(st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_affine_maps_divide_towards_minus_infinity(d: int, s: int) -> None:
    text = "affine_map<(d0)[s0] -> ((d0 floordiv 7) mod 3 + s0 * -2, d0 - s0 ceildiv 4, -d0 + 5)>"
    assert evaluate_map(text, [d, s]) == [(d // 7) % 3 - 2 * s, d - -(-s // 4), 5 - d]


def test_an_unknown_operand_makes_a_map_unknown() -> None:
    assert evaluate_map("affine_map<()[s0, s1] -> (s0 - s1)>", [3, None]) == [None]


def test_text_that_is_no_map_is_refused() -> None:
    with pytest.raises(ValueError, match="affine"):
        evaluate_map("#map", [1])

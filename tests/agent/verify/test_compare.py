"""What counts as the same result, by type, size, NaN and infinity."""

import math

import numpy as np
import pytest

from agent.verify.compare import compare, tolerance_of

RANDOM = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape)


@pytest.mark.parametrize(("dtype", "unit"), [("float32", 2**-24), ("float16", 2**-11), ("bfloat16", 2**-8)])
def test_a_rounding_of_the_output_type_is_the_same_and_ten_tolerances_are_not(dtype, unit):
    expected = floats(64, 64)
    assert compare(expected * (1 + unit), expected, dtype).mismatch is None
    found = compare(expected * (1 + 10 * tolerance_of(dtype)), expected, dtype)
    assert found.mismatch is not None
    assert found.max_error == pytest.approx(10 * tolerance_of(dtype))


def test_the_worst_element_is_named_with_the_share_that_differs():
    expected = np.ones((4, 5))
    actual = expected.copy()
    actual[1, 2], actual[3, 4] = 1.5, 3.0
    found = compare(actual, expected, "float32").mismatch
    assert (found.fault, found.index, found.actual, found.expected) == ("value", (3, 4), 3.0, 1.0)
    assert found.share == pytest.approx(2 / 20)


def test_a_cancelled_sum_is_judged_by_the_size_of_its_neighbours():
    expected = floats(1000)
    expected[7] = 1e-9
    actual = expected + 1e-6
    assert compare(actual, expected, "float32").mismatch is None


def test_one_huge_element_does_not_excuse_the_others():
    expected = floats(1000)
    expected[0] = -1e9
    actual = expected.copy()
    actual[5] += 0.01
    assert compare(actual, expected, "float32").mismatch.index == (5,)


def test_zeros_are_held_to_a_millionth():
    assert compare(np.full(4, 1e-7), np.zeros(4), "float32").mismatch is None
    assert compare(np.full(4, 1e-4), np.zeros(4), "float32").mismatch is not None


def test_integers_and_booleans_are_exact_beyond_the_precision_of_float64():
    expected = np.array([2**60, 5], np.int64)
    assert compare(expected.copy(), expected, "int64").mismatch is None
    assert compare(expected + np.array([1, 0]), expected, "int64").mismatch.index == (0,)
    assert compare(np.array([True]), np.array([False]), "bool").mismatch is not None


def test_a_long_sum_widens_the_tolerance_by_its_square_root():
    assert tolerance_of("float32", 65536) == tolerance_of("float32")
    assert tolerance_of("float32", 65536 * 100) == pytest.approx(10 * tolerance_of("float32"))
    assert tolerance_of("int32", 1 << 30) == 0


def test_nan_has_to_be_where_it_was_and_only_there():
    expected = np.array([1.0, math.nan, 3.0])
    assert compare(expected.copy(), expected, "float32").mismatch is None
    dropped = compare(np.array([1.0, 0.0, 3.0]), expected, "float32").mismatch
    made = compare(np.array([math.nan, math.nan, 3.0]), expected, "float32").mismatch
    assert (dropped.fault, dropped.index) == ("nan", (1,))
    assert (made.fault, made.index) == ("nan", (0,))


def test_with_nan_put_into_the_inputs_a_number_may_become_nan_but_no_nan_a_number():
    expected = np.array([1.0, math.nan, 3.0])
    spread = compare(np.array([math.nan, math.nan, 3.0]), expected, "float32", spread_allowed=True)
    assert (spread.mismatch, spread.spread) == (None, 1)
    assert compare(np.array([1.0, 0.0, 3.0]), expected, "float32", spread_allowed=True).mismatch.fault == "nan"
    assert compare(np.array([2.0, math.nan, 3.0]), expected, "float32", spread_allowed=True).mismatch.fault == "value"


def test_infinity_has_its_sign_and_is_no_number():
    expected = np.array([math.inf, -math.inf, 1.0])
    assert compare(expected.copy(), expected, "float32").mismatch is None
    assert compare(-expected, expected, "float32").mismatch.fault == "infinity"
    assert compare(np.array([3e38, -math.inf, 1.0]), expected, "float32").mismatch.fault == "infinity"
    assert compare(np.array([math.inf, -math.inf, math.inf]), expected, "float32").mismatch.fault == "infinity"


def test_a_reference_beyond_the_types_range_expects_infinity_and_near_its_edge_either():
    assert compare(np.array([math.inf, 1.0]), np.array([70000.0, 1.0]), "float16").mismatch is None
    assert compare(np.array([65504.0, 1.0]), np.array([70000.0, 1.0]), "float16").mismatch is not None
    for actual in (math.inf, 65504.0):
        assert compare(np.array([actual, 1.0]), np.array([65510.0, 1.0]), "float16").mismatch is None


def test_complex_numbers_are_compared_by_parts_and_empty_tensors_are_equal():
    expected = np.array([1 + 2j, 3 - 4j])
    assert compare(expected.copy(), expected, "complex64").mismatch is None
    assert compare(expected.conj(), expected, "complex64").mismatch is not None
    assert compare(np.empty((0, 3)), np.empty((0, 3)), "float32").mismatch is None


@pytest.mark.parametrize("off", [0.0, 1e-6, 1e-3])
def test_a_nan_beside_finite_elements_changes_nothing_about_them(off):
    expected = floats(64)
    actual = expected.copy()
    actual[17] += off
    alone = compare(actual, expected, "float32")
    beside = compare(np.append(actual, np.nan), np.append(expected, np.nan), "float32")
    assert alone.max_error == beside.max_error
    assert (alone.mismatch is None) == (beside.mismatch is None) == (off < 1e-4)
    if alone.mismatch is not None:
        assert alone.mismatch.index == beside.mismatch.index == (17,)
        assert alone.mismatch.share == pytest.approx(beside.mismatch.share * 65 / 64)

"""What counts as the same result: by element type, in float64, with its own rule for NaN and infinity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

# Relative tolerance by element type. A format's unit roundoff is 2^-24 (fp32), 2^-11 (fp16), 2^-8 (bf16), 2^-4 and 2^-3
# (the fp8 formats); a result may differ by some roundings of its own type, and in fp32 by the order of a long sum: a
# random walk over 65 536 terms of like size drifts by 2^-24 * sqrt(65536) = 1.5e-5. The figures are those that kernel
# benchmarks use (KernelBench: 1e-4 for fp32, 1e-2 for fp16 and bf16), widened for bf16, whose roundoff is 4e-3.
_RELATIVE = {
    "float64": 1e-10,
    "float32": 1e-4,
    "float16": 1e-2,
    "bfloat16": 2e-2,
    "float8_e5m2": 2.5e-1,
    "float8_e4m3fn": 1.3e-1,
    "complex64": 1e-4,
    "complex128": 1e-10,
}
# Sums longer than this widen the tolerance by the square root of their length, as a random walk drifts.
SUM_LENGTH = 65536
# The largest finite number; a reference in float64 may go beyond it where the kernel has to give infinity.
_LARGEST = {
    "float32": 3.4028235e38,
    "float16": 65504.0,
    "bfloat16": 3.3895314e38,
    "float8_e5m2": 57344.0,
    "float8_e4m3fn": 448.0,
}
# Where every expected element is zero there is no scale: this is the largest stray value.
_ZERO_SCALE = 1e-6

Fault = Literal["value", "nan", "infinity"]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The worst element: its index, what came and what was expected, and the share of elements that differ."""

    fault: Fault
    index: tuple[int, ...]
    actual: float
    expected: float
    share: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two tensors compare: the largest relative error among finite elements, the tolerance, the worst mismatch.

    `spread` counts elements that became NaN where the expected one is a number; only a comparison that allows it
    (`spread_allowed`) counts them.
    """

    max_error: float
    tolerance: float
    mismatch: Mismatch | None
    spread: int = 0


def tolerance_of(dtype: str, sum_length: float = 1) -> float:
    """Return the relative tolerance of an element type; 0 for integers and booleans, which are exact.

    `sum_length` is how many input elements an output element may depend on, at most.
    """
    return _RELATIVE.get(dtype, 0.0) * math.sqrt(max(1.0, sum_length / SUM_LENGTH))


def compare(
    actual: npt.NDArray[Any],
    expected: npt.NDArray[Any],
    dtype: str,
    *,
    sum_length: float = 1,
    spread_allowed: bool = False,
) -> Comparison:
    """Compare two arrays of one shape, widened; `dtype` is the element type of the output.

    An element's error is relative to its expected size, or to the median size where it is smaller: a sum that cancels
    to nearly zero is not wrong for that. `spread_allowed` is for inputs with NaN or infinity put in: a number may
    then become NaN, but a NaN never a number.
    """
    tolerance = tolerance_of(dtype, sum_length)
    if expected.size == 0:
        return Comparison(0.0, tolerance, None)
    if tolerance == 0.0:
        return _compare_exact(actual, expected)
    if actual.dtype.kind == "c" or expected.dtype.kind == "c":
        actual, expected = _as_pairs(actual), _as_pairs(expected)
    actual, expected = actual.astype(np.float64), _saturate(expected.astype(np.float64), actual, dtype, tolerance)
    return _compare_floats(actual, expected, tolerance, spread_allowed=spread_allowed)


def _compare_floats(
    actual: npt.NDArray[np.float64], expected: npt.NDArray[np.float64], tolerance: float, *, spread_allowed: bool
) -> Comparison:
    if np.isfinite(actual).all() and np.isfinite(expected).all():
        return _compare_finite(actual, expected, tolerance)
    nan_wrong = np.isnan(actual) != np.isnan(expected)
    spread = nan_wrong & np.isnan(actual)
    if spread_allowed:
        nan_wrong &= ~spread
    both = ~np.isnan(actual) & ~np.isnan(expected)
    infinite_wrong = both & (np.isinf(actual) | np.isinf(expected)) & (actual != expected)
    finite = both & np.isfinite(actual) & np.isfinite(expected)
    errors = np.zeros(expected.shape)
    scale = _scale(expected)
    errors[finite] = np.abs(actual[finite] - expected[finite]) / np.maximum(np.abs(expected[finite]), scale)
    wrong_values = errors > tolerance
    share = float(np.mean(nan_wrong | infinite_wrong | wrong_values))
    found = None
    checks: tuple[tuple[Fault, npt.NDArray[Any], npt.NDArray[Any]], ...] = (
        ("nan", nan_wrong, nan_wrong),
        ("infinity", infinite_wrong, infinite_wrong),
        ("value", wrong_values, errors),
    )
    for fault, wrong, weight in checks:
        if found is None and wrong.any():
            found = _mismatch(fault, actual, expected, weight, share)
    return Comparison(float(errors.max()), tolerance, found, int(spread.sum()) if spread_allowed else 0)


def _compare_finite(actual: npt.NDArray[np.float64], expected: npt.NDArray[np.float64], tolerance: float) -> Comparison:
    """Compare where there is neither NaN nor infinity, as in most arrays: a third of the time, the same result."""
    sizes = np.abs(expected)
    errors = np.abs(actual - expected) / np.maximum(sizes, _scale(sizes))
    worst = float(errors.max())
    if worst <= tolerance:
        return Comparison(worst, tolerance, None)
    share = float(np.mean(errors > tolerance))
    return Comparison(worst, tolerance, _mismatch("value", actual, expected, errors, share))


def _compare_exact(actual: npt.NDArray[Any], expected: npt.NDArray[Any]) -> Comparison:
    wrong = actual != expected
    if not wrong.any():
        return Comparison(0.0, 0.0, None)
    errors = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    weight = np.where(wrong, np.maximum(errors, 1e-300), 0)
    found = _mismatch("value", actual, expected, np.nan_to_num(weight, nan=np.inf), float(np.mean(wrong)))
    return Comparison(float(np.nanmax(errors)) if not np.isnan(errors).all() else math.inf, 0.0, found)


def _mismatch(
    fault: Fault, actual: npt.NDArray[Any], expected: npt.NDArray[Any], weight: npt.NDArray[Any], share: float
) -> Mismatch:
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(weight)), weight.shape))
    return Mismatch(fault, index, float(actual[index]), float(expected[index]), share)


def _scale(expected: npt.NDArray[np.float64]) -> float:
    sizes = np.abs(expected[np.isfinite(expected) & (expected != 0)])
    return float(np.median(sizes)) if sizes.size else _ZERO_SCALE / 1e-4


def _saturate(
    expected: npt.NDArray[np.float64], actual: npt.NDArray[Any], dtype: str, tolerance: float
) -> npt.NDArray[np.float64]:
    """Give expected values beyond the type's range what the type has for them; near its edge both are right."""
    largest = _LARGEST.get(dtype)
    if largest is None:
        return expected
    size = np.where(np.isfinite(expected), np.abs(expected), 0)
    if size.max() <= largest * (1 - tolerance):
        return expected
    edge = (size > largest * (1 - tolerance)) & (actual == np.copysign(np.inf, expected))
    return np.where((size > largest * (1 + tolerance)) | edge, np.copysign(np.inf, expected), expected)


def _as_pairs(array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    complex_array = array.astype(np.complex128)
    return np.stack([complex_array.real, complex_array.imag], axis=-1)

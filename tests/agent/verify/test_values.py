"""Tensors from the worker are read only inside their storages, and widened by their bits."""

import math

import numpy as np
import pytest

from agent.verify.values import Malformed, Values, elements_of, read_view, widen


def node(array: np.ndarray, blob: int = 0, **changes: object) -> dict[str, object]:
    return {
        "kind": "tensor",
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "strides": [s // array.itemsize for s in array.strides],
        "offset": 0,
        "blob": blob,
        **changes,
    }


def test_a_transposed_view_with_an_offset_reads_its_own_elements():
    base = np.arange(12, dtype=np.float32).reshape(3, 4)
    view = read_view(node(base, shape=[3, 2], strides=[4, 1], offset=1))
    assert elements_of(view, base.tobytes()).tolist() == base[:, 1:3].tolist()
    turned = read_view(node(base.T))
    assert elements_of(turned, base.tobytes()).tolist() == base.T.tolist()


@pytest.mark.parametrize(
    "change",
    [
        {"offset": 1},
        {"shape": [100, 4]},
        {"strides": [1000, 1]},
        {"strides": [-1, 1]},
        {"dtype": "qint8"},
        {"shape": [3]},
        {"shape": ["x", 4]},
    ],
)
def test_a_view_beyond_its_storage_is_malformed(change):
    base = np.zeros((3, 4), np.float32)
    with pytest.raises(Malformed):
        elements_of(read_view(node(base, **change)), base.tobytes())


def test_tensors_are_listed_depth_first_with_the_storages_they_share():
    base = np.arange(6, dtype=np.int16)
    tree = {
        "kind": "tuple",
        "items": [node(base), 3, {"kind": "dict", "items": [["a", node(base, offset=2, shape=[4])]]}],
    }
    first, second = Values(tree, [base.tobytes()]).tensors()
    assert (first.shape, second.shape, second.offset) == ((6,), (4,), 2)
    assert elements_of(second, base.tobytes()).tolist() == base[2:].tolist()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("bfloat16", {0x3F80: 1, 0xC000: -2, 0x7F80: math.inf, 0xFF80: -math.inf, 0x0001: 2**-133, 0x7FC0: math.nan}),
        ("float8_e5m2", {0x3C: 1, 0xC0: -2, 0x7B: 57344, 0x7C: math.inf, 0x01: 2**-16, 0x7F: math.nan}),
        ("float8_e4m3fn", {0x38: 1, 0xC0: -2, 0x7E: 448, 0x08: 2**-6, 0x01: 2**-9, 0xFF: math.nan}),
    ],
)
def test_types_that_numpy_lacks_are_widened_by_their_bits(name, values):
    codes = np.array(list(values), np.uint16 if name == "bfloat16" else np.uint8)
    np.testing.assert_array_equal(widen(codes, name), list(values.values()))

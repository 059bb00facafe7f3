"""Odd sizes and spoilt inputs are made from what the file gives."""

import ast

import numpy as np
import pytest

from agent.verify.shapes import count_shapes, odd_shape_line, order_shapes, with_injected, with_noise
from agent.verify.values import Values, elements_of, widen

from .test_values import node


def last_shape(text: str) -> object:
    namespace: dict[str, object] = {}
    exec(text + (odd_shape_line(text) or ""), namespace)  # noqa: S102 - our own two lines
    return namespace["SHAPES"][-1]


def test_an_odd_shape_is_made_from_the_smallest_one():
    assert last_shape("SHAPES = [(128, 64, 2), (32, 15, 2), (1024, 1024, 2)]") == (31, 15, 2)
    assert last_shape("SHAPES = [1024, 4096]") == 1023
    assert last_shape("SHAPES = [{'m': 64, 'flag': True}]") == {"m": 63, "flag": True}


@pytest.mark.parametrize("text", ["x = 1", "SHAPES = [7, 9]", "SHAPES = make()", "SHAPES = []", "def ("])
def test_without_literal_even_sizes_there_is_no_odd_one(text):
    assert odd_shape_line(text) is None


def test_the_text_stays_valid_and_ends_with_one_more_shape():
    text = '"""doc"""\nSHAPES = [(8, 8)]'
    assert len(ast.parse(text + odd_shape_line(text)).body) == 3


def test_a_middling_shape_runs_first_then_the_others_from_small_to_large():
    text = "SHAPES = [(8192, 500), (64, 1024), (37, 781), (1, 5)]"
    assert order_shapes(text, 4) == [1, 3, 2, 0]
    assert order_shapes("SHAPES = [1 << 20, 1 << 30]", 2) == [0, 1]
    assert order_shapes("SHAPES = make()", 3) == [0, 1, 2]
    assert (count_shapes(text), count_shapes("x = 1")) == (4, 1)


def one_tensor(array: np.ndarray, **changes: object) -> Values:
    return Values({"kind": "tuple", "items": [node(array, **changes)]}, [array.tobytes()])


def read(values: Values) -> np.ndarray:
    (view,) = values.tensors()
    return widen(elements_of(view, values.blobs[view.storage]), view.dtype)


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.zeros(500, np.float32), "float32"),
        (np.zeros(500, np.uint16), "bfloat16"),
        (np.zeros(500, np.float16), "float16"),
    ],
)
def test_a_few_elements_become_nan_or_infinite_and_the_rest_stays(array, dtype):
    values = one_tensor(array, dtype=dtype)
    (view,) = values.tensors()
    with_nan, with_inf = (read(with_injected(values, view, kind, 1)) for kind in ("nan", "inf"))
    assert np.isnan(with_nan).sum() == 5
    assert np.isposinf(with_inf).any() or np.isneginf(with_inf).any()
    assert np.isinf(with_inf).sum() == 5
    assert (read(values) == 0).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "bool"])
def test_noise_fills_the_view_and_nothing_else_of_its_storage(dtype):
    numpy_type = {"bfloat16": np.uint16, "bool": np.bool_}.get(dtype, dtype)
    array = np.zeros(200, numpy_type)
    values = one_tensor(array, dtype=dtype, shape=[100], offset=50)
    (view,) = values.tensors()
    noisy = np.frombuffer(with_noise(values, view, 1).blobs[0], numpy_type)
    assert noisy[50:150].any()
    assert not noisy[:50].any()
    assert not noisy[150:].any()

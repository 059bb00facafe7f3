"""Other layouts hold the same values, and made-up inputs fit their types."""

import numpy as np
import pytest

from agent.records import Entry, KernelSource
from agent.verify.generated import Shape, Size, generate, read_shape, sizes_to_try
from agent.verify.layouts import is_plain, renumbered, shareable, with_gaps, with_shared
from agent.verify.values import Malformed, Values, check_tree, elements_of


def tensor(blob: int, *shape: int, strides: tuple[int, ...] | None = None) -> dict:
    plain = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    return {"kind": "tensor", "dtype": "float32", "shape": list(shape), "strides": list(strides or plain), "offset": 0,
            "blob": blob}  # fmt: skip


BLOBS = [np.arange(24, dtype="f4").tobytes(), np.arange(24, 48, dtype="f4").tobytes()]


def nested() -> Values:
    items = [tensor(0, 2, 3, 4), 7, {"kind": "list", "items": [tensor(1, 2, 3, 4)]}]
    return Values({"kind": "tuple", "items": items}, BLOBS)


def read(values: Values, number: int) -> np.ndarray:
    view = values.tensors()[number]
    return elements_of(view, values.blobs[view.storage])


@pytest.mark.parametrize("number", [0, 1])
def test_a_tensor_with_gaps_holds_the_same_and_is_not_contiguous(number):
    values = nested()
    spread = with_gaps(values, number)
    assert np.array_equal(read(spread, number), read(values, number))
    assert np.array_equal(read(spread, 1 - number), read(values, 1 - number))
    assert is_plain(values.tensors()[number])
    assert not is_plain(spread.tensors()[number])


def test_a_row_of_rank_one_gets_gaps_too():
    values = Values({"kind": "tuple", "items": [tensor(0, 24)]}, BLOBS)
    assert np.array_equal(read(with_gaps(values, 0), 0), read(values, 0))


def test_one_tensor_can_stand_for_two_and_an_output_goes_first():
    values = nested()
    shared = with_shared(values, 0, 1)
    assert shared.tensors()[0] == shared.tensors()[1]
    assert shareable(values.tensors(), {}) == (0, 1)
    assert shareable(values.tensors(), {0: None}) == (1, 0)
    assert shareable(shared.tensors(), {}) is None


def test_renumbered_trees_name_later_storages():
    assert [view.storage for view in Values(renumbered(nested().tree, 5), []).tensors()] == [5, 6]


def test_trees_that_no_encoder_wrote_are_refused():
    check_tree(nested().tree, 2)
    deep: dict = tensor(0, 2)
    for _ in range(40):
        deep = {"kind": "list", "items": [deep]}
    for bad in (deep, {"kind": "dict", "items": [7]}, {"kind": "tuple", "items": [[1]]}, tensor(-1, 2), {"kind": "x"}):
        with pytest.raises(Malformed):
            check_tree(bad, 2)
    with pytest.raises(Malformed):
        check_tree(nested().tree, 1)


def test_a_shape_is_read_from_the_command_line_or_from_the_file():
    entry = Entry(signature=("*fp32", "i32"), constexprs={"BLOCK": 64}, grid=(4, 2, 1))
    assert read_shape(KernelSource("k.py", "", entry)) == Shape(("*fp32", "i32"), {"BLOCK": 64}, 8)
    text = "KERNEL = k\nSIG = {'x': '*fp16', 'n': 'i32'}\nCONSTS = {'BLOCK': 32}\nGRID = (3,)\n"
    assert read_shape(KernelSource("k.py", text)) == Shape(("*fp16", "i32"), {"BLOCK": 32}, 3)
    assert read_shape(KernelSource("k.py", text + "def make_inputs(seed):\n    pass\n")) is None
    assert read_shape(KernelSource("k.py", "import torch\n")) is None


def test_sizes_begin_with_a_ragged_end_and_tensors_hold_them():
    sizes = list(sizes_to_try(Shape(("*fp32", "i32"), {"BLOCK": 64}, 8)))
    assert sizes[0].scalar == 8 * 64 - 3
    assert all(size.elements >= size.scalar for size in sizes)


@pytest.mark.parametrize("kind", ["*fp32", "*fp16", "*bf16", "*fp8e5", "*fp8e4nv", "*i64", "*i32", "*i8", "*u8", "*i1"])
def test_made_up_tensors_fit_their_type_and_differ_by_seed(kind):
    shape, size = Shape((kind, "i32", "fp32"), {}, 1), Size(17, 4096)
    first, again, other = (generate(shape, size, seed, 1).given for seed in (0, 0, 1))
    assert first.blobs == again.blobs
    assert first.blobs != other.blobs
    array = read(first, 0)
    assert array.shape == (4096,)
    if kind.startswith(("*i", "*u")):
        assert int(array.max()) < 17
    assert first.tree["items"][1] == 17

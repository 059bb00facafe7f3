"""A time is possible when memory and products allow it, and only what is known to be needed counts."""

from typing import Any

import numpy as np
import pytest

from agent.records import Cost, Interval
from agent.verify.floor import Needed, below_floor, floor_of, predicted_floor, what_is_needed
from agent.verify.running import Inputs, Ran, Referred
from agent.verify.values import Values
from indexer.messages import LANGUAGES, render

MIB = 1 << 20


def values(*arrays: np.ndarray) -> Values:
    nodes: list[Any] = []
    for number, array in enumerate(arrays):
        strides = [step // array.itemsize for step in array.strides]
        nodes.append({"kind": "tensor", "dtype": str(array.dtype), "shape": list(array.shape), "strides": strides,
                      "offset": 0, "blob": number})  # fmt: skip
    return Values({"kind": "tuple", "items": nodes}, [array.tobytes() for array in arrays])


def needed(inputs: list[np.ndarray], outputs: list[np.ndarray], referred: Referred | None = None) -> Needed:
    given = Inputs({"kind": "tuple", "items": []}, values(*inputs), 1, has_reference=referred is not None)
    return what_is_needed(given, Ran(values(*outputs), {}, 1), referred)


def cost(us: float, basis: Any) -> Cost:
    return Cost(us, basis, Interval(us, us), "load")


def test_what_is_read_counts_only_when_the_reference_needs_all_of_it():
    x, out = np.ones((64, 64), "f4"), np.full((64, 64), 2, "f4")
    assert needed([x], [out]) == Needed(4 * 4096, 0, 0)
    whole = Referred(values(out), whole=(0,), product_flops=7)
    assert needed([x], [out], whole) == Needed(4 * 4096, 4 * 4096, 7)


def test_zeros_and_returned_inputs_need_not_be_written():
    x, out = np.ones(64, "f4"), np.zeros(64, "f4")
    out[:3] = 1
    assert needed([x], [out]).written_bytes == 3 * 4
    assert needed([x], [x]).written_bytes == 0


def test_an_input_changed_in_place_is_written_where_it_changed():
    x = np.ones(64, "f4")
    new = x.copy()
    new[5:9] = 3
    given = Inputs({"kind": "tuple", "items": []}, values(x), 1, has_reference=False)
    changed = values(new)
    ran = Ran(values(), {0: Values(changed.tree["items"][0], changed.blobs)}, 1)
    assert what_is_needed(given, ran, None).written_bytes == 4 * 4


@pytest.mark.parametrize(
    ("target", "work", "limiter", "us"),
    [
        ("cuda:90", Needed(0, 480 * MIB, 0), "memory", 480 * MIB / 4.8e6),
        ("ascend910b3", Needed(0, 1600 * MIB, 0), "memory", 1600 * MIB / 1.6e6),
        ("ascend950dt_9571", Needed(400 * MIB, 0, 0), "memory", 400 * MIB / 4e6),
        ("ascend910_9391", Needed(0, 0, 376_000_000), "products", 1.0),
        ("ascend910_9391", Needed(0, 0, 752_000_000, narrow=True), "products", 1.0),
    ],
)
def test_the_floor_is_the_slower_of_moving_and_multiplying(target, work, limiter, us):
    floor = floor_of(target, work)
    assert floor is not None
    assert (floor.limiter, floor.us) == (limiter, pytest.approx(us))
    assert floor.source


def test_what_a_cache_may_hold_gets_the_rate_of_a_cache():
    small, large = floor_of("cuda:90", Needed(0, 4 * MIB, 0)), floor_of("cuda:90", Needed(0, 400 * MIB, 0))
    assert small is not None
    assert large is not None
    assert (small.limiter, large.limiter) == ("cache", "memory")
    assert small.us * 100 < large.us


def test_an_impossible_time_is_named_with_its_reason_and_a_possible_one_is_not():
    work = Needed(0, 480 * MIB, 0)
    note = below_floor("cuda:90", cost(50, "measured"), work)
    assert note is not None
    assert all("H200" in render(note, lang) for lang in LANGUAGES)
    assert below_floor("cuda:90", cost(120, "measured"), work) is None
    assert below_floor("some:device", cost(0.001, "measured"), work) is None
    least = predicted_floor(work).us
    assert below_floor("ascend910b3", cost(least / 2, "predicted"), work) is not None
    assert below_floor("ascend910b3", cost(least, "predicted"), work) is None

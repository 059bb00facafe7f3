"""What counts as a gain."""

from __future__ import annotations

from typing import Literal

from agent.records import Cost, Interval
from agent.trials import is_gain


def cost(value: float, launch: float = 0.0, basis: Literal["measured", "predicted"] = "predicted") -> Cost:
    return Cost(value, basis, Interval(value, value), "load", terms={"launch": launch, "load": value - launch})


def test_a_gain_is_a_share_of_what_the_cores_do_not_of_the_start_of_programs() -> None:
    assert not is_gain(cost(9.9), cost(10.0))
    assert is_gain(cost(9.7), cost(10.0))
    assert is_gain(cost(9.9, launch=8.0), cost(10.0, launch=8.0))
    assert not is_gain(cost(10.0, launch=8.0), cost(10.0, launch=8.0))


def test_costs_of_two_bases_are_no_gain() -> None:
    assert not is_gain(cost(1.0, basis="measured"), cost(10.0))

import time

from agent.measure.accelerator import Accelerator
from agent.measure.clock import Stopwatch


def test_a_time_comes_with_its_spread_and_groups_that_agree() -> None:
    found = Stopwatch(Accelerator("cpu"), lambda: time.sleep(0.0005)).measure()
    assert 500 < found["us"] < 2000
    assert found["quartiles_us"][0] <= found["us"] <= found["quartiles_us"][1]
    assert len(found["groups_us"]) >= 2
    assert found["agreed"] == (abs(found["groups_us"][-1] / found["groups_us"][-2] - 1) <= 0.031)
    assert found["method"] == "events"


def test_groups_are_added_until_two_agree() -> None:
    naps = iter([0.001] * 8 + [0.004] * 40 + [0.001] * 400)
    found = Stopwatch(Accelerator("cpu"), lambda: time.sleep(next(naps))).measure()
    assert len(found["groups_us"]) >= 3

"""Targets are found by name, and a wrong name is answered with the right ones."""

from __future__ import annotations

import pytest

from agent.toolchain.cuda_targets import CudaTarget, occupancy
from agent.toolchain.targets import all_targets, find_device, find_target
from indexer.errors import BadInput


def test_950_is_the_9589_model_of_the_a5_compiler():
    target = find_target("ascend950")
    assert (target.chip, target.arch, target.cube_cores, target.vector_cores) == ("Ascend950PR_9589", "a5", 32, 64)
    assert target.ub_bytes == 248 * 1024


def test_910b3_has_the_published_limits():
    target = find_target("Ascend910B3")
    assert (target.name, target.arch, target.cube_cores, target.vector_cores) == ("ascend910b3", "a3", 20, 40)
    assert (target.ub_bytes, target.l1_bytes, target.l0c_bytes) == (196608, 524288, 131072)


def test_every_number_has_its_source():
    for target in all_targets():
        for field in ("ub_bytes", "l1_bytes", "l0c_bytes", "cube_cores", "vector_cores"):
            assert "NPUTargetSpec.td:" in target.sources[field]


def test_a_misspelt_target_is_answered_with_near_ones():
    with pytest.raises(BadInput, match=r"unknown target ascend910b33; did you mean .*ascend910b3") as caught:
        find_target("ascend910b33")
    assert caught.value.exit_code == 2


def test_an_unknown_target_is_answered_with_the_list():
    with pytest.raises(BadInput, match=r"unknown target tpu; known are: ascend910b1, .*ascend950"):
        find_target("tpu")


def test_what_only_ascend_has_is_refused_for_a_cuda_target():
    with pytest.raises(BadInput, match="cuda:90: this works for Ascend targets only"):
        find_target("cuda:90")


def test_a_capability_that_is_not_known_is_answered_with_those_that_are():
    with pytest.raises(BadInput, match=r"unknown target cuda:95; did you mean .*cuda:90"):
        find_device("cuda:95")


def test_a_cuda_target_has_the_limits_of_its_multiprocessor():
    target = find_device("cuda:90")
    assert isinstance(target, CudaTarget)
    assert (target.multiprocessors, target.shared_bytes, target.shared_bytes_block) == (132, 233472, 232448)
    assert set(target.sources) >= {"registers", "warps", "shared_bytes", "multiprocessors", "l2_bytes"}


def test_shared_memory_of_six_stages_leaves_room_for_one_program():
    target = find_device("cuda:90")
    assert isinstance(target, CudaTarget)
    six, two = occupancy(target, 4, 96, 196608), occupancy(target, 4, 94, 65536)
    assert (six.programs, six.limited_by) == (1, "shared")
    assert (two.programs, two.limited_by) == (3, "shared")
    assert six.share(4, target) == 4 / 64

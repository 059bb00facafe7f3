from pathlib import Path

import pytest

from agent.configurations.candidates import Made
from agent.configurations.pruning import prune
from agent.records import KernelSource
from agent.sandbox import SandboxPolicy
from agent.toolchain.cuda_install import find_cuda
from agent.toolchain.targets import find_device
from agent.workbench import open_workbench
from indexer.errors import ToolchainError

SUITE = Path(__file__).parents[3] / "bench" / "suite"


@pytest.mark.slow
def test_what_spills_or_is_refused_is_left_out() -> None:
    try:
        find_cuda()
    except ToolchainError as missing:
        pytest.skip(str(missing))
    path = SUITE / "softmax_rows.py"
    text = path.read_text()
    launch = "BLOCK=triton.next_power_of_2(n_cols))"
    good = Made(text.replace(launch, launch[:-1] + ", num_warps=1)"), "as written", {"num_warps": 1})
    spills = Made(text.replace(launch, "BLOCK=16384, num_warps=1)"), "as written", {"BLOCK": 16384})
    refused = Made(text.replace("tl.exp(", "tl.no_such("), "as written", {})
    with open_workbench(find_device("cuda:90"), SandboxPolicy()) as bench:
        assert list(prune(bench, KernelSource(path, text), [good, spills, refused])) == [good]

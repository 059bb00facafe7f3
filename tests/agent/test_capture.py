"""What a host launches is known without a device, and what it does wrong is told with the line."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from agent.capture import Capture, capture, find_companions
from agent.records import Entry, KernelSource, ScalarArgument, TensorArgument
from agent.toolchain.client import Worker
from indexer.errors import BadInput

HOSTS = Path(__file__).parent.parent / "kernels" / "hosts"
SHARED = os.environ.get("TRITONKB_TEST_DATA")
AKG = os.environ.get("TRITONKB_AKG")
HEAD = """import torch
import triton
import triton.language as tl

@triton.jit
def add_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)

"""
RUN = "def make_inputs(seed):\n    return (1,)\n\ndef run(x):\n"


def take(worker: Worker, name: str, **entry: object) -> Capture:
    return capture(worker, KernelSource(HOSTS / name, (HOSTS / name).read_text(), Entry(**entry)), "ascend910b3")


def take_text(worker: Worker, text: str, entry: Entry | None = None, target: str = "a3") -> Capture:
    return capture(worker, KernelSource(Path("/home/user/k.py"), text, entry or Entry()), target)


def refusal(worker: Worker, text: str, entry: Entry | None = None) -> BadInput:
    with pytest.raises(BadInput) as caught:
        take_text(worker, text, entry)
    return caught.value


@pytest.mark.toolchain
def test_functions_are_run_on_their_first_shape(worker):
    found = take(worker, "functions.py")
    (item,) = found.launches
    launch = item.launch
    assert found.form == "functions"
    assert (launch.kernel, launch.line, launch.grid, launch.count) == ("scale_kernel", 9, (4, 1, 1), 1)
    assert dict(launch.signature) == {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "factor": "fp32"}
    assert dict(launch.constexprs) == {"BLOCK": 256}
    assert launch.arguments[0] == TensorArgument("x_ptr", "*fp32", (1000,), (1,))
    assert launch.arguments[2:] == (ScalarArgument("n", "i32", 1000), ScalarArgument("factor", "fp32", 2.5))
    assert launch.file == HOSTS / "functions.py"


@pytest.mark.toolchain
def test_ttir_has_the_users_lines_under_the_printed_file(worker):
    found = take(worker, "functions.py")
    assert f'loc("{found.printed_file}":12:' in found.launches[0].ttir


@pytest.mark.toolchain
def test_a_model_runs_on_the_device_it_asks_for(worker):
    found = take(worker, "model.py")
    (item,) = found.launches
    assert found.form == "model"
    assert item.launch.grid == (16, 1, 1)
    assert dict(item.launch.constexprs) == {"BLOCK": 128}


@pytest.mark.toolchain
def test_a_script_counts_equal_launches_and_keeps_different_ones(worker):
    found = take(worker, "script.py")
    first, second = (item.launch for item in found.launches)
    assert found.form == "script"
    assert (first.grid, first.count, dict(first.options)) == ((97, 1, 1), 4, {"num_warps": 8})
    assert (second.grid, second.count) == ((1, 1, 1), 1)
    assert "took 1.0 1.0" in found.output


@pytest.mark.toolchain
def test_a_check_that_fails_for_want_of_a_device_keeps_the_launches(worker):
    found = take(worker, "script.py")
    assert found.stopped is not None
    assert (found.stopped.exception, found.stopped.line) == ("AssertionError", 34)


@pytest.mark.toolchain
def test_a_tutorials_benchmark_launches_at_each_size(worker):
    found = take(worker, "benchmarked.py")
    assert found.stopped is None
    # Forty vector cores of the 910B3; a kernel compiled ahead is launched with the constants it was compiled for.
    assert [(i.launch.grid, i.launch.constexprs["BLOCK"]) for i in found.launches] == [
        ((40, 1, 1), 128),
        ((40, 1, 1), 1024),
    ]


@pytest.mark.toolchain
def test_the_tiling_tuners_own_configurations_are_a_group(worker):
    found = take(worker, "tiled.py")
    assert len(found.launches) > 1
    assert {item.launch.group for item in found.launches} == {"exp_kernel#1"}
    assert all(item.ttir for item in found.launches)


@pytest.mark.toolchain
def test_a_function_of_a_file_can_be_named(worker):
    text = (
        HEAD + "def one():\n    add_kernel[(1,)](torch.ones(8), torch.empty(8), 8, BLOCK=8)\n\ndef two():\n    1 / 0\n"
    )
    assert take_text(worker, text, Entry(function="one")).launches[0].launch.grid == (1, 1, 1)
    error = refusal(worker, text, Entry(function="ones"))
    assert error.note.key == "capture.no_function"
    assert "one" in error.note.values["near"]


@pytest.mark.toolchain
def test_configurations_of_an_autotuner_are_one_group(worker):
    found = take(worker, "tuned.py")
    assert [item.launch.constexprs["BLOCK"] for item in found.launches] == [64, 128]
    assert {item.launch.group for item in found.launches} == {"sum_kernel#1"}
    assert [item.launch.count for item in found.launches] == [2, 2]
    assert [item.launch.constexprs["EVEN"] for item in found.launches] == [True, True]
    assert found.launches[1].launch.options["multibuffer"] is False
    assert found.launches[0].launch.grid == (10, 1, 1)


@pytest.mark.toolchain
def test_written_types_win_over_inferred_ones(worker):
    (item,) = take(worker, "constants.py").launches
    assert dict(item.launch.signature) == {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i64"}
    assert item.launch.arguments[2] == ScalarArgument("n", "i64", 1)
    assert re.search(r"first_kernel\(%\w+: !tt.ptr<f32> loc\(\S+, %\w+: !tt.ptr<f32> loc\(\S+, %\w+: i64", item.ttir)


@pytest.mark.toolchain
def test_a_bare_kernel_is_described_on_the_command_line(worker):
    (item,) = take(
        worker, "bare.py", signature=("*fp16", "*fp16", "i32"), constexprs={"BLOCK": 1024}, grid=(32, 1, 1)
    ).launches
    assert (item.launch.kernel, item.launch.grid) == ("double_kernel", (32, 1, 1))
    assert "tt.ptr<f16>" in item.ttir


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("entry", "key"),
    [
        (Entry(), "no_launch"),
        (Entry(signature=("*fp16", "i32"), constexprs={"BLOCK": 8}), "bad_signature"),
        (Entry(signature=("*fp16", "*half", "i32"), constexprs={"BLOCK": 8}), "bad_type"),
        (Entry(signature=("*fp16", "*fp16", "i32"), constexprs={"BLOCK": 8, "BLOK": 1}), "bad_constexpr"),
        (Entry(signature=("*fp16", "*fp16", "i32"), constexprs={"BLOCK": 8}, kernel="dubble"), "unknown_kernel"),
    ],
)
def test_a_bare_kernel_described_wrongly_is_refused(worker, entry, key):
    error = refusal(worker, (HOSTS / "bare.py").read_text(), entry)
    assert error.note.key == f"capture.{key}"


@pytest.mark.toolchain
def test_specialisation_is_tritons_own(worker):
    fill, fill_stride, aligned, odd, _ = (item for item in take(worker, "several.py").launches)
    # None and an int equal to 1 are constants of the artefact, as in JITFunction.run.
    assert dict(fill.launch.signature) == {"out_ptr": "*i64", "value": "i32"}
    assert dict(fill.launch.constexprs) == {"maybe_ptr": None, "stride": 1, "BLOCK": 16}
    assert dict(fill_stride.launch.constexprs) == {"BLOCK": 16}
    assert aligned.ttir.count("tt.divisibility") == 2
    assert odd.ttir.count("tt.divisibility") == 1
    assert aligned.launch.key != odd.launch.key


@pytest.mark.toolchain
def test_values_of_inputs_are_real_and_values_of_kernels_are_marked(worker):
    launches = [item.launch for item in take(worker, "several.py").launches]
    assert launches[0].grid == (2, 3, 1)
    assert [launch.data_dependent for launch in launches] == [False, False, False, False, True]


@pytest.mark.toolchain
def test_one_kernel_can_be_selected_by_name(worker):
    assert {i.launch.kernel for i in take(worker, "several.py", kernel="copy_kernel").launches} == {"copy_kernel"}
    with pytest.raises(BadInput, match="copy_kernel") as caught:
        take(worker, "several.py", kernel="copykernel")
    assert caught.value.note.key == "capture.unknown_kernel"


@pytest.mark.toolchain
def test_gigabytes_cost_nothing(worker):
    text = HEAD + (
        "def make_inputs(seed):\n"
        "    return (torch.randn(1 << 33, dtype=torch.float16, device='npu', generator=torch.Generator('npu')),)\n\n"
        "def run(x):\n"
        "    y = (x * 2).contiguous()[64:]\n"
        "    out = torch.empty_like(y)\n"
        "    add_kernel[(triton.cdiv(y.numel(), 1024),)](y, out, y.numel(), BLOCK=1024)\n"
        "    return out.sum().item()\n"
    )
    found = take_text(worker, text)
    assert found.shapes_only
    assert found.launches[0].launch.grid == (8388608, 1, 1)
    assert found.launches[0].launch.arguments[2] == ScalarArgument("n", "i64", (1 << 33) - 64)


@pytest.mark.toolchain
def test_a_launch_that_the_front_end_refuses_has_a_diagnostic_at_the_users_line(worker):
    text = HEAD + (
        "@triton.jit\ndef bad_kernel(x_ptr):\n    a = tl.arange(0, 16)\n    b = tl.arange(0, 32)\n"
        "    tl.store(x_ptr + a, a + b)\n\n"
        "def make_inputs(seed):\n    return (torch.ones(64),)\n\n"
        "def run(x):\n    bad_kernel[(1,)](x)\n    add_kernel[(1,)](x, x, 64, BLOCK=64)\n"
    )
    bad, good = take_text(worker, text).launches
    assert bad.ttir is None
    assert (bad.diagnostic.line, bad.diagnostic.stage) == (14, "ttir")
    assert "incompatible dimensions" in bad.diagnostic.message
    assert good.diagnostic is None


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("import torch\ndef f(:\n", "syntax", 2),
        ("import torch\nx = 1\n", "no_kernel", None),
        (HEAD, "no_launch", None),
        (HEAD + RUN + "    raise ValueError('no such x')\n", "host_raised", 14),
        (HEAD + "import notthere\n", "host_raised", 10),
        (HEAD + "import sys\nsys.exit(3)\n", "host_raised", 11),
        (HEAD + "make_inputs = run = get_inputs = None\n", "ambiguous_form", None),
        (HEAD + RUN + "    add_kernel[(1,)](torch.ones(8), 'x', 8, BLOCK=8)\n", "host_raised", 14),
        (HEAD + "import os\nos.abort()\n", "host_crashed", None),
    ],
)
def test_what_the_file_does_wrong_is_told(worker, text, key, line):
    error = refusal(worker, text)
    assert error.note.key == f"capture.{key}"
    if line is not None:
        assert error.note.values["line"] == line
    assert "/home/user/k.py" in str(error)


@pytest.mark.toolchain
def test_the_same_launch_has_the_same_key_and_an_edit_another(worker):
    text = (HOSTS / "functions.py").read_text()
    first, again = (take_text(worker, text).launches[0].launch.key for _ in range(2))
    assert first == again
    assert take_text(worker, text.replace("x * factor, mask", "x + factor, mask")).launches[0].launch.key != first
    assert take_text(worker, text.replace("BLOCK=256", "BLOCK=512")).launches[0].launch.key != first


@pytest.mark.toolchain
@pytest.mark.parametrize("name", ["kernels", "values"])
def test_modules_beside_the_file_come_along(worker, tmp_path, name):
    (tmp_path / f"{name}.py").write_text(HEAD)
    (tmp_path / "unrelated.py").write_text("x = 1\n")
    text = (
        f"import torch\nfrom {name} import add_kernel\n"
        "def make_inputs(seed):\n    return (torch.ones(8),)\n\ndef run(x):\n    add_kernel[(1,)](x, x, 8, BLOCK=8)\n"
    )
    source = KernelSource(tmp_path / "host.py", text)
    assert list(find_companions(source)) == [f"{name}.py"]
    (item,) = capture(worker, source, "a3").launches
    assert item.launch.file == tmp_path / f"{name}.py"


@pytest.mark.toolchain
@pytest.mark.skipif(SHARED is None, reason="TRITONKB_TEST_DATA names no folder with symptom_pairs")
@pytest.mark.parametrize("target", ["ascend910b3", "ascend950"])
def test_every_file_of_the_symptom_pairs_gives_ttir(worker, target):
    files = sorted(Path(SHARED, "symptom_pairs").glob("*.py"))
    assert len(files) == 48
    for file in files:
        (item,) = capture(worker, KernelSource(file, file.read_text()), target).launches
        assert item.ttir is not None, (file.name, item.diagnostic)


# Enough of another framework's tensor maker to call a stranger's get_inputs with torch.
MINDSPORE = """
import sys
import torch
__path__ = []
float16, float32, float64, bfloat16, int32, int64 = (
    torch.float16, torch.float32, torch.float64, torch.bfloat16, torch.int32, torch.int64)
torch.Tensor.astype = lambda self, dtype: self.to(dtype)
set_seed = torch.manual_seed

def Tensor(value, dtype=None):
    return torch.as_tensor(value).to(dtype)

class ops:
    randn, randint, tril, triu = torch.randn, torch.randint, torch.tril, torch.triu

class nn:
    Cell = object

sys.modules["mindspore.nn"], sys.modules["mindspore.ops"] = nn, ops
"""
GLUE = "\n\nfrom strangers_task import get_inputs\n"


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.skipif(AKG is None, reason="TRITONKB_AKG names no checkout of mindspore-ai/akg")
def test_strangers_hosts_are_captured(worker, tmp_path, capsys):
    """54 kernels that others published, with their own problem sizes; nothing of them is kept."""
    kernels = _git_files("akg_agents/database/local/ascend910b4/triton_ascend")
    tasks = {_short(path): path for path in _git_files("akg_agents/benchmark/kernelbench/mindspore")}
    (tmp_path / "mindspore.py").write_text(MINDSPORE)
    failed = {}
    for path in kernels:
        (tmp_path / "strangers_task.py").write_text(_git_show(tasks[_short(path)]))
        source = KernelSource(tmp_path / Path(path).name, _git_show(path) + GLUE)
        try:
            found = capture(worker, source, "ascend910b4")
        except BadInput as error:
            failed[path] = str(error)
            continue
        if any(item.ttir is None for item in found.launches):
            failed[path] = str(next(item.diagnostic for item in found.launches if item.ttir is None))
    with capsys.disabled():
        print(f"\n{len(kernels) - len(failed)} of {len(kernels)} strangers' hosts captured")
    assert len(kernels) == 54
    assert failed == {}


def _short(path: str) -> str:
    """Give the problem's number, by which kernels and tasks correspond."""
    return Path(path).name.partition("_")[0]


def _git_files(folder: str) -> list[str]:
    command = ["git", "-C", str(AKG), "ls-tree", "-r", "--name-only", "HEAD", folder]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return [path for path in listed if path.endswith(".py") and Path(path).name[0].isdigit()]


def _git_show(path: str) -> str:
    command = ["git", "-C", str(AKG), "show", f"HEAD:{path}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout

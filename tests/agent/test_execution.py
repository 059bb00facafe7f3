"""A host computes for real: with compiled kernels through the C interface, or with Triton's interpreter."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from agent.capture import capture
from agent.execution import Executed, Inputs, LibrariesMissing, execute, make_inputs, run_reference
from agent.records import Entry, KernelSource
from agent.toolchain.client import Worker
from agent.values import HostTensor, decode, tensors_of
from indexer.errors import BadInput, ToolchainError

HOSTS = Path(__file__).parent.parent / "kernels" / "hosts"
COMPILER = shutil.which("clang-19") or shutil.which("cc")
TARGET = "ascend910b3"
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="neither clang-19 nor cc is installed")

SCALE = """
void run_scale_kernel(float *x, float *out, int n, float factor, int gx, int gy, int gz) {
  for (int i = 0; i < gx * 256 && i < n; i++) out[i] = x[i] * factor;
}
"""
# The last element is forgotten.
SCALE_SHORT = SCALE.replace("i < n;", "i < n - 1;")


def read(name: str, **entry: object) -> KernelSource:
    return KernelSource(HOSTS / name, (HOSTS / name).read_text(), Entry(**entry))


def build(code: str, folder: Path, name: str = "kernel") -> Path:
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(code)
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library


def missing(worker: Worker, source: KernelSource, inputs: Inputs | None) -> LibrariesMissing:
    answer = execute(worker, source, TARGET, inputs, {})
    assert isinstance(answer, LibrariesMissing)
    return answer


def run(worker: Worker, source: KernelSource, inputs: Inputs | None, libraries: dict[str, Path]) -> Executed:
    answer = execute(worker, source, TARGET, inputs, libraries)
    assert isinstance(answer, Executed)
    return answer


def values(tree: object) -> list[list[float]]:
    return [tensor.as_float64().ravel().tolist() for tensor in tensors_of(tree)]


@pytest.mark.toolchain
def test_inputs_follow_seed_and_shape(worker):
    source = read("functions.py")
    first, again = (make_inputs(worker, source, TARGET, seed=1) for _ in range(2))
    other = make_inputs(worker, source, TARGET, seed=2)
    small = make_inputs(worker, source, TARGET, seed=1, shape_index=1)
    assert (first.shapes, first.has_reference) == (3, True)
    assert values(first.tensors) == values(again.tensors) != values(other.tensors)
    assert small.tensors[0].shape == (64,)
    with pytest.raises(BadInput, match="3 entries"):
        make_inputs(worker, source, TARGET, shape_index=3)


@pytest.mark.toolchain
def test_a_launch_without_a_library_is_reported_as_capture_would(worker):
    source = read("functions.py")
    (wanted,) = missing(worker, source, make_inputs(worker, source, TARGET)).launches
    (captured,) = capture(worker, source, TARGET).launches
    assert wanted.launch == captured.launch
    assert wanted.ttir == captured.ttir


@pytest.mark.toolchain
@needs_compiler
def test_each_launch_calls_its_library(worker, tmp_path):
    source = read("functions.py")
    inputs = make_inputs(worker, source, TARGET, seed=3)
    (wanted,) = missing(worker, source, inputs).launches
    done = run(worker, source, inputs, {wanted.launch.key: build(SCALE, tmp_path)})
    expected = inputs.tensors[0].as_float64() * 2.5
    assert np.allclose(done.outputs.as_float64(), expected, rtol=1e-6)
    assert [(launch.kernel, launch.count) for launch in done.launches] == [("scale_kernel", 1)]
    assert done.changed == {}
    assert "bubblewrap" in done.layers or "wall-clock" in done.layers


@pytest.mark.toolchain
@needs_compiler
def test_an_element_never_written_is_not_a_number(worker, tmp_path):
    source = read("functions.py")
    inputs = make_inputs(worker, source, TARGET)
    (wanted,) = missing(worker, source, inputs).launches
    done = run(worker, source, inputs, {wanted.launch.key: build(SCALE_SHORT, tmp_path)})
    assert np.flatnonzero(np.isnan(done.outputs.as_float64())).tolist() == [999]


@pytest.mark.toolchain
@needs_compiler
def test_a_library_that_crashes_is_told(worker, tmp_path):
    source = read("functions.py")
    inputs = make_inputs(worker, source, TARGET)
    (wanted,) = missing(worker, source, inputs).launches
    crash = "void run_scale_kernel(void) { *(volatile int *)0 = 1; }"
    with pytest.raises(BadInput, match="signal 11"):
        execute(worker, source, TARGET, inputs, {wanted.launch.key: build(crash, tmp_path)})


@pytest.mark.toolchain
@needs_compiler
def test_an_input_that_the_kernel_changed_is_returned(worker, tmp_path):
    source = read("constants.py")
    inputs = make_inputs(worker, source, TARGET)
    (wanted,) = missing(worker, source, inputs).launches
    assert dict(wanted.launch.signature)["n"] == "i64"
    code = (
        "void run_first_kernel(float *x, float *out, long n, int gx, int gy, int gz) {"
        " for (int i = 0; i < 16; i++) out[i] = i < n ? x[i] : -1; }"
    )
    done = run(worker, source, inputs, {wanted.launch.key: build(code, tmp_path)})
    assert list(done.changed) == [1]
    assert done.changed[1].as_float64().tolist() == [0.0] + [-1.0] * 15


@pytest.mark.toolchain
@needs_compiler
def test_the_configuration_that_has_a_library_is_the_one_that_runs(worker, tmp_path):
    source = read("tuned.py")
    inputs = make_inputs(worker, source, TARGET)
    second = capture(worker, source, TARGET).launches[1].launch
    code = "void run_sum_kernel(float *x, float *total, int n, int gx, int gy, int gz) { total[0] += gx; }"
    done = run(worker, source, inputs, {second.key: build(code, tmp_path)})
    assert done.outputs.as_float64().tolist() == [10.0]  # two launches of five programs each, with BLOCK=128
    assert [launch.constexprs["BLOCK"] for launch in done.launches] == [128]


@pytest.mark.toolchain
def test_the_reference_runs_in_float64_where_it_goes(worker):
    source = read("functions.py")
    inputs = make_inputs(worker, source, TARGET)
    exact = run_reference(worker, source, TARGET, inputs)
    assert exact.upcast
    assert exact.outputs.dtype == "float64"
    stubborn = KernelSource(source.path, source.text.replace("return x * factor\n", "return (x * factor).half()\n"))
    native = run_reference(worker, stubborn, TARGET, inputs)
    assert not native.upcast
    assert native.outputs.dtype == "float16"


@pytest.mark.toolchain
@needs_compiler
def test_a_model_and_its_rewrite_have_the_same_weights(worker, tmp_path):
    source = read("model.py")
    inputs = make_inputs(worker, source, TARGET, seed=5)
    (wanted,) = missing(worker, source, inputs).launches
    code = (
        "void run_row_bias_kernel(float *x, float *bias, float *out, int cols, int gx, int gy, int gz) {"
        " for (int r = 0; r < gx; r++) for (int c = 0; c < cols; c++) out[r * cols + c] = x[r * cols + c] + bias[c]; }"
    )
    done = run(worker, source, inputs, {wanted.launch.key: build(code, tmp_path)})
    reference = run_reference(worker, source, TARGET, inputs)
    assert np.allclose(done.outputs.as_float64(), reference.outputs.as_float64(), rtol=1e-6)


@pytest.mark.toolchain
@pytest.mark.parametrize("name", ["functions.py", "model.py", "constants.py", "tuned.py"])
def test_the_interpreter_runs_every_form(worker, interpreter, name):
    source = read(name)
    inputs = make_inputs(worker, source, TARGET, seed=1)
    done = run(interpreter, source, inputs, {})
    assert sum(launch.count for launch in done.launches) >= 1
    if inputs.has_reference:
        expected = run_reference(worker, source, TARGET, inputs).outputs.as_float64()
    else:
        expected = np.array({"constants.py": [0.0] + [-1.0] * 15, "tuned.py": [1280.0]}[name])
    assert np.allclose(done.outputs.as_float64(), expected, rtol=1e-6)


@pytest.mark.toolchain
def test_a_script_gives_the_tensors_it_launched_with(interpreter):
    done = run(interpreter, read("script.py"), None, {})
    x, y, out = done.outputs[:3]
    assert np.allclose(out.as_float64(), x.as_float64() + y.as_float64(), rtol=1e-6)


@pytest.mark.toolchain
def test_views_of_one_storage_stay_views(worker, interpreter):
    text = (
        "import torch\n\n"
        "def make_inputs(seed):\n    base = torch.arange(64).bfloat16()\n"
        "    return (base[::2], base, base.to(torch.float8_e5m2))\n\n"
        "def run(a, b, c):\n    a[3] = -1\n    return (a, b, c)\n"
    )
    source = KernelSource(HOSTS / "views.py", text)
    inputs = make_inputs(worker, source, TARGET)
    done = run(interpreter, source, inputs, {})
    a, b, c = done.outputs
    assert a.as_float64().tolist()[:5] == [0.0, 2.0, 4.0, -1.0, 8.0]
    assert b.as_float64().tolist()[5:8] == [5.0, -1.0, 7.0]
    assert c.as_float64().tolist()[:6] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert list(done.changed) == [0, 1]


def test_float8_is_decoded_exactly():
    bits = np.array([0x00, 0x3C, 0xC0, 0x7B, 0x7C, 0x7F, 0x01], dtype=np.uint8)
    e5m2 = HostTensor("float8_e5m2", bits).as_float64()
    assert e5m2[:5].tolist() == [0.0, 1.0, -2.0, 57344.0, np.inf]
    assert np.isnan(e5m2[5])
    assert e5m2[6] == 2.0**-16
    bits = np.array([0x00, 0x38, 0xC0, 0x7E, 0x7F, 0x01], dtype=np.uint8)
    e4m3 = HostTensor("float8_e4m3fn", bits).as_float64()
    assert e4m3[:4].tolist() == [0.0, 1.0, -2.0, 448.0]
    assert np.isnan(e4m3[4])
    assert e4m3[5] == 2.0**-9


@pytest.mark.parametrize(
    "change",
    [{"shape": [9]}, {"strides": [-1]}, {"offset": -1}, {"blob": 7}, {"dtype": "object"}, {"shape": None}],
)
def test_a_value_that_does_not_add_up_is_refused(change):
    tree = {"kind": "tensor", "dtype": "float32", "shape": [4], "strides": [1], "offset": 0, "blob": 0}
    assert decode(tree, [bytes(16)]).shape == (4,)
    with pytest.raises(ToolchainError):
        decode({**tree, **change}, [bytes(16)])

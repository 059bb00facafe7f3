"""A host computes for real: with compiled kernels through the C interface, or with Triton's interpreter."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.capture import capture, job_of
from agent.records import Entry, KernelSource
from agent.toolchain.client import Reply, Worker
from agent.verify.values import Values, elements_of, widen
from indexer.errors import BadInput

HOSTS = Path(__file__).parent.parent.parent / "kernels" / "hosts"
COMPILER = shutil.which("clang-19") or shutil.which("cc")
TARGET = "ascend910b3"
NOTHING = {"kind": "tuple", "items": []}
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


def make_inputs(worker: Worker, source: KernelSource, seed: int = 0, shape: int = 0) -> Reply:
    fields, blobs = job_of(source, TARGET)
    return worker.request("inputs", {**fields, "seed": seed, "shape_index": shape}, blobs)


def ask(
    worker: Worker, job: str, source: KernelSource, inputs: Reply | None, libraries: dict[str, Path], **more: object
) -> Reply:
    blobs = list(inputs.blobs) if inputs else []
    numbers = {key: len(blobs) + i for i, key in enumerate(libraries)}
    tree = {name: inputs.fields[name] if inputs else NOTHING for name in ("inputs", "initial")}
    fields = {**job_of(source, TARGET)[0], **tree, "seed": 5, "libraries": numbers, **more}
    return worker.request(job, fields, [*blobs, *(path.read_bytes() for path in libraries.values())])


def missing(worker: Worker, source: KernelSource, inputs: Reply) -> dict[str, Any]:
    reply = ask(worker, "execute", source, inputs, {})
    assert reply.status == "missing"
    (item,) = reply.fields["launches"]
    return item


def run(
    worker: Worker, source: KernelSource, inputs: Reply | None, libraries: dict[str, Path], **more: object
) -> Reply:
    reply = ask(worker, "execute", source, inputs, libraries, **more)
    assert reply.status == "ok"
    return reply


def arrays(reply: Reply, name: str) -> list[np.ndarray]:
    found = Values(reply.fields[name], reply.blobs)
    return [widen(elements_of(view, reply.blobs[view.storage]), view.dtype) for view in found.tensors()]


@pytest.mark.toolchain
def test_inputs_follow_seed_and_shape(worker):
    source = read("functions.py")
    first, again = (make_inputs(worker, source, seed=1) for _ in range(2))
    other = make_inputs(worker, source, seed=2)
    small = make_inputs(worker, source, seed=1, shape=1)
    assert (first.fields["shapes"], first.fields["has_reference"]) == (3, True)
    assert first.blobs == again.blobs != other.blobs
    assert arrays(small, "inputs")[0].shape == (64,)
    with pytest.raises(BadInput, match="3 entries"):
        make_inputs(worker, source, shape=3)


@pytest.mark.toolchain
def test_a_launch_without_a_library_is_reported_as_capture_would(worker):
    source = read("functions.py")
    wanted = missing(worker, source, make_inputs(worker, source))
    (captured,) = capture(worker, source, TARGET).launches
    assert wanted["key"] == captured.launch.key
    assert wanted["ttir"] == captured.ttir


@pytest.mark.toolchain
@needs_compiler
def test_each_launch_calls_its_library(worker, tmp_path):
    source = read("functions.py")
    inputs = make_inputs(worker, source, seed=3)
    wanted = missing(worker, source, inputs)
    done = run(worker, source, inputs, {wanted["key"]: build(SCALE, tmp_path)})
    assert np.allclose(arrays(done, "outputs")[0], arrays(inputs, "inputs")[0] * 2.5, rtol=1e-6)
    assert [(item["kernel"], item["count"]) for item in done.fields["launches"]] == [("scale_kernel", 1)]
    assert done.fields["changed"] == {}


@pytest.mark.toolchain
@needs_compiler
def test_an_element_never_written_is_not_a_number(worker, tmp_path):
    source = read("functions.py")
    inputs = make_inputs(worker, source)
    wanted = missing(worker, source, inputs)
    done = run(worker, source, inputs, {wanted["key"]: build(SCALE_SHORT, tmp_path)})
    assert np.flatnonzero(np.isnan(arrays(done, "outputs")[0])).tolist() == [999]


@pytest.mark.toolchain
@needs_compiler
def test_a_library_that_crashes_is_told(worker, tmp_path):
    source = read("functions.py")
    inputs = make_inputs(worker, source)
    wanted = missing(worker, source, inputs)
    crash = "void run_scale_kernel(void) { *(volatile int *)0 = 1; }"
    with pytest.raises(BadInput, match="signal 11"):
        run(worker, source, inputs, {wanted["key"]: build(crash, tmp_path)})


@pytest.mark.toolchain
@needs_compiler
def test_an_input_that_the_kernel_changed_is_returned(worker, tmp_path):
    source = read("constants.py")
    inputs = make_inputs(worker, source)
    wanted = missing(worker, source, inputs)
    assert wanted["signature"]["n"] == "i64"
    code = (
        "void run_first_kernel(float *x, float *out, long n, int gx, int gy, int gz) {"
        " for (int i = 0; i < 16; i++) out[i] = i < n ? x[i] : -1; }"
    )
    done = run(worker, source, inputs, {wanted["key"]: build(code, tmp_path)})
    assert list(done.fields["changed"]) == ["1"]
    assert arrays(done, "outputs")[0].tolist() == [0.0] + [-1.0] * 15


@pytest.mark.toolchain
@needs_compiler
def test_the_configuration_that_is_asked_for_is_the_one_that_runs(worker, tmp_path):
    source = read("tuned.py")
    inputs = make_inputs(worker, source)
    second = capture(worker, source, TARGET).launches[1].launch
    code = "void run_sum_kernel(float *x, float *total, int n, int gx, int gy, int gz) { total[0] += gx; }"
    libraries = {second.key: build(code, tmp_path)}
    assert ask(worker, "execute", source, inputs, libraries).status == "missing"
    done = run(worker, source, inputs, libraries, config=1)
    assert done.fields["configs"] == 3  # one of them pruned
    assert arrays(done, "outputs")[0].tolist() == [10.0]  # two launches of five programs each, with BLOCK=128
    assert [item["constexprs"]["BLOCK"] for item in done.fields["launches"]] == [128]


@pytest.mark.toolchain
def test_the_reference_runs_in_float64_where_it_goes(worker):
    source = read("functions.py")
    inputs = make_inputs(worker, source)
    exact = ask(worker, "reference", source, inputs, {})
    assert (exact.fields["upcast"], exact.fields["outputs"]["dtype"]) == (True, "float64")
    stubborn = KernelSource(source.path, source.text.replace("return x * factor\n", "return (x * factor).half()\n"))
    native = ask(worker, "reference", stubborn, inputs, {})
    assert (native.fields["upcast"], native.fields["outputs"]["dtype"]) == (False, "float16")


@pytest.mark.toolchain
@needs_compiler
def test_a_model_and_its_rewrite_have_the_same_weights(worker, tmp_path):
    source = read("model.py")
    inputs = make_inputs(worker, source, seed=5)
    wanted = missing(worker, source, inputs)
    code = (
        "void run_row_bias_kernel(float *x, float *bias, float *out, int cols, int gx, int gy, int gz) {"
        " for (int r = 0; r < gx; r++) for (int c = 0; c < cols; c++) out[r * cols + c] = x[r * cols + c] + bias[c]; }"
    )
    done = run(worker, source, inputs, {wanted["key"]: build(code, tmp_path)})
    reference = ask(worker, "reference", source, inputs, {})
    assert np.allclose(arrays(done, "outputs")[0], arrays(reference, "outputs")[0], rtol=1e-6)


@pytest.mark.toolchain
@pytest.mark.parametrize("name", ["functions.py", "model.py", "constants.py", "tuned.py"])
def test_the_interpreter_runs_every_form(worker, interpreter, name):
    source = read(name)
    inputs = make_inputs(worker, source, seed=1)
    done = run(interpreter, source, inputs, {})
    assert sum(item["count"] for item in done.fields["launches"]) >= 1
    if inputs.fields["has_reference"]:
        expected = arrays(ask(worker, "reference", source, inputs, {}), "outputs")[0]
    else:
        expected = np.array({"constants.py": [0.0] + [-1.0] * 15, "tuned.py": [1280.0]}[name])
    assert np.allclose(arrays(done, "outputs")[0], expected, rtol=1e-6)


@pytest.mark.toolchain
def test_a_script_gives_the_tensors_it_launched_with(interpreter):
    done = run(interpreter, read("script.py"), None, {})
    x, y, out = arrays(done, "outputs")[:3]
    assert np.allclose(out, x + y, rtol=1e-6)


@pytest.mark.toolchain
def test_views_of_one_storage_stay_views(worker, interpreter):
    text = (
        "import torch\n\n"
        "def make_inputs(seed):\n    base = torch.arange(64).bfloat16()\n"
        "    return (base[::2], base, base.to(torch.float8_e5m2))\n\n"
        "def run(a, b, c):\n    a[3] = -1\n    return (a, b, c)\n"
    )
    source = KernelSource(HOSTS / "views.py", text)
    inputs = make_inputs(worker, source)
    done = run(interpreter, source, inputs, {})
    a, b, c = arrays(done, "outputs")
    assert a.tolist()[:5] == [0.0, 2.0, 4.0, -1.0, 8.0]
    assert b.tolist()[5:8] == [5.0, -1.0, 7.0]
    assert c.tolist()[:6] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert list(done.fields["changed"]) == ["0", "1"]

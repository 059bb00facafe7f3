import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from agent.handoff.made import Made, note_made
from agent.handoff.make import write_bundle
from agent.handoff.parcels import parcel_of
from agent.handoff.take import take_bundle

SUITE = Path(__file__).parents[3] / "bench" / "suite"


@pytest.mark.device
@pytest.mark.slow
def test_a_bundle_measured_on_a_gpu_comes_back_as_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available() or importlib.util.find_spec("triton") is None:
        pytest.skip("no GPU with torch and triton here")
    monkeypatch.setenv("TRITONKB_HOME", str(tmp_path / "home"))
    parcels = [parcel_of(SUITE / f"{name}.py", "cuda:90", None, 24) for name in ("add_relu", "softmax_rows")]
    folder = tmp_path / "bundle"
    plan = write_bundle(folder, "cuda:90", parcels, [parcel.id for parcel in parcels])
    note_made(Made(plan, str(folder), {parcel.id: "" for parcel in parcels}))
    subprocess.run([sys.executable, "run.py", "--seconds", "200"], cwd=folder, check=True, timeout=280)
    doc, _ = take_bundle(folder)
    assert doc.missing == []
    assert doc.same_twice is not None
    assert doc.same_twice < 0.03
    assert all(kernel.initial is not None and kernel.initial.basis == "measured" for kernel in doc.kernels)

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from agent.measure.checking import Wrong, cases_of, check_all
from agent.measure.hosts import inputs_of, moved
from tests.agent.handoff.bundles import FAST, SPOILS, UNWRITTEN, WRONG


def _module(folder: Path, text: str) -> ModuleType:
    path = folder / "kernel.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("kernel", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_right_host_passes_on_every_shape_and_several_seeds(tmp_path: Path) -> None:
    module = _module(tmp_path, FAST)
    found = check_all(cases_of(module, "cpu", (0, 1, 2)), module.run)
    assert len(found["cases"]) == 5  # two seeds on the size that is timed, three on the other
    assert found["max_error"] < 1e-5


@pytest.mark.parametrize(
    ("text", "said"), [(WRONG, "relative error"), (UNWRITTEN, "inf"), (SPOILS, "input 0 was changed")]
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, said: str) -> None:
    module = _module(tmp_path, text)
    with pytest.raises(Wrong, match=said):
        check_all(cases_of(module, "cpu", (0, 1)), module.run)


def test_views_keep_strides_and_shared_storage_on_their_way(tmp_path: Path) -> None:
    module = _module(
        tmp_path,
        "import torch\n"
        "def make_inputs(seed):\n"
        "    pairs = torch.arange(20.0).reshape(5, 2, 2)\n"
        "    return pairs[:, :, 0], pairs[:, :, 1], 3\n",
    )
    first, second, number = moved(inputs_of(module, 0, None), "cpu")
    assert first.stride() == (4, 2)
    assert second.storage_offset() == 1
    assert first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
    assert first[1].tolist() == [4.0, 6.0]
    assert number == 3

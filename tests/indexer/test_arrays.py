import gc
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from indexer.arrays import mapped, read_array

REPOSITORY = Path(__file__).parents[2]
READINGS = 400


@pytest.fixture
def restless() -> Iterator[None]:
    """Let threads change places wherever memory is asked for: while numpy's header is parsed, too."""
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.callbacks.append(_look_around)
    gc.set_threshold(5)
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*threshold)
    gc.callbacks.remove(_look_around)


def _look_around(_phase: str, _found: dict[str, int]) -> None:
    """Run some Python, in which a thread can be stopped."""
    for _ in range(3):
        pass


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize("read", [mapped, read_array])
def test_many_threads_read_arrays_at_once(read: Callable[[Path], object], tmp_path: Path) -> None:
    small, large = np.zeros(3, [("file", np.int32), ("damped", np.bool_)]), np.arange(4096)
    np.save(tmp_path / "small.npy", small)
    np.save(tmp_path / "large.npy", large)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: read(tmp_path / ("small.npy", "large.npy")[n % 2]), range(READINGS)))
    assert all(np.array_equal(one, (small, large)[n % 2]) for n, one in enumerate(found))


def test_arrays_are_read_at_one_door() -> None:
    """`numpy.load` elsewhere in the index or the retriever would be without the lock."""
    sources = [path for layer in ("indexer", "retriever") for path in (REPOSITORY / layer).rglob("*.py")]
    assert [path.name for path in sources if "np.load(" in path.read_text(encoding="utf-8")] == ["arrays.py"]

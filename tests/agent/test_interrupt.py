"""Ctrl-C over several files, with the real command in a process group of its own, as a terminal has it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = ("softmax_strided.py", "matmul_epilogue.py")
# Reading torch from disk on a loaded machine takes far longer than on a quiet one.
SECONDS = 240.0


def wait_for(process: subprocess.Popen[bytes], log: Path, words: str, times: int) -> None:
    """Wait until the process said `words` so often."""
    end = time.monotonic() + SECONDS
    while log.read_text().count(words) < times:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)


def alive_with(scratch: Path) -> list[int]:
    """Return the processes that were given `scratch` as their folder for temporary files."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                given = (entry / "environ").read_bytes()
            except OSError:
                continue  # it ended meanwhile, or is not ours
            if f"TMPDIR={scratch}\0".encode() in given:
                found.append(int(entry.name))
    return found


def wait_until_gone(scratch: Path) -> None:
    """Wait for those that end because we did, such as Python's own tracker of shared resources."""
    end = time.monotonic() + 20
    while left := alive_with(scratch):
        assert time.monotonic() < end, left
        time.sleep(0.1)


@pytest.mark.toolchain
@pytest.mark.parametrize("rounds_first", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_an_interrupt_of_several_files_leaves_nothing_behind_and_says_how_to_go_on(
    tmp_path: Path, rounds_first: int
) -> None:
    scratch, log = tmp_path / "scratch", tmp_path / "log"
    scratch.mkdir()
    command = [str(Path(sys.executable).with_name("tritonkb")), "optimize", *(str(EXAMPLES / file) for file in FILES)]
    command += ["--jobs", "2", "--out", str(tmp_path / "out"), "--lang", "en"]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=said, env=environment, start_new_session=True
        )
        try:
            wait_for(process, log, "optimising", 2)
            wait_for(process, log, "round 1", rounds_first)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(SECONDS) == 130
        finally:
            process.kill()
    assert list(scratch.iterdir()) == []
    wait_until_gone(scratch)
    told = log.read_text()
    assert "Traceback" not in told
    for file in FILES:
        assert f"tritonkb optimize {EXAMPLES / file} --target ascend910b3 --resume {tmp_path / 'out'}" in told

"""The worker's server: imports torch and triton once, then forks one child for each job.

Run as `python -s main.py`, frames on stdin and stdout. Nothing of a stranger's code runs in this process; a child that
hangs, dies, floods or eats memory is killed with all it started, and the answer says which of these it was.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import re
import resource
import select
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import frames
import jobs
import phase

OUTPUT_LIMIT_BYTES = 64 << 10
# prctl(2), linux/prctl.h.
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36
_WATCH_SECONDS = 0.05


def main() -> None:
    """Serve jobs until stdin closes."""
    alone = "--own-pid-namespace" in sys.argv
    _die_with_parent()
    # No job may open this process's memory, though it runs under the same user.
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    if not alone:  # what a job leaves behind becomes a child of this process, and is found
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    job_folder = Path(os.environ.get("TRITONKB_JOB_FOLDER", "/scratch/job"))
    requests, answers = _take_protocol()
    frames.widen(answers)
    sys.path[:] = [entry for entry in sys.path if entry != str(Path(__file__).parent)]
    hello = {"python": sys.version.split()[0], "versions": jobs.versions(), "cpu_seconds": time.process_time()}
    frames.write_frame(answers, {"status": "ready", **hello})
    gc.collect()
    gc.freeze()  # a child that collected what it inherited would copy all of it
    while True:
        try:
            header, blobs = frames.read_frame(requests)
        except frames.Closed:
            return
        answer, out = _serve(header, blobs, job_folder, alone=alone)
        if answer["status"] == "needs_meta":
            jobs.warm_meta()
            gc.freeze()
            header["tensors"] = "meta"
            answer, out = _serve(header, blobs, job_folder, alone=alone)
        if answer["status"] == "crashed" and phase.died_lowering():
            answer, out = _serve({**header, "isolated": True}, blobs, job_folder, alone=alone)
        frames.write_frame(answers, answer, out)
        _wipe(out)


def _wipe(blobs: list[bytes]) -> None:
    """Overwrite what one job answered: the next is forked from this process, and must not find a reference's result."""
    for blob in blobs:
        # CPython keeps the bytes behind the object's head, with one zero byte after them.
        ctypes.memset(id(blob) + bytes.__basicsize__ - 1, 0, len(blob))


def _die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies: a killed tritonkb leaves nothing behind.

    A parent that died before it was asked is told by the end of stdin.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _take_protocol() -> tuple[int, int]:
    """Move the protocol away from descriptors 0 and 1, which host code may use as it likes."""
    requests, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return requests, answers


def _serve(
    header: dict[str, Any], blobs: list[bytes], folder: Path, *, alone: bool
) -> tuple[dict[str, Any], list[bytes]]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    answer_read, answer_write = os.pipe()
    output_read, output_write = os.pipe()
    frames.widen(answer_write)
    start, spent = time.monotonic(), sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    phase.begin()
    worker, child = os.getpid(), os.fork()
    if child == 0:
        _run_child(worker, header, blobs, folder, answer_write, output_write)
    os.close(answer_write)
    os.close(output_write)
    watch = _Watch(child, answer_read, output_read, header, alone=alone)
    try:
        verdict = watch.follow()
    finally:
        _kill(child, alone=alone)
        os.close(answer_read)
        os.close(output_read)
        shutil.rmtree(folder, ignore_errors=True)
    answer, out = verdict
    answer["output"] = watch.output.decode(errors="replace")
    answer["seconds"] = time.monotonic() - start
    answer["cpu_seconds"] = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - spent
    return answer, out


def _run_child(worker: int, header: dict[str, Any], blobs: list[bytes], folder: Path, answer: int, output: int) -> None:
    """Become the job: own session, no protocol descriptors, limits; never returns."""
    code = 1
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)  # else it cannot look at itself
        _die_with_parent()
        if os.getppid() != worker:  # it died before the kernel was asked, and would not be told of
            os._exit(code)
        os.dup2(output, 1)
        os.dup2(output, 2)
        _close_all_but({0, 1, 2, answer})
        os.chdir(folder)
        reply, out = jobs.run(header, blobs, folder)
        sys.stdout.flush()
        sys.stderr.flush()
        frames.write_frame(answer, reply, out)
        code = 0
    except MemoryError:
        frames.write_frame(answer, {"status": "memory"})
    except BaseException:  # noqa: BLE001 - our own fault or a job's trick: it ends up in the job's output
        traceback.print_exc()
    finally:
        os._exit(code)


def _close_all_but(kept: set[int]) -> None:
    for entry in list(Path("/proc/self/fd").iterdir()):
        fd = int(entry.name)
        if fd not in kept:
            with contextlib.suppress(OSError):  # the listing's own descriptor is gone by now
                os.close(fd)


class _Watch:
    """Follows one child: its answer, its output (capped), its time and its memory."""

    def __init__(self, child: int, answer: int, output: int, header: dict[str, Any], *, alone: bool) -> None:
        self.alone = alone
        self.child, self.answer, self.output_fd = child, answer, output
        self.deadline = time.monotonic() + float(header["seconds"])
        self.memory_bytes = int(header["memory_bytes"])
        self.output = bytearray()
        self.buffer = bytearray()

    def follow(self) -> tuple[dict[str, Any], list[bytes]]:
        """Wait until the child answered, died, or went over a limit."""
        poll = select.poll()
        poll.register(self.answer, select.POLLIN)
        poll.register(self.output_fd, select.POLLIN)
        while True:
            left = self.deadline - time.monotonic()
            if left <= 0:
                return {"status": "timeout"}, []
            if _job_bytes(self.child, alone=self.alone) > self.memory_bytes:
                return {"status": "memory"}, []
            for fd, _ in poll.poll(min(left, _WATCH_SECONDS) * 1000):
                if fd == self.output_fd:
                    if not self._take_output():
                        poll.unregister(fd)
                    continue
                answer = self._take_answer()
                self._drain_output()
                return answer

    def _take_output(self) -> bool:
        part = os.read(self.output_fd, 1 << 16)
        self.output += part[: max(0, OUTPUT_LIMIT_BYTES - len(self.output))]
        return bool(part)

    def _drain_output(self) -> None:
        poll = select.poll()
        poll.register(self.output_fd, select.POLLIN)
        while poll.poll(0) and len(self.output) < OUTPUT_LIMIT_BYTES and self._take_output():
            pass

    def _take_answer(self) -> tuple[dict[str, Any], list[bytes]]:
        try:
            return frames.read_frame(self.answer, self.deadline)
        except frames.Late:
            return {"status": "timeout"}, []
        except frames.FrameError:
            return self._tell_death(), []

    def _tell_death(self) -> dict[str, Any]:
        with contextlib.suppress(ChildProcessError):
            _, status = os.waitpid(self.child, os.WNOHANG)
            for _ in range(20):
                if status:
                    break
                time.sleep(0.01)
                _, status = os.waitpid(self.child, os.WNOHANG)
            if os.WIFSIGNALED(status):
                return {"status": "crashed", "signal": os.WTERMSIG(status)}
        return {"status": "crashed", "signal": 0}


def _job_bytes(child: int, *, alone: bool) -> int:
    """Return what the job added to memory: its session's, or, in a pid namespace of our own, all processes'.

    What each process has from this one since the fork does not count.
    """
    total, inherited = 0, _own_bytes(Path("/proc/self"))
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in {1, os.getpid()}:
            continue
        with contextlib.suppress(OSError, IndexError):  # it may have ended meanwhile
            # Field 6 of stat is the session (proc(5)); the name before it, in parentheses, may hold spaces.
            if alone or int((entry / "stat").read_text().rpartition(")")[2].split()[3]) == child:
                total += max(0, _own_bytes(entry) - inherited)
    return total


def _own_bytes(process: Path) -> int:
    """Return the resident memory of a process that no file backs."""
    held = re.findall(r"^Rss(?:Anon|Shmem):\s*(\d+) kB", (process / "status").read_text(), re.MULTILINE)
    return sum(int(kib) << 10 for kib in held)


def _kill(child: int, *, alone: bool) -> None:
    """Kill the job's process group and whatever else it left behind.

    In a pid namespace of our own that is everything; else our children, among them those that lost their parent.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    while left := _others() if alone else _children():
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG if alone else 0)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _others() -> list[int]:
    """Return the processes of this pid namespace but its first one and us, those that are dead already left out."""
    return [pid for pid, state, _ in _processes() if pid not in {1, os.getpid()} and state != "Z"]


def _children() -> list[int]:
    return [pid for pid, _, parent in _processes() if parent == os.getpid()]


def _processes() -> Iterator[tuple[int, str, int]]:
    """Yield id, state and parent of each process (proc(5), stat; the name in parentheses may hold spaces)."""
    for entry in list(Path("/proc").iterdir()):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it ended meanwhile
                state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                yield int(entry.name), state, int(parent)


if __name__ == "__main__":
    main()

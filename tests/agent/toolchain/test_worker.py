"""The worker survives what host code does to it, and tells what it was; a worker's wire refuses what is no frame."""

import ast
import dataclasses
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from agent.capture import capture
from agent.isolation.landlock import why_no_landlock
from agent.records import KernelSource
from agent.sandbox import SandboxPolicy, why_no_bubblewrap
from agent.toolchain import client
from agent.toolchain.client import Worker
from agent.toolchain.install import find_ascend
from agent.toolchain.worker import frames
from indexer.errors import BadInput, SandboxError, TritonkbError
from indexer.messages import message, render
from tests.without_landlock import run_without_landlock

HOSTS = Path(__file__).parent.parent.parent / "kernels" / "hosts"
GOOD = KernelSource(HOSTS / "functions.py", (HOSTS / "functions.py").read_text())


@pytest.fixture(scope="module")
def strict():
    """A worker with tight limits; a test that restarts it costs a cold start."""
    with Worker(find_ascend(), SandboxPolicy(seconds=6, memory_bytes=512 << 20, scratch_bytes=64 << 20)) as running:
        yield running


def host(worker: Worker, code: str):
    return capture(worker, KernelSource(Path("/home/user/k.py"), code), "a3")


def works(worker: Worker) -> bool:
    return len(capture(worker, GOOD, "a3").launches) == 1


@pytest.mark.toolchain
def test_an_endless_host_is_killed_and_the_worker_goes_on(strict):
    assert works(strict)
    process = strict_process(strict)
    with pytest.raises(SandboxError, match="killed after 6 s"):
        host(strict, "while True: pass")
    assert works(strict)
    assert strict_process(strict) == process


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "code",
    [
        "kept = [bytearray(b'x') * (64 << 20) for _ in range(64)]",
        "x = bytearray(64 << 30)",
        "import os\nfor _ in range(4): os.fork()\nx = bytearray(b'x') * (60 << 20)\n__import__('time').sleep(60)",
    ],
)
def test_too_much_memory_is_told(strict, code):
    with pytest.raises(SandboxError, match="512 MiB"):
        host(strict, code)
    assert works(strict)


@pytest.mark.toolchain
def test_a_crash_is_told_with_its_signal(strict):
    with pytest.raises(BadInput, match="signal 11"):
        host(strict, "import ctypes\nctypes.string_at(0)")
    assert works(strict)


@pytest.mark.toolchain
def test_a_host_that_writes_to_every_descriptor_spoils_only_its_own_answer(strict):
    code = (
        "import os\nfor fd in range(3, 64):\n"
        "    try: os.write(fd, b'garbage' * 9)\n    except OSError: pass\nos._exit(0)"
    )
    with pytest.raises(BadInput) as caught:
        host(strict, code)
    assert caught.value.note.key == "capture.host_crashed"
    assert works(strict)


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "answer",
    [
        {"status": "rejected", "reason": "nothing_known", "values": {}},
        {"status": "rejected", "reason": "syntax", "values": {"line": 1}},
        {"status": "rejected", "reason": "syntax", "values": 7},
        {"status": "rejected"},
        {"status": "ok"},
        {"status": "ok", "stopped": None, "form": "bare", "printed_file": "x", "launches": [{}], "tensors": "real"},
        {"status": "won"},
    ],
)
def test_an_answer_that_host_code_forged_is_refused(strict, answer):
    forge = (
        "import json, os, struct\n"
        f"text = json.dumps({{**{answer!r}, 'blob_bytes': []}}).encode()\n"
        "frame = struct.pack('>4sIQ', b'tkb1', len(text), 0) + text\n"
        "for fd in range(3, 64):\n"
        "    try: os.write(fd, frame)\n    except OSError: pass\nos._exit(0)\n"
    )
    with pytest.raises(TritonkbError) as caught:
        host(strict, forge)
    assert caught.value.exit_code == 4
    assert works(strict)


@pytest.mark.toolchain
def test_what_steers_a_terminal_is_dropped(strict):
    with pytest.raises(BadInput) as caught:
        host(strict, "raise ValueError('red \\x1b[31m text')")
    assert "red [31m text" in str(caught.value)
    assert host(strict, "print('\\x1b[2J')\n" + GOOD.text).output == "[2J\n"


@pytest.mark.toolchain
def test_a_flood_of_output_is_capped(strict):
    code = "import sys\nfor _ in range(64): sys.stdout.write('x' * (1 << 20))\n" + GOOD.text
    assert 1000 < len(host(strict, code).output) <= 1 << 16


@pytest.mark.toolchain
def test_what_a_job_leaves_behind_is_gone_in_the_next(strict):
    leave = (
        "import os, subprocess, time\n"
        "subprocess.Popen(['setsid', 'sleep', '4545'])\n"
        "if os.fork() == 0:\n    os.setsid(); time.sleep(60)\n"
        "open('/scratch/job/left', 'w').write('x')\n"
    )
    look = (
        "import glob, os\n"
        "print(len([p for p in os.listdir('/proc') if p.isdigit()]), os.path.exists('/scratch/job/left'))\n"
    )
    host(strict, leave + GOOD.text)
    # bubblewrap's first process, the server, this job.
    assert host(strict, look + GOOD.text).output == "3 False\n"


@pytest.mark.toolchain
def test_host_code_has_no_files_no_keys_and_no_network(strict, tmp_path):
    (tmp_path / "key").write_text("secret")
    code = (
        "import os, socket\n"
        f"print(os.path.exists({str(tmp_path / 'key')!r}), 'HOME' in os.environ and os.environ['HOME'])\n"
        "print([name for name, value in os.environ.items() if 'KEY' in name])\n"
        "try: socket.create_connection(('192.0.2.1', 80), 2)\nexcept OSError: print('no network')\n"
    )
    assert host(strict, code + GOOD.text).output == "False /scratch\n[]\nno network\n"


@pytest.mark.toolchain
@pytest.mark.slow
def test_a_host_that_kills_the_worker_is_told_and_the_next_job_gets_a_new_one(strict):
    with pytest.raises(TritonkbError, match="died twice") as caught:
        host(strict, "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)")
    assert caught.value.exit_code == 4
    assert works(strict)


@pytest.mark.toolchain
def test_a_worker_killed_from_outside_is_restarted_unnoticed(strict):
    assert works(strict)
    os.killpg(strict_process(strict), signal.SIGKILL)
    assert works(strict)


@pytest.mark.toolchain
@pytest.mark.slow
def test_a_killed_client_leaves_no_worker():
    code = (
        "from agent.sandbox import SandboxPolicy\n"
        "from agent.toolchain.client import Worker\n"
        "from agent.toolchain.install import find_ascend\n"
        "from agent.capture import capture\n"
        "from agent.records import KernelSource\n"
        "from pathlib import Path\n"
        "with Worker(find_ascend(), SandboxPolicy()) as worker:\n"
        "    capture(worker, KernelSource(Path('/k.py'), 'import time\\nprint(1)\\ntime.sleep(50)'), 'a3')\n"
    )
    caller = subprocess.Popen([sys.executable, "-c", code])
    try:
        assert eventually(lambda: len(descendants(caller.pid)) >= 4, 60)  # bubblewrap twice, the server, its job
        family = descendants(caller.pid)
        caller.kill()
        caller.wait()
        assert eventually(lambda: not any(Path(f"/proc/{pid}/stat").exists() for pid in family), 15)
    finally:
        caller.kill()
        caller.wait()


@pytest.mark.toolchain
def test_a_crash_of_the_front_end_is_the_diagnostic_of_one_launch(strict):
    code = GOOD.text + (
        "\nfrom triton.compiler import ASTSource\nmake = ASTSource.make_ir\n"
        "def crash(self, *args, **kwargs):\n"
        "    if self.signature['n'] == 'i32' and 'n' not in self.constants: __import__('os').abort()\n"
        "    return make(self, *args, **kwargs)\n"
        "ASTSource.make_ir = crash\n"
        "inner = run\ndef run(x, factor):\n    inner(x[:1], factor)\n    return inner(x, factor)\n"
    )
    good, bad = host(strict, code).launches
    assert good.ttir is not None
    assert bad.diagnostic is not None
    assert bad.diagnostic.message == "Triton's front end crashed (signal 6)"


@pytest.mark.toolchain
@pytest.mark.skipif(why_no_landlock() is not None, reason=f"not here: {why_no_landlock()}")
def test_without_bubblewrap_a_worker_runs_under_landlock_and_ends_what_jobs_leave(monkeypatch, tmp_path):
    install = find_ascend()
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    why_no_bubblewrap.cache_clear()
    left = "import subprocess\nprint(subprocess.Popen(['/usr/bin/setsid', '/bin/sleep', '60']).pid)\n"
    try:
        with Worker(install, SandboxPolicy()) as worker:
            daemon = int(host(worker, left + GOOD.text).output.split()[0])
            assert not Path(f"/proc/{daemon}").exists()
            assert "landlock" in worker.layers
            works(worker)
        assert list(tmp_path.iterdir()) == []
    finally:
        why_no_bubblewrap.cache_clear()


@pytest.mark.slow
@pytest.mark.toolchain
def test_without_any_sandbox_a_worker_runs_only_when_allowed(monkeypatch, tmp_path):
    code = """
from agent.sandbox import SandboxPolicy
from agent.toolchain.client import Worker
from agent.toolchain.install import find_ascend
from indexer.errors import SandboxError
install = find_ascend()
try:
    with Worker(install, SandboxPolicy()) as worker:
        worker.request("capture", {})
except SandboxError as error:
    print("refused", error.exit_code)
with Worker(install, SandboxPolicy(unsafe=True)) as worker:
    worker.start_early()
    worker._ready()
    print(worker.layers)
"""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert run_without_landlock(code, "/nowhere").stdout == "refused 6\n('wall-clock',)\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.toolchain
def test_a_worker_without_triton_says_what_to_do():
    bare = dataclasses.replace(find_ascend(), python=Path(sys.executable))
    with (
        Worker(bare, SandboxPolicy()) as worker,
        pytest.raises(TritonkbError, match="No module named 'triton") as caught,
    ):
        works(worker)
    assert caught.value.exit_code == 4


def test_every_rejection_of_the_worker_has_its_sentence():
    folder = Path(client.__file__).parent / "worker"
    made = 0
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Rejection":
                made += 1
                values = {str(keyword.arg): "x" for keyword in node.keywords}
                render(message(f"capture.{ast.literal_eval(node.args[0])}", path="k.py", **values), "zh")
    assert made > 10


def test_frames_round_trip():
    near, far = os.pipe()
    frames.write_frame(far, {"a": [1, None, float("inf")]}, [b"", b"xyz"])
    header, blobs = frames.read_frame(near)
    assert header["a"] == [1, None, float("inf")]
    assert blobs == [b"", b"xyz"]


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.0\r\n\r\n",
        b"tkb1\xff\xff\xff\xff" + bytes(8),
        b"tkb1\x00\x00\x00\x02\x7f\xff\xff\xff\xff\xff\xff\xff{}",
        b"tkb1\x00\x00\x00\x02" + bytes(8) + b"[]",
        b"tkb1\x00\x00\x00\x02" + bytes(8) + b"\xff\xff",
        b"tkb1\x00\x00\x00\x15" + bytes(8) + b'{"blob_bytes": [9,9]}',
        b"tkb1",
    ],
)
def test_what_is_no_frame_is_refused(sent):
    near, far = os.pipe()
    os.write(far, sent)
    os.close(far)
    with pytest.raises(frames.FrameError):
        frames.read_frame(near, time.monotonic() + 5)


def test_a_frame_that_never_ends_is_late():
    near, far = os.pipe()
    os.write(far, b"tkb1")
    with pytest.raises(frames.Late):
        frames.read_frame(near, time.monotonic() + 0.05)
    with pytest.raises(frames.Late):
        frames.write_frame(far, {}, [bytes(1 << 20)], time.monotonic() + 0.05)


def strict_process(worker: Worker) -> int:
    assert worker._running is not None
    return worker._running.process.pid


def descendants(pid: int) -> list[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    family = {pid}
    for _ in range(8):
        family |= {child for child, parent in parents.items() if parent in family}
    return sorted(family - {pid})


def eventually(holds, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.toolchain
def test_a_worker_that_was_started_early_answers_as_any_other():
    with Worker(find_ascend(), SandboxPolicy(seconds=30)) as early:
        early.start_early()
        early.start_early()
        assert works(early)
        process = strict_process(early)
        early.start_early()
        assert strict_process(early) == process


@pytest.mark.toolchain
def test_a_start_that_no_job_waited_for_ends_with_the_context():
    with Worker(find_ascend(), SandboxPolicy(seconds=30)) as early:
        early.start_early()
        while early._running is None:
            time.sleep(0.01)
        process = strict_process(early)
    assert not Path(f"/proc/{process}").exists()

"""What a stranger's program tries to do, it cannot; what it did is told, and nothing of it is left."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent import sandbox
from agent.isolation.cgroup import cgroup_layers
from agent.sandbox import Finished, OutOfMemory, SandboxPolicy, TimedOut, run_sandboxed, why_no_bubblewrap
from indexer.errors import SandboxError
from tests.without_landlock import run_without_landlock

PYTHON = Path(sys.executable)
FOLDERS = (PYTHON.absolute().parent.parent, PYTHON.resolve().parent.parent)
pytestmark = pytest.mark.skipif(why_no_bubblewrap() is not None, reason=f"not here: {why_no_bubblewrap()}")


def run(code: str, *, seconds: float = 20, memory_bytes: int = 512 << 20, scratch_bytes: int = 64 << 20):
    policy = SandboxPolicy(seconds, memory_bytes, scratch_bytes, FOLDERS)
    return run_sandboxed([PYTHON, "-I", "-B", "-c", code], policy)


def blocked(code: str) -> str:
    """Run an attack that prints WORKED when it works; return what it printed instead."""
    outcome = run(code)
    assert isinstance(outcome, Finished)
    assert "WORKED" not in outcome.output
    assert outcome.code != 0
    return outcome.output


def test_a_program_runs_and_its_output_and_code_come_back():
    outcome = run("import sys; print('hello', flush=True); print('there', file=sys.stderr); sys.exit(3)")
    assert isinstance(outcome, Finished)
    assert (outcome.code, outcome.output) == (3, "hello\nthere\n")
    assert {"bubblewrap", "no-network"} <= set(outcome.layers)


def test_a_key_file_cannot_be_read(tmp_path):
    key = tmp_path / "id_ed25519"
    key.write_text("secret")
    key.chmod(0o644)
    assert "FileNotFoundError" in blocked(f"print('WORKED', open({str(key)!r}).read())")


def test_the_environment_is_not_there(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "secret")
    assert "KeyError" in blocked("import os; os.environ['SECRET_KEY']; print('WORKED')")
    outcome = run("import os; print(sorted(os.listdir('/proc')), sorted(os.environ))")
    assert isinstance(outcome, Finished)
    assert str(os.getpid()) not in outcome.output


def test_the_network_is_not_there():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        blocked(f"import socket; socket.create_connection(('127.0.0.1', {port}), 3); print('WORKED')")
        blocked(
            "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "s.sendto(b'x', ('192.0.2.1', 53)); print('WORKED')"
        )
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.accept()


def test_nothing_outside_scratch_can_be_written():
    places = ["/usr/x", "/etc/x", str(FOLDERS[0] / "x"), "/x", "/root/x"]
    code = f"for place in {places}:\n  try: open(place, 'w'); print('WORKED')\n  except OSError: print('no')"
    outcome = run(code)
    assert isinstance(outcome, Finished)
    assert outcome.output.split() == ["no"] * len(places)
    assert not any(Path(place).exists() for place in places)


def test_the_hosts_temporary_files_are_neither_seen_nor_written(tmp_path):
    (tmp_path / "mine").write_text("x")
    outcome = run("import os; print(os.listdir('/tmp')); open('/tmp/theirs', 'w')")
    assert isinstance(outcome, Finished)
    assert not Path("/tmp/theirs").exists()
    assert "pytest" not in outcome.output


def test_processes_of_the_host_cannot_be_killed():
    victim = subprocess.Popen(["sleep", "60"])
    try:
        blocked(f"import os; os.kill({victim.pid}, 9); print('WORKED')")
        run("import os; os.kill(-1, 9)")
        run("import os; os.kill(os.getppid(), 9)")
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86-64")
def test_system_calls_that_help_out_of_sandboxes_are_denied():
    calls = {
        "user namespace": "unshare(0x10000000)",
        "ptrace": "ptrace(0, 0, 0, 0)",
        "keyctl": "syscall(250, 0, 0, 0, 0)",
        "io_uring": "syscall(425, 8, 0)",
        "bpf": "syscall(321, 0)",
    }
    code = "import ctypes; c = ctypes.CDLL(None, use_errno=True)\n" + "".join(
        f"ctypes.set_errno(0); print({name!r}, c.{call}, ctypes.get_errno())\n" for name, call in calls.items()
    )
    outcome = run(code)
    assert isinstance(outcome, Finished)
    assert outcome.output.splitlines() == [f"{name} -1 1" for name in calls]


def test_one_big_file_and_many_files_end_at_the_scratch_size():
    one = run("f = open('/scratch/f', 'wb')\nfor _ in range(100): f.write(bytes(1 << 20))\nf.flush(); print('WORKED')")
    many = run(
        "for i in range(12):\n  with open(f'/scratch/{i}', 'wb') as f: f.write(bytes(10 << 20))\nprint('WORKED')"
    )
    for outcome in (one, many):
        assert isinstance(outcome, Finished)
        assert "WORKED" not in outcome.output


def test_too_much_memory_is_an_outcome():
    outcome = run("x = bytearray(1 << 30); print('WORKED')")
    assert isinstance(outcome, OutOfMemory)
    assert outcome.memory_bytes == 512 << 20


def test_a_fork_loop_ends_at_the_limit():
    code = (
        "import os, time\nmade = 0\n"
        "for _ in range(600):\n"
        "  try: child = os.fork()\n"
        "  except OSError: break\n"
        "  if child == 0: time.sleep(30)\n"
        "  made += 1\n"
        "print(made)"
    )
    outcome = run(code)
    assert isinstance(outcome, Finished)
    assert int(outcome.output) < 300 or os.geteuid() != 0


def test_an_endless_loop_is_killed_with_its_children():
    start = time.monotonic()
    outcome = run(
        "import subprocess; subprocess.Popen(['sleep', '4242']); print('on', flush=True)\nwhile True: pass", seconds=1
    )
    assert isinstance(outcome, TimedOut)
    assert outcome.output == "on\n"
    assert time.monotonic() - start < 10
    assert _eventually(lambda: not _running("4242"))


def test_a_daemon_does_not_survive_its_program():
    outcome = run("import os, subprocess; subprocess.Popen(['setsid', 'sleep', '4343']); print('left')")
    assert isinstance(outcome, Finished)
    assert _eventually(lambda: not _running("4343"))


def test_output_is_capped():
    outcome = run("import sys\nfor _ in range(8): sys.stdout.write('x' * (1 << 20))")
    assert isinstance(outcome, Finished)
    assert len(outcome.output) == sandbox.OUTPUT_LIMIT_BYTES


def test_a_killed_caller_leaves_no_process():
    code = "from agent.sandbox import *; from pathlib import Path\nrun_sandboxed(['sleep', '4444'], SandboxPolicy())"
    caller = subprocess.Popen([sys.executable, "-c", code])
    try:
        assert _eventually(lambda: _running("4444"))
        caller.send_signal(signal.SIGKILL)
        assert _eventually(lambda: not _running("4444"))
    finally:
        caller.kill()
        caller.wait()


def test_without_a_sandbox_nothing_runs_unless_allowed():
    code = """
from agent.sandbox import SandboxPolicy, run_sandboxed
from indexer.errors import SandboxError
try:
    run_sandboxed(["/bin/true"], SandboxPolicy())
except SandboxError as error:
    print(error, error.exit_code)
outcome = run_sandboxed(["/bin/true"], SandboxPolicy(unsafe=True))
print(outcome.code, outcome.layers)
"""
    refused, allowed = run_without_landlock(code, "/nowhere").stdout.splitlines()
    assert re.search(r"bwrap: not found; Landlock: ABI 0.*apt-get install bubblewrap.*--unsafe-no-sandbox", refused)
    assert refused.endswith(str(SandboxError.exit_code))
    assert allowed == "0 ('wall-clock',)"


def test_the_processor_time_of_a_program_ends_too():
    policy = SandboxPolicy(20, 512 << 20, 64 << 20, FOLDERS, cpu_seconds=1)
    outcome = run_sandboxed([PYTHON, "-I", "-B", "-c", "while True: pass"], policy)
    assert isinstance(outcome, Finished)
    assert outcome.code in {128 + signal.SIGKILL, 128 + signal.SIGXCPU}


@pytest.mark.skipif("memory-cgroup" not in cgroup_layers(), reason="no control group can be made here")
def test_memory_of_all_processes_together_is_limited():
    hold = "x = bytearray(b'1') * (60 << 20); import time; time.sleep(10)"
    start = f"subprocess.Popen([sys.executable, '-I', '-S', '-c', {hold!r}])"
    code = f"import os, subprocess, sys\nfor _ in range(6): {start}"
    outcome = run(code + "\nsys.exit(os.wait()[1] != 0)", memory_bytes=96 << 20)
    assert isinstance(outcome, OutOfMemory)


def _running(word: str) -> bool:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == [b"sleep", word.encode()]:
                return True
    return False


def _eventually(holds, seconds: float = 15) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True

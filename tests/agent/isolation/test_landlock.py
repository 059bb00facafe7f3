"""Where bubblewrap does not work, Landlock and a filter of system calls keep a program from the same things."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.isolation.landlock import why_no_landlock
from agent.sandbox import Finished, OutOfMemory, SandboxPolicy, TimedOut, run_sandboxed, why_no_bubblewrap

PYTHON = Path(sys.executable)
FOLDERS = (PYTHON.absolute().parent.parent, PYTHON.resolve().parent.parent)
pytestmark = pytest.mark.skipif(why_no_landlock() is not None, reason=f"not here: {why_no_landlock()}")


@pytest.fixture(autouse=True)
def _no_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PATH", "/nowhere")
    why_no_bubblewrap.cache_clear()
    yield
    why_no_bubblewrap.cache_clear()


def run(code: str, *, seconds: float = 20):
    return run_sandboxed([PYTHON, "-I", "-B", "-c", code], SandboxPolicy(seconds, 512 << 20, 64 << 20, FOLDERS))


def test_what_leads_out_is_closed(tmp_path):
    key = tmp_path / "key"
    key.write_text("secret")
    server = socket.create_server(("127.0.0.1", 0))
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "socket"))
    listening.listen()
    victim = subprocess.Popen(["/bin/sleep", "60"])
    attacks = {
        "read a key": f"open({str(key)!r}).read()",
        "list a folder": f"os.listdir({str(tmp_path)!r})",
        "write beside it": f"open({str(tmp_path / 'new')!r}, 'w')",
        "write to /tmp": "open('/tmp/tritonkb-attack', 'w')",
        "connect": f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 3)",
        "send a datagram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "a socket by its path": f"socket.socket(socket.AF_UNIX).connect({str(tmp_path / 'socket')!r})",
        "kill": f"os.kill({victim.pid}, 9)",
        "our environment": f"open('/proc/{os.getpid()}/environ').read()",
        "our memory": f"open('/proc/{os.getpid()}/mem', 'rb').read(1)",
        "the launcher's environment": "open(f'/proc/{os.getppid()}/environ').read()",
        "a namespace": "os.unshare(0x10000000) if hasattr(os, 'unshare') else ctypes_fails(272)",
        "more rights": "os.setuid(12345)",
    }
    code = "import ctypes, os, socket\ndef ctypes_fails(number):\n    if ctypes.CDLL(None).syscall(number, 0x10000000):"
    code += " raise OSError(number)\n"
    for name, attack in attacks.items():
        code += f"try:\n    {attack}\n    print({name!r})\nexcept OSError: pass\n"
    try:
        outcome = run(code + "open(os.environ['TMPDIR'] + '/mine', 'w').write('x')\nprint('end')")
        assert isinstance(outcome, Finished)
        assert outcome.output == "end\n"
        assert {"landlock", "seccomp", "no-network"} <= set(outcome.layers)
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()
        server.close()
        listening.close()


def test_the_environment_is_empty_and_the_scratch_folder_goes_with_the_program(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "secret")
    outcome = run("import os; print(os.environ.get('SECRET_KEY'), os.getcwd()); open('x', 'w')")
    assert isinstance(outcome, Finished)
    secret, folder = outcome.output.split()
    assert secret == str(None)
    assert not Path(folder).exists()


def test_memory_disk_and_time_end_it():
    assert isinstance(run("x = bytearray(1 << 30)"), OutOfMemory)
    full = run("import time\nfor i in range(12): open(str(i), 'wb').write(bytes(10 << 20))\ntime.sleep(5)")
    assert isinstance(full, Finished)
    assert "No space left" in full.output
    assert full.seconds < 5
    assert isinstance(run("while True: pass", seconds=0.5), TimedOut)


def test_a_daemon_ends_with_its_program():
    code = "import os, subprocess; print(subprocess.Popen(['/usr/bin/setsid', '/bin/sleep', '60']).pid)"
    outcome = run(code)
    assert isinstance(outcome, Finished)
    assert not Path(f"/proc/{int(outcome.output)}").exists()


def test_a_killed_caller_leaves_no_process(tmp_path):
    told = tmp_path / "pid"
    code = f"""
from pathlib import Path
from agent.sandbox import *
run_sandboxed(["/bin/sh", "-c", "echo $$; exec sleep 60"], SandboxPolicy(scratch=Path({str(tmp_path)!r})))
"""
    code = code.replace("echo $$;", f"echo $$ > {told};")
    caller = subprocess.Popen([sys.executable, "-c", code], env={"PATH": "/nowhere"})
    end = time.monotonic() + 20
    while not (told.exists() and told.read_text().strip()) and time.monotonic() < end:
        time.sleep(0.02)
    program = Path(f"/proc/{int(told.read_text())}")
    assert program.exists()
    caller.send_signal(signal.SIGKILL)
    caller.wait()
    while program.exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert not program.exists()

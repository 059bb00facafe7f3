import getpass
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.handoff.made import Made, note_made
from agent.handoff.remote import Remote, read_remote
from agent.handoff.take import take_bundle
from indexer.errors import BadInput, ToolchainError
from tests.agent.handoff.bundles import ENDS, FAST, RAISES, UNWRITTEN, WRONG, make_bundle

pytestmark = pytest.mark.slow  # a process a job, each with PyTorch in it


def _run(folder: Path, *options: str) -> str:
    command = [sys.executable, "run.py", "--jobs", "1", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=280).stdout


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRITONKB_HOME", str(tmp_path / "home"))
    return tmp_path


def test_a_bundle_finds_the_right_and_fastest_candidate_whatever_the_others_do(home: Path) -> None:
    folder = home / "bundle"
    plan = make_bundle(folder, wrong=WRONG, ends=ENDS, raises=RAISES, unwritten=UNWRITTEN, fast=FAST)
    note_made(Made(plan, str(folder), {"slow": ""}))
    _run(folder, "--no-search", "--seconds", "0.5")  # time for the first job only
    doc, _ = take_bundle(folder)
    assert doc.kernels[0].initial is not None
    assert doc.kernels[0].reason == "not measured within the time given"
    _run(folder)  # goes on where it ended
    doc, _ = take_bundle(folder)
    assert (folder / "results.jsonl").read_text().count('"job": "initial:slow"') == 1
    kernel = doc.kernels[0]
    assert kernel.best_note == "fast"
    assert kernel.speedup is not None
    assert kernel.speedup > 2
    assert "the process ended" in kernel.failed["c02"]
    assert "ZeroDivisionError" in kernel.failed["c03"]
    assert kernel.library is not None


def test_a_changed_bundle_does_not_run(home: Path) -> None:
    folder = home / "bundle"
    make_bundle(folder, fast=FAST)
    (folder / "kernels" / "slow" / "c01.py").write_text(WRONG)
    ended = subprocess.run(
        [sys.executable, "run.py"], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 2
    assert "c01.py" in ended.stderr


@pytest.fixture
def server(home: Path) -> Iterator[Path]:
    """Start an SSH server of this machine on a free port; return the configuration to reach it as `bundles`."""
    sshd = shutil.which("sshd") or shutil.which("/usr/sbin/sshd")
    if sshd is None:
        pytest.skip("no sshd here: apt-get install openssh-server")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home / name], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (home / "authorized").write_text((home / "user.pub").read_text())
    (home / "known").write_text(f"[127.0.0.1]:{port} " + (home / "host.pub").read_text())
    (home / "config").write_text(
        f"Host bundles\n HostName 127.0.0.1\n Port {port}\n User {getpass.getuser()}\n IdentityFile {home / 'user'}\n"
        f" IdentitiesOnly yes\n UserKnownHostsFile {home / 'known'}\n GlobalKnownHostsFile /dev/null\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    options = [f"AuthorizedKeysFile={home / 'authorized'}", "StrictModes=no", "UsePAM=no", f"PidFile={home / 'pid'}"]
    flags = [part for option in options for part in ("-o", option)]
    command = [sshd, "-D", "-f", "/dev/null", "-p", str(port), "-h", str(home / "host"), *flags]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield home / "config"
    process.terminate()
    process.wait()


def test_a_bundle_runs_over_ssh_and_its_results_come_back(home: Path, server: Path) -> None:
    folder = home / "bundle"
    plan = make_bundle(folder, fast=FAST)
    note_made(Made(plan, str(folder), {"slow": ""}))
    Remote("bundles", "", sys.executable, server).run(folder, plan, 200.0)
    doc, _ = take_bundle(folder)
    assert doc.kernels[0].best_note == "fast"


def test_a_host_whose_key_is_another_than_the_known_one_gets_nothing(home: Path, server: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home / "other"], check=True)
    name = (home / "known").read_text().split()[0]
    (home / "known").write_text(f"{name} " + (home / "other.pub").read_text())
    folder = home / "bundle"
    plan = make_bundle(folder, fast=FAST)
    with pytest.raises(ToolchainError) as refused:
        Remote("bundles", "", sys.executable, server).run(folder, plan, 10.0)
    assert "key" in str(refused.value.note.values["reason"]).lower()


@pytest.mark.parametrize("address", ["host", "http://host", "ssh://", "ssh://-oProxyCommand=x", "ssh://a b"])
def test_an_address_of_another_form_is_refused(address: str) -> None:
    with pytest.raises(BadInput):
        read_remote(address)

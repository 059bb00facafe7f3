"""Hostile candidates: each is rejected by the scan, and what its host does, were it run, is stopped or found.

A candidate is the original with a file of `candidates` after it. The file says what is expected: `scan`, the rule that
rejects its text; `run`, the verdict (and the reason's key) of the checks that run it, with the scan left out. `right`
is expected where the sandbox makes an attack come to nothing; an attack that has its way says so in what it raises.
"""

import contextlib
import dataclasses
import os
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from agent.records import KernelSource
from agent.sandbox import SandboxPolicy
from agent.toolchain.client import Worker
from agent.toolchain.install import find_ascend
from agent.toolchain.targets import find_target
from agent.verify.cheats import find_cheats
from agent.verify.check import Checks, Verifier
from agent.verify.llvm import find_llvm
from indexer.messages import Message, render

HERE = Path(__file__).parent
ORIGINAL = (HERE / "original.py").read_text(encoding="utf-8")
NAMES = sorted(path.stem for path in (HERE / "candidates").glob("*.py"))
SECRET, ABSTRACT, SLEEP = "a-secret-that-no-one-else-has", "tritonkb-attack-socket", "4949"
# Long enough for every case of an honest host here, short enough that endless ones do not cost minutes.
SECONDS = 4.0
needs_tools = pytest.mark.skipif(find_llvm() is None, reason="LLVM 19 is not installed")


@dataclass(frozen=True)
class Attack:
    """One candidate, with what is expected of the scan (None: nothing) and of the checks that run it."""

    name: str
    text: str
    scan: str | None
    verdict: str
    key: str


def read_attack(name: str, **places: object) -> Attack:
    text = (HERE / "candidates" / f"{name}.py").read_text(encoding="utf-8")
    scan, run = (re.search(rf"^# {what}: (.*)$", text, re.MULTILINE)[1] for what in ("scan", "run"))
    verdict, _, key = run.partition(" ")
    for place, value in places.items():
        text = text.replace(f"@{place.upper()}@", str(value))
    return Attack(name, f"{ORIGINAL}\n\n{text}", None if scan == "-" else scan, verdict, key)


def test_each_text_is_rejected_by_its_rule():
    missed = {}
    for attack in (read_attack(name, port=1) for name in NAMES):
        rules = {cheat.rule for cheat in find_cheats(ORIGINAL, attack.text)}
        if (attack.scan is None and rules) or (attack.scan is not None and attack.scan not in rules):
            missed[attack.name] = rules
    assert missed == {}


def test_what_the_scan_lets_pass_the_run_does_not():
    attacks = [read_attack(name) for name in NAMES]
    assert len(attacks) >= 40
    assert not [attack.name for attack in attacks if attack.scan is None and attack.verdict in {"right", "any"}]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """A machine with something to steal and to break: a key, sockets, a secret in the environment."""
    folder = tmp_path_factory.mktemp("host")
    (folder / "id_ed25519").write_text(SECRET)
    heard: list[bytes] = []
    tcp = socket.create_server(("127.0.0.1", 0))
    port = tcp.getsockname()[1]
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", port))
    by_path, abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    by_path.bind(str(folder / "socket"))
    abstract.bind(f"\0{ABSTRACT}")
    for server in (by_path, abstract):
        server.listen()
    udp.settimeout(0.2)

    def listen() -> None:
        while udp.fileno() >= 0:
            with contextlib.suppress(OSError):  # nothing came, or the test is over
                heard.append(udp.recv(64))

    threading.Thread(target=listen, daemon=True).start()
    os.environ["ATTACKED_SECRET"] = SECRET
    named = {"port": port, "folder": folder, "abstract": ABSTRACT, "secret": SECRET, "sleep": SLEEP}
    yield SimpleNamespace(names=named, folder=folder, heard=heard)
    for server in (tcp, udp, by_path, abstract):
        server.close()
    os.environ.pop("ATTACKED_SECRET", None)


@pytest.fixture(scope="module")
def verifier(places: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verifier]:
    policy = SandboxPolicy(SECONDS, memory_bytes=1 << 30, scratch_bytes=64 << 20)
    with Worker(find_ascend(), policy) as worker:
        scratch = tmp_path_factory.mktemp("scratch")
        bench = SimpleNamespace(
            worker=worker, install=find_ascend(), target=find_target("ascend910b3"), scratch=scratch
        )
        with Verifier(bench) as made:
            yield made


def keys(note: Message) -> Iterator[str]:
    yield note.key
    for value in note.values.values():
        if isinstance(value, Message):
            yield from keys(value)


def attacked(verifier: Verifier, places: SimpleNamespace, name: str) -> Checks:
    """Run one candidate without the scan; nothing of the machine may have changed."""
    attack = read_attack(name, **places.names)
    original = KernelSource(Path("/home/user/scale.py"), ORIGINAL)
    before = sorted(places.folder.iterdir())
    checks = verifier.check_by(verifier._linalg, original, dataclasses.replace(original, text=attack.text))
    assert isinstance(checks, Checks), render(checks.reason, "en")
    told = " ".join(render(reason, lang) for reason in checks.reasons for lang in ("en", "zh"))
    assert "ATTACK WORKED" not in told
    assert sorted(places.folder.iterdir()) == before
    assert places.heard == []
    assert not left_running()
    assert attack.verdict in {checks.verdict, "any"}, told
    assert not attack.key or attack.key in {key for reason in checks.reasons for key in keys(reason)}, told
    assert {"no-network", "seccomp"} <= set(checks.sandbox) or checks.verdict == "wrong"
    return checks


def left_running() -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if SLEEP.encode() in words:
                found.append(int(entry.name))
    return found


@needs_tools
@pytest.mark.slow
@pytest.mark.toolchain
@pytest.mark.parametrize("name", NAMES)
def test_the_run_is_stopped_or_found(verifier, places, name):
    checks = attacked(verifier, places, name)
    print(f"| {name} | {read_attack(name).scan or '-'} | {checks.verdict} | {said(checks)} |")


@needs_tools
@pytest.mark.slow
@pytest.mark.toolchain
def test_an_honest_candidate_is_right(verifier, places):
    honest = ORIGINAL.replace("BLOCK=256", "BLOCK=128").replace("cdiv(n, 256)", "cdiv(n, 128)")
    source = KernelSource(Path("/home/user/scale.py"), ORIGINAL)
    assert verifier.check(source, dataclasses.replace(source, text=honest)).verdict == "right"


def said(checks: Checks) -> str:
    return "; ".join(dict.fromkeys(key for reason in checks.reasons for key in keys(reason)))

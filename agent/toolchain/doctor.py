"""What works here, what does not, and the command that fixes it: one function a check, listed in `CHECKS`."""

from __future__ import annotations

import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from agent import knowledge
from agent.matching import mending_command
from agent.sandbox import sandbox_layers, why_no_bubblewrap, why_no_sandbox
from agent.toolchain.backend_stub import write_stub
from agent.toolchain.commits import read_commits, read_versions
from agent.toolchain.cuda_install import find_cuda, read_cuda_pins
from agent.toolchain.install import AscendInstall, find_ascend, private_environment, read_pins
from agent.toolchain.pinned import pinned_versions
from agent.toolchain.provision import read_installed
from agent.verify.llvm import missing_tools
from indexer.embed import DEFAULT_EMBEDDER, load_embedder
from indexer.errors import SandboxError, StoreError, ToolchainError
from indexer.home import data_home
from indexer.messages import Message, message

INSTALL_TOOLCHAIN = "tritonkb toolchain install ascend"
INSTALL_CUDA = "tritonkb toolchain install cuda"
REINSTALL_TOOLCHAIN = f"tritonkb toolchain remove ascend && {INSTALL_TOOLCHAIN}"
INSTALL_SANDBOX = "sudo apt-get install bubblewrap"
# Ubuntu 23.10 and newer let only programs with a profile make user namespaces.
ALLOW_NAMESPACES = "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
INSTALL_CPU_TOOLS = "sudo apt-get install mlir-19-tools libmlir-19 clang-19"
# The private environment (1.7 GB, twice while it is replaced) and an index of the compilers' sources.
NEEDED_BYTES = 4_000_000_000
# The pins that the compilers themselves are.
_COMPILERS = ("triton-ascend", "ascendnpu-ir")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the checks look at besides the machine: the store and embedder that the settings name."""

    store: str | None
    embedder: str | None


@dataclass(frozen=True, slots=True)
class Check:
    """One answer. `fix` is the command that repairs it (empty: nothing to do); `exit_code` 0 marks an optional part."""

    name: str
    ok: bool
    detail: Message
    fix: str = ""
    exit_code: int = 0


def examine(surroundings: Surroundings) -> list[Check]:
    """Make all checks, in the order of the table."""
    return [check(surroundings) for check in CHECKS]


PROFILERS = ("msprof", "msopprof", "ncu", "proton")


def worst_exit_code(checks: list[Check]) -> int:
    """Return 0 when nothing essential is missing, else the code of the first that is."""
    return next((check.exit_code for check in checks if not check.ok and check.exit_code), 0)


def check_python(_surroundings: Surroundings) -> Check:
    """Compare our own dependencies with what this release pins."""
    wrong = []
    for name, pin in pinned_versions(metadata.requires("tritonkb") or (), platform.python_version()).items():
        if (found := _installed_version(name)) not in {pin, None}:
            wrong.append(f"{name} {found} != {pin}")
    versions = {"python": platform.python_version(), "tritonkb": metadata.version("tritonkb")}
    if wrong:
        return _lacking("python", message("doctor.python_other", **versions, wrong=", ".join(wrong)), "make setup")
    return _fine("python", message("doctor.python", **versions))


def check_toolchain(_surroundings: Surroundings) -> Check:
    """Find the compilers' environment and compare its versions with the pins, or with what was chosen instead."""
    try:
        found = find_ascend()
    except ToolchainError as error:
        return _lacking("toolchain", error.note, INSTALL_TOOLCHAIN, ToolchainError.exit_code)
    versions = read_versions(found.site)
    chosen = _chosen(found)
    pins = pinned_versions(read_pins().requirements, read_pins().pythons[0])
    pinned = {name: chosen.get(name, pins[name]) for name in _COMPILERS}
    wrong = [f"{name} {versions.get(name)} != {pin}" for name, pin in pinned.items() if versions.get(name) != pin]
    if wrong:
        return _lacking("toolchain", message("doctor.toolchain_other", wrong=", ".join(wrong)), REINSTALL_TOOLCHAIN)
    shown = {"versions": ", ".join(f"{name} {versions.get(name)}" for name in (*pinned, "torch"))}
    odd = [f"{name} {version}" for name, version in chosen.items() if version != pins[name]]
    odd += [str(found.build)] if found.build else []
    if odd:
        return _fine("toolchain", message("doctor.chosen", python=found.python, chosen=", ".join(odd), **shown))
    return _fine("toolchain", message("doctor.toolchain", python=found.python, **shown))


def check_compilers(_surroundings: Surroundings) -> Check:
    """Run the compilers and compare the commits that they name with those of their wheel, if they are a wheel's."""
    try:
        found = find_ascend()
    except ToolchainError:
        return _lacking("compilers", message("doctor.needs_toolchain"), INSTALL_TOOLCHAIN, ToolchainError.exit_code)
    try:
        commits = read_commits(found)
    except ToolchainError as error:
        return _lacking("compilers", error.note, INSTALL_TOOLCHAIN, ToolchainError.exit_code)
    version = read_versions(found.site).get("ascendnpu-ir", "")
    known = {name: rows.get(version, "") for name, rows in read_pins().sources.items()}
    wrong = [f"{name} {commit}" for name, commit in commits.items() if not known[name].startswith(commit)]
    if wrong and version in read_pins().sources["ascendnpu-ir"] and found.build is None:
        return _lacking("compilers", message("doctor.compilers_other", wrong=", ".join(wrong)), REINSTALL_TOOLCHAIN)
    shown = ", ".join(f"{name}@{commit}" for name, commit in commits.items())
    return _fine("compilers", message("doctor.compilers", commits=shown))


def check_cuda(_surroundings: Surroundings) -> Check:
    """Find upstream Triton for CUDA targets; it is needed for these only."""
    try:
        found = find_cuda()
    except ToolchainError as error:
        return _lacking("cuda", error.note, INSTALL_CUDA)
    versions, tested = read_versions(found.site), read_cuda_pins().tested
    shown = {"python": found.python, "version": versions.get("triton", "?"), "tested": ", ".join(tested)}
    if versions.get("triton") not in tested:
        return _fine("cuda", message("doctor.cuda_untested", **shown))
    return _fine("cuda", message("doctor.cuda", **shown))


def check_backend(_surroundings: Surroundings) -> Check:
    """Run the stand-in for the closed back end as the compilers do; it needs a folder that programs may run from."""
    with tempfile.TemporaryDirectory(prefix="tritonkb-") as folder:
        environment = write_stub(Path(folder))
        result = Path(folder) / "kernel.o"
        try:
            subprocess.run(["hivmc", "module", "-o", result], env=environment, check=True, timeout=20)
        except (OSError, subprocess.SubprocessError) as error:
            note = message("doctor.backend_blocked", folder=tempfile.gettempdir(), reason=error)
            return _lacking("backend", note, "export TMPDIR=~/tmp", ToolchainError.exit_code)
    return _fine("backend", message("doctor.backend"))


def check_sandbox(_surroundings: Surroundings) -> Check:
    """Run a program in the sandbox."""
    reason, weaker = why_no_sandbox(), why_no_bubblewrap()
    if reason is None:
        key = "doctor.sandbox" if weaker is None else "doctor.sandbox_landlock"
        return _fine("sandbox", message(key, layers=", ".join(sandbox_layers()), reason=weaker))
    fix = INSTALL_SANDBOX if "not found" in reason else ALLOW_NAMESPACES
    return _lacking("sandbox", message("doctor.no_sandbox", reason=reason), fix, SandboxError.exit_code)


def check_cpu_tools(_surroundings: Surroundings) -> Check:
    """Look for the LLVM tools that run a compiled candidate on the CPU; without them the interpreter does."""
    missing = missing_tools()
    if missing:
        return _lacking("cpu_tools", message("doctor.no_cpu_tools", missing=", ".join(missing)), INSTALL_CPU_TOOLS)
    return _fine("cpu_tools", message("doctor.cpu_tools"))


def check_embedder(surroundings: Surroundings) -> Check:
    """Embed one sentence."""
    name = surroundings.embedder or DEFAULT_EMBEDDER
    try:
        dimension = load_embedder(name).embed(["one vector instruction covers 256 bytes"]).shape[1]
    except StoreError as error:
        return _lacking("embedder", error.note, "make setup", StoreError.exit_code)
    return _fine("embedder", message("doctor.embedder", name=name, dimension=dimension))


def check_index(surroundings: Surroundings) -> Check:
    """Look for an index made from the compilers that are installed."""
    try:
        store = knowledge.store_folder(surroundings.store)
        corpora = knowledge.status(store)
    except StoreError as error:
        # Nothing that we could run brings back a server that does not answer.
        return _lacking("index", error.note, str(error.note.values.get("command", "")), StoreError.exit_code)
    stale = [corpus for corpus in corpora if corpus.matches_toolchain is False]
    command = mending_command(stale, store)
    shown = ", ".join(f"{c.mark.name} {c.mark.commit[:12]} != {c.expected[:12]}" for c in stale)
    if command:
        return _lacking("index", message("doctor.index_stale", corpora=shown), command)
    held = ", ".join(f"{c.mark.name} ({c.mark.passages})" for c in corpora if c not in stale)
    if stale:
        return _fine("index", message("doctor.index_not_public", corpora=held, others=shown))
    return _fine("index", message("doctor.index", corpora=held))


def check_disk(surroundings: Surroundings) -> Check:
    """Look at the space where everything is kept."""
    folder = data_home()
    if surroundings.store and "://" not in surroundings.store:
        folder = Path(surroundings.store)
    existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    shown = {"folder": folder, "gb": f"{free / 1e9:.1f}"}
    if free < NEEDED_BYTES:
        return _lacking("disk", message("doctor.disk_low", **shown), f"df -h {existing}", StoreError.exit_code)
    return _fine("disk", message("doctor.disk", **shown))


def check_profilers(_surroundings: Surroundings) -> Check:
    """Say which profilers are here; their files are read either way, which no device has tested."""
    here = [name for name in PROFILERS if shutil.which(name)]
    return _fine("profilers", message("doctor.profilers", here=", ".join(here) or "-"))


def _chosen(found: AscendInstall) -> dict[str, str]:
    """Return the version that the user chose by name, where this is the private environment."""
    installed = read_installed(private_environment())
    if installed is None or not installed.chosen or found.python != private_environment() / "bin" / "python":
        return {}
    return {"ascendnpu-ir": installed.chosen}


def _fine(name: str, detail: Message) -> Check:
    return Check(name, ok=True, detail=detail)


def _lacking(name: str, detail: Message, fix: str, exit_code: int = 0) -> Check:
    return Check(name, ok=False, detail=detail, fix=fix, exit_code=exit_code)


def _installed_version(name: str) -> str | None:
    try:
        return metadata.version(name).partition("+")[0]
    except metadata.PackageNotFoundError:
        return None


CHECKS: tuple[Callable[[Surroundings], Check], ...] = (
    check_python,
    check_toolchain,
    check_compilers,
    check_cuda,
    check_backend,
    check_sandbox,
    check_cpu_tools,
    check_embedder,
    check_index,
    check_disk,
    check_profilers,
)

"""The private environment: made whole or not at all, found fast, and honest about what went wrong."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from filelock import FileLock

from agent.toolchain.commits import Expected, expected_commits, read_commits, read_versions
from agent.toolchain.install import find_ascend, inspect_environment, private_environment, read_pins
from agent.toolchain.pip import install_requirements, make_environment, run_step
from agent.toolchain.provision import (
    Choice,
    chosen_pins,
    exact_requirements,
    install_ascend,
    read_installed,
    remove_ascend,
)
from agent.toolchain.pythons import find_python
from agent.toolchain.torch_index import choose_torch_index
from indexer.corpus import read_manifest
from indexer.errors import BadInput, ToolchainError
from indexer.messages import Message

SCRIPT = Path(sysconfig.get_path("scripts")) / "tritonkb"
NO_INDEX = {"PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": "", "PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1"}


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRITONKB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRITONKB_TOOLCHAIN_PYTHON", raising=False)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an empty virtual environment."""
    folder = tmp_path_factory.mktemp("venv") / "environment"
    make_environment(Path(sys.executable), folder)
    return folder / "bin" / "python"


def _old_environment() -> Path:
    """Leave what an earlier release installed: complete in form, with other requirements."""
    link = private_environment()
    folder = link.with_name("ascend.d") / "old"
    site = folder / f"lib/python3.{sys.version_info.minor}/site-packages"
    for tool in ("triton/backends/ascend/triton-adapter-opt", "ascendnpuir/bin/bishengir-compile"):
        (site / tool).parent.mkdir(parents=True)
        (site / tool).touch()
    (folder / "bin").mkdir()
    (folder / "bin/python").touch()
    (folder / "pyvenv.cfg").touch()
    record = {"python": "3.11.0", "requirements": ["triton-ascend==3.1.0"], "versions": {}, "commits": {}}
    (folder / "tritonkb.json").write_text(json.dumps(record))
    link.symlink_to(folder.relative_to(link.parent))
    return folder


def _wheel(folder: Path, name: str, content: bytes = b"") -> None:
    """Write the smallest wheel that pip takes."""
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}/__init__.py": content,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")


def test_a_missing_toolchain_tells_the_command_that_installs_it() -> None:
    with pytest.raises(ToolchainError, match="tritonkb toolchain install ascend"):
        find_ascend()


def test_an_environment_without_the_compilers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="lacks triton-ascend"):
        inspect_environment(Path(sys.executable))


def test_the_private_environment_is_found_without_starting_a_process() -> None:
    _old_environment()
    assert find_ascend().python == private_environment() / "bin" / "python"


def test_the_environment_the_user_names_wins_over_the_private_one(monkeypatch: pytest.MonkeyPatch) -> None:
    _old_environment()
    monkeypatch.setenv("TRITONKB_TOOLCHAIN_PYTHON", "/nowhere/python")
    with pytest.raises(ToolchainError, match="/nowhere/python"):
        find_ascend()


def test_a_failed_install_leaves_the_old_environment_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    old = _old_environment()
    for name, value in {**NO_INDEX, "PIP_NO_INDEX": "1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ToolchainError, match="no wheel of triton-ascend"):
        install_ascend(lambda _note: None)
    assert private_environment().resolve() == old
    assert list(old.parent.iterdir()) == [old]


def test_what_a_step_imports_is_there_as_byte_code_even_where_the_environment_forbids_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported.py").write_text("")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    run_step([sys.executable, "-c", "import imported"])
    assert list(tmp_path.glob("__pycache__/imported.*.pyc"))


@pytest.mark.slow
def test_no_network_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**NO_INDEX, "PIP_RETRIES": "1", "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ToolchainError, match="cannot reach its package index"):
        install_ascend(lambda _note: None)
    assert not private_environment().exists()


@pytest.mark.slow
def test_a_killed_install_leaves_the_old_environment_and_the_next_one_sweeps(tmp_path: Path) -> None:
    old = _old_environment()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        environment = {**os.environ, **NO_INDEX, "PIP_INDEX_URL": url}
        process = subprocess.Popen([SCRIPT, "toolchain", "install"], env=environment, stderr=subprocess.PIPE)
        silent.settimeout(60)
        silent.accept()  # pip is asking: the new environment stands half-made
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
    assert private_environment().resolve() == old
    assert len(list(old.parent.iterdir())) == 2
    remove_ascend(lambda _note: None)
    assert not private_environment().exists()
    assert list(old.parent.iterdir()) == []


@pytest.mark.slow
def test_an_interrupted_install_takes_pip_with_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        environment = {**os.environ, **NO_INDEX, "PIP_INDEX_URL": url}
        process = subprocess.Popen([SCRIPT, "toolchain", "install"], env=environment, stderr=subprocess.PIPE)
        silent.settimeout(60)
        connection, _ = silent.accept()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        connection.settimeout(10)
        while connection.recv(4096):  # ends when pip's end of the connection is closed
            pass
    assert process.returncode == 130
    assert b"run the same command again" in said
    assert list((tmp_path / "home/toolchain/ascend.d").iterdir()) == []


@pytest.mark.slow
def test_two_installs_at_once_wait_for_each_other() -> None:
    private_environment().parent.mkdir(parents=True)
    with FileLock(private_environment().parent / "ascend.lock"):
        process = subprocess.Popen([SCRIPT, "toolchain", "remove"], stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        assert "waiting for it" in process.stderr.readline()
    process.communicate(timeout=30)
    assert process.returncode == 0


@pytest.mark.slow
def test_a_full_disk_exits_3_and_says_what_to_free(tmp_path: Path) -> None:
    if not shutil.which("bwrap"):
        pytest.skip("needs bubblewrap to make a small disk")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    _wheel(wheels, "large", os.urandom(3_000_000))
    code = (
        "from pathlib import Path; from agent.toolchain.pip import install_requirements, make_environment\n"
        "from indexer.errors import TritonkbError\n"
        "import sys; make_environment(Path(sys.executable), Path('/mnt/e'))\n"
        "try: install_requirements(Path('/mnt/e/bin/python'), ['large'], None, lambda note: None)\n"
        "except TritonkbError as error: print(error.exit_code, error)"
    )
    environment = {**os.environ, **NO_INDEX, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    small = ["--size", "1000000", "--tmpfs", "/mnt"]
    command = ["bwrap", "--dev-bind", "/", "/", *small, sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith("3 the disk is full"), done.stdout + done.stderr


def test_requirements_come_from_the_index_the_user_configured(
    python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _wheel(tmp_path, "mirrored")
    for name, value in {**NO_INDEX, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    told: list[Message] = []
    install_requirements(python, ["mirrored==1.0"], None, told.append)
    site = next(python.parent.parent.glob("lib/python3.*/site-packages"))
    assert read_versions(site)["mirrored"] == "1.0"
    assert [note.key for note in told] == ["toolchain.unpacking"]


def test_a_python_that_the_wheels_do_not_exist_for_is_refused() -> None:
    with pytest.raises(BadInput, match=r"need 3\.1"):
        find_python(("3.1",), Path(sys.executable))


def test_our_own_python_is_taken_when_it_fits() -> None:
    version = f"3.{sys.version_info.minor}"
    assert find_python((version,)) == Path(sys.executable)


def test_without_a_fitting_python_the_error_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match=r"uv python install 3\.1"):
        find_python(("3.1",))


def test_a_toolchain_of_another_name_is_bad_input() -> None:
    done = subprocess.run([SCRIPT, "toolchain", "install", "abacus"], capture_output=True, text=True, check=False)
    assert done.returncode == BadInput.exit_code
    assert "abacus" in done.stderr


@pytest.mark.parametrize("newer_first", [True, False])
def test_the_preferred_python_is_taken_wherever_it_stands_on_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, newer_first: bool
) -> None:
    for version in ("3.1", "3.2"):
        program = tmp_path / version / ("python3" if (version == "3.2") == newer_first else "python")
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho {version}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/3.1:{tmp_path}/3.2")
    assert find_python(("3.2", "3.1")).parent.name == "3.2"
    assert find_python(("3.1", "3.2")).parent.name == "3.1"


@pytest.mark.parametrize(("python", "numpy"), [("3.10.13", "2.2.6"), ("3.11.7", "2.3.5")])
def test_an_environment_is_asked_for_what_is_pinned_for_its_python(python: str, numpy: str) -> None:
    asked = exact_requirements(read_pins(), python)
    assert f"numpy=={numpy}" in asked
    assert [requirement for requirement in asked if ";" in requirement] == []
    assert len(asked) == len({requirement.partition("==")[0] for requirement in asked})


def test_what_was_installed_for_a_python_counts_as_there(tmp_path: Path) -> None:
    record = private_environment().with_name("ascend.d") / "old/tritonkb.json"
    _old_environment()
    table = {"python": "3.10.13", "requirements": exact_requirements(read_pins(), "3.10.13")}
    record.write_text(json.dumps({**table, "versions": {}, "commits": {}}))
    installed, made_now = install_ascend([].append)
    assert (installed.python, made_now) == ("3.10.13", False)


def test_the_pins_name_exact_versions() -> None:
    assert all("==" in requirement for requirement in read_pins().requirements)
    pinned = {
        name: version for name, _, version in (r.partition("==") for r in exact_requirements(read_pins(), "3.11.7"))
    }
    sources = read_pins().sources
    wheels = {"ascendnpu-ir": "ascendnpu-ir", "ascendnpu-ir-a5": "ascendnpu-ir", "triton-ascend": "triton-ascend"}
    assert all(len(sources[corpus][pinned[wheel]]) == 40 for corpus, wheel in wheels.items())


def test_a_manifest_names_the_commit_of_the_pinned_wheel() -> None:
    newest = {corpus: next(iter(rows.values())) for corpus, rows in read_pins().sources.items()}
    assert {corpus: read_manifest(corpus).commit for corpus in newest} == newest


def _build(folder: Path, said: str = "bishengir-opt 9.9.9 (/src/bishengir 0123456789ab 2026-01-01)") -> Path:
    """Leave a build of the compilers that says who it is."""
    folder.mkdir()
    for tool in ("bishengir-compile", "bishengir-opt"):
        (folder / tool).write_text(f"#!/bin/sh\necho '{said}'\n")
        (folder / tool).chmod(0o755)
    return folder


def _pinned_environment(version: str = "1.2.0") -> Path:
    """Leave an environment as the pins want it, whose own compilers say that they are 1.2.0."""
    folder = _old_environment()
    site = next(folder.glob("lib/python3.*/site-packages"))
    for tool, commit in (("bishengir-opt", "8796a8ac1508"), ("bishengir-opt-a5", "f9d978b14443")):
        program = site / "ascendnpuir/bin" / tool
        program.write_text(f"#!/bin/sh\necho 'bishengir-opt 1.2.0 (/src/bishengir {commit} 2026-07-29)'\n")
        program.chmod(0o755)
    asked = exact_requirements(chosen_pins(read_pins(), Choice(version)), "3.11.7")
    record = {"python": "3.11.7", "requirements": asked, "versions": {}, "commits": {}}
    (folder / "tritonkb.json").write_text(json.dumps(record))
    return folder


class TestChoice:
    """Another wheel, or compilers of the user's own."""

    def test_the_users_build_is_used_and_named_by_its_commit(self, tmp_path: Path) -> None:
        _pinned_environment()
        build = _build(tmp_path / "bin")
        installed, made = install_ascend(_quiet, choice=Choice(build=build))
        assert (made, installed.build) == (True, str(build))
        assert installed.commits == {"ascendnpu-ir": "0123456789ab", "ascendnpu-ir-a5": "f9d978b14443"}
        assert find_ascend().bishengir("bishengir-opt") == build / "bishengir-opt"
        assert find_ascend().bishengir("bishengir-opt-a5").parent.name == "bin", "what it lacks is the wheel's"
        assert expected_commits(find_ascend())["ascendnpu-ir"] == Expected("0123456789ab", is_whole=False)
        assert install_ascend(_quiet, choice=Choice(build=build))[1] is False

    def test_the_next_install_without_it_goes_back(self, tmp_path: Path) -> None:
        _pinned_environment()
        install_ascend(_quiet, choice=Choice(build=_build(tmp_path / "bin")))
        installed, made = install_ascend(_quiet)
        assert (made, installed.build, installed.commits["ascendnpu-ir"]) == (True, "", "8796a8ac1508")
        assert find_ascend().build is None

    def test_a_build_made_anew_in_its_folder_is_asked_again(self, tmp_path: Path) -> None:
        _pinned_environment()
        build = _build(tmp_path / "bin")
        install_ascend(_quiet, choice=Choice(build=build))
        shutil.rmtree(build)
        _build(build, "bishengir-opt 9.9.9 (/src/bishengir ba9876543210 2026-01-02)")
        assert expected_commits(find_ascend())["ascendnpu-ir"].commit == "ba9876543210"

    def test_a_build_that_went_is_told_with_the_way_back(self, tmp_path: Path) -> None:
        _pinned_environment()
        build = _build(tmp_path / "bin")
        install_ascend(_quiet, choice=Choice(build=build))
        shutil.rmtree(build)
        with pytest.raises(ToolchainError, match=r"no longer in .*toolchain install ascend"):
            find_ascend()
        install_ascend(_quiet)
        assert find_ascend().build is None

    def test_a_build_that_does_not_say_its_commit_can_be_used(self, tmp_path: Path) -> None:
        _pinned_environment()
        install_ascend(_quiet, choice=Choice(build=_build(tmp_path / "bin", "bishengir-opt, a build of mine")))
        assert "ascendnpu-ir" not in expected_commits(find_ascend())

    def test_a_folder_without_the_compilers_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match="has no bishengir-compile; --bin takes"):
            install_ascend(_quiet, choice=Choice(build=tmp_path))

    def test_a_build_for_another_machine_is_refused(self, tmp_path: Path) -> None:
        build = _build(tmp_path / "bin")
        (build / "bishengir-opt").write_bytes(b"\x7fELF of no machine")
        with pytest.raises(BadInput, match="does not run"):
            install_ascend(_quiet, choice=Choice(build=build))

    def test_another_wheel_changes_only_its_own_requirement(self) -> None:
        plain, chosen = read_pins(), chosen_pins(read_pins(), Choice("1.1.0"))
        assert set(chosen.requirements) ^ set(plain.requirements) == {"ascendnpu-ir==1.1.0", "ascendnpu-ir==1.2.0"}

    def test_another_wheel_that_is_there_is_taken_and_recorded(self) -> None:
        _pinned_environment("1.1.0")
        installed, _ = install_ascend(_quiet, choice=Choice("1.1.0"))
        assert installed.chosen == "1.1.0"

    @pytest.mark.parametrize("version", ["latest", "1.2.0; import os", "--index-url=x", ""])
    def test_what_is_no_version_is_refused(self, version: str) -> None:
        with pytest.raises(BadInput, match="is no version"):
            install_ascend(_quiet, choice=Choice(version))


def _quiet(_note: Message) -> None:
    """Say nothing."""


@pytest.mark.toolchain
class TestInstalled:
    """Against the toolchain of this machine: the private one of the user, or the one that is named."""

    @pytest.fixture(autouse=True)
    def _users_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.undo()

    def test_the_compilers_name_the_pinned_commits(self) -> None:
        install = find_ascend()
        version = read_versions(install.site)["ascendnpu-ir"]
        commits = read_commits(install)
        assert commits == {
            name: read_pins().sources[name][version][:12] for name in ("ascendnpu-ir", "ascendnpu-ir-a5")
        }

    def test_a_second_install_says_at_once_that_it_is_there(self) -> None:
        if read_installed(private_environment()) is None:
            pytest.skip("no private environment here, only one that TRITONKB_TOOLCHAIN_PYTHON names")
        done = subprocess.run([SCRIPT, "toolchain", "install", "--json"], capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["installed_now"] is False
        assert "unpacking" not in done.stderr

    def test_list_shows_versions_and_commits(self) -> None:
        done = subprocess.run([SCRIPT, "toolchain", "list", "--json"], capture_output=True, text=True, check=True)
        row = json.loads(done.stdout)["toolchains"][0]
        assert row["versions"]["triton-ascend"] == "3.2.0"
        assert row["commits"]["ascendnpu-ir"] == read_pins().sources["ascendnpu-ir"]["1.2.0"][:12]


class TestTorchIndex:
    """Where torch's CPU build comes from."""

    def test_the_user_names_an_index_or_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TRITONKB_TORCH_INDEX", "https://mirror.example/cpu")
        assert choose_torch_index() == "https://mirror.example/cpu"
        assert choose_torch_index("https://other.example/cpu") == "https://other.example/cpu"
        assert choose_torch_index("none") is None

    def test_a_pip_with_sources_of_its_own_is_left_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("TRITONKB_TORCH_INDEX", raising=False)
        monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")
        assert choose_torch_index() is None

    def test_an_index_that_does_not_answer_is_not_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("TRITONKB_TORCH_INDEX", raising=False)
        for name in ("PIP_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
        assert choose_torch_index() is None

"""The repository's own promises: layers, sizes, licence, and documents that say what is there."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import typer
from packaging.requirements import Requirement

from agent.cli.commands import COMMANDS
from agent.cli.main import build_app
from agent.cli.output import Output
from agent.toolchain.install import read_pins
from indexer.toml import parse_toml

ROOT = Path(__file__).parents[1]
LAYERS = ("indexer", "retriever", "agent")
LINE_LIMIT = 450
READMES = ("README.md", "README.zh.md")
# Tests may speak of somebody called "user".
HOME = re.compile(r"/(?:home|Users)/(?!user/)[a-z]+/|/root/\.")


def tracked_text() -> list[tuple[str, str]]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout, so the list of its files is unknown")
    files = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    return [(name, (ROOT / name).read_text(encoding="utf-8")) for name in files]


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def documented_commands(readme: str) -> list[str]:
    """The lines of fenced blocks that start the program."""
    text = (ROOT / readme).read_text(encoding="utf-8")
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.strip().removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return [line.partition("  #")[0] for line in lines if line.startswith("tritonkb ")]


def parse(arguments: list[str]) -> str:
    """Parse a command line as the program would, down to the command; gives its name, raises for a usage error."""
    command = typer.main.get_command(build_app(arguments, Output("en", as_json=False)))
    context = command.make_context("tritonkb", list(arguments))
    names = []
    while hasattr(context.command, "resolve_command"):
        rest = [*context._protected_args, *context.args]
        name, command, rest = context.command.resolve_command(context, rest)
        names.append(name)
        context = command.make_context(name, rest, parent=context)
    return " ".join(names)


@pytest.mark.parametrize("package", LAYERS)
def test_a_layer_imports_only_itself_and_those_below(package: str) -> None:
    above = "|".join(LAYERS[LAYERS.index(package) + 1 :]) or "none"
    wrong = re.compile(rf"^\s*(?:from|import) (?:{above})\b", re.MULTILINE)
    assert [path.name for path in modules(package) if wrong.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("package", LAYERS)
def test_a_module_is_one_idea_and_not_longer(package: str) -> None:
    long = {str(path.relative_to(ROOT)): count for path in modules(package) if (count := _lines(path)) > LINE_LIMIT}
    assert long == {}


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_the_licence_is_the_one_the_package_declares() -> None:
    declared = parse_toml((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["license"]
    assert declared == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def pins_of(group: str) -> list[Requirement]:
    project = parse_toml((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    named = {"tritonkb": project["dependencies"], "toolchain": read_pins().requirements, **optional}
    return [Requirement(text) for text in named[group]]


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
@pytest.mark.parametrize("group", ["tritonkb", "dev", "toolchain"])
def test_exactly_one_version_of_a_requirement_is_pinned_for_each_python(group: str, python: str) -> None:
    pins = pins_of(group)
    environment = {"python_version": python, "python_full_version": f"{python}.0"}
    chosen = Counter(pin.name for pin in pins if pin.marker is None or pin.marker.evaluate(environment))
    everywhere = {pin.name for pin in pins} - {"tomli"}  # in the standard library from 3.11 on
    assert chosen == Counter(everywhere | ({"tomli"} & chosen.keys()))
    assert all(re.fullmatch(r"==[\w.]+", str(pin.specifier)) for pin in pins)


def test_no_file_names_somebodys_home() -> None:
    assert [name for name, text in tracked_text() if HOME.search(text) and name != "tests/test_repository.py"] == []


def test_the_changelog_has_the_version_of_the_package() -> None:
    version = parse_toml((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[(Unreleased|{re.escape(version)})\]", changelog, re.MULTILINE)


@pytest.mark.parametrize("readme", READMES)
def test_every_command_line_of_the_readme_is_accepted(readme: str) -> None:
    lines = documented_commands(readme)
    assert lines
    for line in lines:
        assert parse(shlex.split(line)[1:]) in {command.name for command in COMMANDS}, line


@pytest.mark.parametrize("readme", READMES)
def test_the_readme_tells_of_every_command(readme: str) -> None:
    text = (ROOT / readme).read_text(encoding="utf-8")
    assert [c.name for c in COMMANDS if f"tritonkb {c.name}" not in text] == []


@pytest.mark.parametrize("readme", READMES)
def test_the_readme_tells_of_no_command_that_is_not_there(readme: str) -> None:
    text = (ROOT / readme).read_text(encoding="utf-8")
    named = set(re.findall(r"`tritonkb ([a-z]+(?: [a-z]+)?)`", text))
    assert named <= {command.name for command in COMMANDS}


def test_both_readmes_show_the_same_command_lines() -> None:
    assert documented_commands("README.md") == documented_commands("README.zh.md")


def test_every_target_that_the_documents_name_is_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for document in (*READMES, "CONTRIBUTING.md"):
        named = set(
            re.findall(r"(?:^|`)make ([a-z][a-z-]*)", (ROOT / document).read_text(encoding="utf-8"), re.MULTILINE)
        )
        assert named <= targets, document

"""`tritonkb toolchain`: the compilers' private environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli.options import Session
from agent.toolchain.install import find_ascend, private_environment
from indexer.errors import BadInput, ToolchainError
from indexer.messages import message

NAMES = ("ascend",)

Name = Annotated[str, typer.Argument(metavar="[NAME]", help="toolchain.name_help")]


def install(
    session: Session,
    name: Name = "ascend",
    python: Annotated[Path | None, typer.Option("--python", help="toolchain.python_help")] = None,
    torch_index: Annotated[str | None, typer.Option("--torch-index", help="toolchain.torch_index_help")] = None,
    ascendnpu_ir: Annotated[
        str | None, typer.Option("--ascendnpu-ir", metavar="VERSION", help="toolchain.ascendnpu_ir_help")
    ] = None,
    build: Annotated[Path | None, typer.Option("--bin", metavar="DIR", help="toolchain.bin_help")] = None,
) -> int:
    """Install the pinned compilers; says so at once where they are there."""
    from agent.toolchain.provision import Choice, install_ascend  # noqa: PLC0415 - not needed by the others

    _check(name)
    choice = Choice(ascendnpu_ir, build)
    installed, made = install_ascend(session.output.progress, python=python, torch_index=torch_index, choice=choice)
    executable = private_environment() / "bin" / "python"
    note = message("toolchain.installed" if made else "toolchain.already", python=executable)
    document = {"name": name, "python": executable, "installed_now": made, "versions": installed.versions}
    session.output.answer(
        {**document, "commits": installed.commits, "bin": installed.build or None},
        lambda console: console.print(session.output.text(note)),
    )
    return 0


def show(session: Session) -> int:
    """List the toolchain that would be used, with versions; exit 4 without one, as every command that needs it."""
    from agent.toolchain.commits import read_commits, read_versions  # noqa: PLC0415

    try:
        found = find_ascend()
    except ToolchainError as error:
        if not session.output.as_json:
            raise
        session.output.complain(error.note)
        session.output.write_document({"toolchains": []})
        return error.exit_code
    versions = read_versions(found.site)
    commits = read_commits(found)
    private = found.python == private_environment() / "bin" / "python"
    row = {
        "name": "ascend", "python": found.python, "private": private, "versions": versions, "commits": commits,
        "bin": found.build,
    }  # fmt: skip
    lines = [f"ascend  {found.python}"]
    lines += [f"  {key} {versions.get(key, '?')}" for key in ("triton-ascend", "ascendnpu-ir", "torch", "numpy")]
    if found.build is not None:
        lines.append("  " + session.output.text(message("toolchain.build", folder=found.build)))
    lines += [f"  {corpus}@{commit}" for corpus, commit in commits.items()]
    session.output.answer({"toolchains": [row]}, lambda console: console.print("\n".join(lines)))
    return 0


def remove(session: Session, name: Name = "ascend") -> int:
    """Remove the private environment; nothing there is no error."""
    from agent.toolchain.provision import remove_ascend  # noqa: PLC0415

    _check(name)
    removed = remove_ascend(session.output.progress)
    key = "toolchain.removed" if removed else "toolchain.nothing_to_remove"
    note = message(key, folder=private_environment())
    session.output.answer({"name": name, "removed": removed}, lambda console: console.print(session.output.text(note)))
    return 0


def _check(name: str) -> None:
    if name not in NAMES:
        raise BadInput("toolchain.unknown", name=name, known=", ".join(NAMES))

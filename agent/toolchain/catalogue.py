"""The `toolchain` corpus: what the installed compilers say of their own passes and options, and the Python back end.

The compilers' `--help` has three columns of indentation: a pass at six spaces, its options at eight, the values of an
option at four with an equals sign; driver options stand at two under a heading.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agent.toolchain.install import AscendInstall
from indexer.errors import ToolchainError

HELP_SECONDS = 60.0

_PASS = re.compile(r"^      --(?P<name>[\w.-]+)(?P<value>\S*)\s+-\s+(?P<text>.*)$")
_PASS_OPTION = re.compile(r"^        --(?P<name>[\w.-]+)(?P<value>\S*)\s+-\s+(?P<text>.*)$")
_OPTION = re.compile(r"^  --?(?P<name>[\w.-]+)(?P<value>\S*)\s+-\s+(?P<text>.*)$")
_SUB_OPTION = re.compile(r"^    --(?P<name>[\w.-]+)(?P<value>\S*)\s+-\s+(?P<text>.*)$")
_VALUE = re.compile(r"^    =(?P<name>\S+)\s+-\s+(?P<text>.*)$")
_HEADING = re.compile(r"^(?P<name>[A-Z].*?)(?: [Oo]ptions)?:$")
_DIALECTS = re.compile(r"^Available Dialects: (?P<names>.*)$", re.MULTILINE)

# The Python that makes Triton IR and drives the compilers.
_PYTHON = (
    "ascendnpuir/*.py", "triton/backends/ascend/*.py", "triton/language/**/*.py", "triton/triton_patch/**/*.py",
    "triton/runtime/jit.py", "triton/runtime/autotuner.py",
)  # fmt: skip


@dataclass(slots=True)
class _Entry:
    """A pass or an option with what is listed under it."""

    name: str
    value: str
    text: str
    heading: str
    details: list[str] = field(default_factory=list)


def catalogue_texts(install: AscendInstall) -> dict[str, str]:
    """Return the corpus as path -> text, the same for the same wheels.

    Raises `ToolchainError` when a compiler does not answer.
    """
    texts: dict[str, str] = {}
    for arch, suffix in (("a3", ""), ("a5", "-a5")):
        driver = _help_of(install.bishengir(f"bishengir-opt{suffix}"))
        texts |= _pass_texts(arch, f"bishengir-opt{suffix}", driver)
        compiler = _help_of(install.bishengir(f"bishengir-compile{suffix}"))
        texts |= _option_texts(arch, f"bishengir-compile{suffix}", compiler)
        texts |= _dialect_texts(arch, f"bishengir-opt{suffix}", driver)
    adapter = _help_of(install.adapter)
    texts |= _pass_texts("adapter", install.adapter.name, adapter)
    texts |= _dialect_texts("adapter", install.adapter.name, adapter)
    return texts | _python_texts(install.site)


def parse_passes(help_text: str) -> Iterator[_Entry]:
    """Read the passes of a `--help` with their options and the options' values."""
    entry: _Entry | None = None
    for line in help_text.splitlines():
        if (found := _PASS.match(line)) is not None:
            if entry is not None:
                yield entry
            entry = _Entry(found["name"], found["value"], found["text"].strip(), "")
        elif entry is not None and (detail := _detail(line)) is not None:
            entry.details.append(detail)
        elif entry is not None:
            yield entry
            entry = None
    if entry is not None:
        yield entry


def parse_options(help_text: str) -> Iterator[_Entry]:
    """Read the driver's own options, each under the heading it stands below."""
    heading, entry = "", None
    for line in help_text.splitlines():
        if (found := _HEADING.match(line)) is not None:
            heading = found["name"]
        elif (option := _OPTION.match(line)) is not None:
            if entry is not None:
                yield entry
            entry = _Entry(option["name"], option["value"], option["text"].strip(), heading)
        elif entry is not None and (detail := _detail(line)) is not None:
            entry.details.append(detail)
        elif entry is not None:
            yield entry
            entry = None
    if entry is not None:
        yield entry


def _detail(line: str) -> str | None:
    """Return an option or a value of the entry above, in our form."""
    if (value := _VALUE.match(line)) is not None:
        return f"    ={value['name']}: {value['text'].strip()}"
    option = _PASS_OPTION.match(line) or _SUB_OPTION.match(line)
    return f"  --{option['name']}{option['value']}: {option['text'].strip()}" if option is not None else None


def _pass_texts(arch: str, tool: str, help_text: str) -> dict[str, str]:
    return {
        f"{arch}/passes/{entry.name}.txt": _text(f"pass {entry.name} ({tool})", entry)
        for entry in parse_passes(help_text)
    }


def _option_texts(arch: str, tool: str, help_text: str) -> dict[str, str]:
    return {
        f"{arch}/options/{entry.name}.txt": _text(f"option {entry.name} ({tool}, {entry.heading})", entry)
        for entry in parse_options(help_text)
    }


def _text(title: str, entry: _Entry) -> str:
    usage = f"--{entry.name}{entry.value}" if entry.value else ""
    lines = [title, *([usage] if usage else []), *([entry.text] if entry.text else []), *entry.details]
    return "\n".join(lines) + "\n"


def _dialect_texts(arch: str, tool: str, help_text: str) -> dict[str, str]:
    found = _DIALECTS.search(help_text)
    if not found:
        return {}
    names = [name.strip() for name in found["names"].split(",")]
    return {f"{arch}/dialects.txt": "\n".join([f"dialects {arch} ({tool})", *names]) + "\n"}


def _python_texts(site: Path) -> dict[str, str]:
    paths = sorted({path for glob in _PYTHON for path in site.glob(glob) if path.is_file() and not path.is_symlink()})
    return {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8", errors="replace") for path in paths}


def _help_of(tool: Path) -> str:
    try:
        answer = subprocess.run(
            [tool, "--help"], capture_output=True, text=True, errors="replace", timeout=HELP_SECONDS, check=False,
            start_new_session=True,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError("knowledge.no_help", tool=tool, reason=error) from error
    if answer.returncode or "USAGE:" not in answer.stdout:
        raise ToolchainError("knowledge.no_help", tool=tool, reason=(answer.stderr.strip() or answer.returncode))
    return answer.stdout

"""The bundle on disk: a folder for each finding that is a compiler's own limit."""

from __future__ import annotations

import json
import platform
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from agent.bundle.evidence import Sight, ir_around, nameless, see
from agent.bundle.owner import Project, is_compilers, project_of, suspected_file
from agent.bundle.reduce import reduce_kernel
from agent.bundle.report import Report, report_text
from agent.bundle.standalone import standalone
from agent.diagnose import COUNTERFACTUAL_SECONDS, Diagnosis
from agent.records import Entry, Finding, KernelSource, Lowered, Lowering
from agent.sandbox import is_limit
from agent.toolchain.commits import expected_commits, read_versions
from agent.toolchain.install import AscendInstall
from agent.workbench import Change, Workbench
from indexer.errors import BadInput, SandboxError
from indexer.messages import Lang

# The costliest ones; and what each may take: a compilation of a small kernel is about half a second.
MOST_BUNDLES = 3
MOST_TRIED = 40
_LANGUAGES: dict[Lang, str] = {"en": "report.md", "zh": "report.zh.md"}
_COMPILERS = ("triton-ascend", "ascendnpu-ir")


@dataclass(frozen=True, slots=True)
class Bundle:
    """What was written for a finding; `lines` of the kernel before and after, None where it cannot stand alone."""

    folder: Path
    finding: Finding
    project: Project
    files: tuple[str, ...]
    lines: tuple[int, int] | None
    tried: int


@dataclass(frozen=True, slots=True)
class _Reduced:
    """The smallest kernel, how it lowers, and what is seen in it."""

    text: str
    before: str
    tried: int


def write_bundles(bench: Workbench, found: Diagnosis, out: Path) -> tuple[Bundle, ...]:
    """Write a folder for each of the most severe findings that are a compiler's own limit; none where there is none.

    Raises `BadInput` when the folder cannot be written.
    """
    wanted = [f for f in found.findings if is_compilers(f)][:MOST_BUNDLES]
    return tuple(_write(bench, found.lowering, finding, out / _name(finding)) for finding in wanted)


def _name(finding: Finding) -> str:
    return finding.symptom if finding.line is None else f"{finding.symptom}-line{finding.line}"


def _write(bench: Workbench, lowering: Lowering, finding: Finding, folder: Path) -> Bundle:
    item = lowering.launches[finding.launch_index]
    reduced = _reduce(bench, lowering, finding, item)
    source = lowering.source if reduced is None else _alone(lowering.source, reduced.text)
    with tempfile.TemporaryDirectory(dir=bench.scratch) as kept:
        again = bench.lower(source, keep=Path(kept))
        sight = see(again, finding) or Sight(finding.line, finding.text, finding.structure.pass_argument, None, "")
        files = ir_around(again, sight)
    project = project_of(finding, item.compilation)
    lines = None if reduced is None else (reduced.before.count("\n"), reduced.text.count("\n"))
    told = Report(
        finding, project, bench.target.name, sight, reduced.text if reduced is not None else None, lines,
        0 if reduced is None else reduced.tried, suspected_file(finding.evidence), _versions(bench), tuple(files),
    )  # fmt: skip
    if reduced is not None:
        files["kernel.py"] = reduced.text
    files |= {name: report_text(told, lang) for lang, name in _LANGUAGES.items()}
    files["bundle.json"] = json.dumps(_record(told), indent=1, ensure_ascii=False) + "\n"
    _save(folder, files)
    return Bundle(folder, finding, project, tuple(sorted(files)), lines, told.tried)


def _reduce(bench: Workbench, lowering: Lowering, finding: Finding, item: Lowered) -> _Reduced | None:
    """Make the kernel stand alone, then smaller; None where it does not show the finding alone."""
    text = standalone(lowering.source, item.launch)
    lower = _lowering_of(bench, lowering.source, max(COUNTERFACTUAL_SECONDS, 2 * item.compilation.seconds))
    first = lower(text) if text is not None else None
    sight = see(first, finding) if first is not None else None
    if text is None or sight is None:
        return None

    def keeps(candidate: str) -> bool:
        made = lower(candidate)
        found = see(made, finding) if made is not None else None
        return found is not None and (found.text == sight.text or not sight.text)

    found = reduce_kernel(text, sight.text, keeps, MOST_TRIED)
    return _Reduced(found.text, text, found.tried)


def _lowering_of(bench: Workbench, source: KernelSource, seconds: float) -> Callable[[str], Lowering | None]:
    """Give the function that lowers a text in the place of `source`: None where it is no kernel any more."""

    def lower(text: str) -> Lowering | None:
        try:
            return bench.lower(_alone(source, text), Change(seconds=seconds))
        except BadInput:
            return None
        except SandboxError as error:
            if not is_limit(error):
                raise
            return None

    return lower


def _alone(source: KernelSource, text: str) -> KernelSource:
    return replace(source, text=text, entry=Entry())


def _versions(bench: Workbench) -> dict[str, str]:
    installed = read_versions(bench.install.site)
    known = expected_commits(bench.install) if isinstance(bench.install, AscendInstall) else {}
    commits = {name: expected.commit for name, expected in known.items()}
    return {
        "tritonkb": metadata.version("tritonkb"),
        "python": platform.python_version(),
        **{name: installed[name] for name in _COMPILERS if name in installed},
        **{f"{name} commit": commit for name, commit in commits.items()},
    }


def _record(told: Report) -> dict[str, object]:
    """Return what a program reads of a bundle."""
    finding = told.finding
    return {
        "symptom": finding.symptom,
        "project": told.project,
        "target": told.target,
        "pass": told.sight.pass_argument,
        "file": told.suspected,
        "line": told.sight.line,
        "text": told.sight.text,
        "excerpt": nameless(told.sight.excerpt),
        "counterfactual": finding.counterfactual.verdict,
        "versions": told.versions,
        "compilations": told.tried,
    }


def _save(folder: Path, files: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput("bundle.not_written", path=folder, reason=error.strerror or error) from error

"""A bundle's report for people, in one language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent.bundle.evidence import Sight, nameless
from agent.bundle.owner import Project
from agent.records import Finding
from indexer.corpus import read_manifest
from indexer.messages import Lang, message, render

_CORPORA: dict[Project, str] = {
    "AscendNPU-IR": "ascendnpu-ir", "triton-ascend": "triton-ascend", "Triton": "triton", "LLVM/MLIR": "mlir",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a report says; `kernel` is the reduced one, None where the kernel does not stand alone."""

    finding: Finding
    project: Project
    target: str
    sight: Sight
    kernel: str | None
    lines: tuple[int, int] | None
    tried: int
    suspected: str
    versions: dict[str, str]
    files: tuple[str, ...]


def report_text(told: Report, lang: Lang) -> str:
    """Write the report as Markdown."""
    return "\n".join(_parts(told, lang)).rstrip() + "\n"


def _parts(told: Report, lang: Lang) -> Iterator[str]:
    finding = told.finding
    yield f"# {render(finding.title, lang)}\n"
    yield _say("not_yours", lang, project=told.project, repository=_repository(told.project)) + "\n"
    yield from _facts(told, lang)
    yield f"\n## {_say('what', lang)}\n\n{nameless(render(finding.explanation, lang))}\n"
    yield f"## {_say('kernel', lang)}\n"
    if told.kernel is None or told.lines is None:
        yield _say("not_alone", lang) + "\n"
    else:
        yield _say("reduced", lang, before=told.lines[0], after=told.lines[1], tried=told.tried) + "\n"
        yield f"```python\n{told.kernel.rstrip()}\n```\n"
        yield f"```sh\ntritonkb diagnose kernel.py --target {told.target}\n```\n"
    yield f"## {_say('ir', lang)}\n"
    yield _say("ir_files", lang, files=", ".join(f"`{name}`" for name in told.files) or "-") + "\n"
    if told.sight.excerpt:
        yield f"```\n{nameless(told.sight.excerpt)}\n```\n"
    yield f"## {_say('way_out', lang)}\n\n{render(finding.advice, lang)}\n"
    if finding.counterfactual.verdict == "confirmed":
        yield _say("goes_with", lang, change=render(finding.counterfactual.change, lang))


def _facts(told: Report, lang: Lang) -> Iterator[str]:
    made_by, after = told.sight.pass_argument, told.sight.after
    unnamed = _say("after", lang, last=f"`{after}`") if after else "-"
    rows = {
        "pass": f"`{made_by}`" if made_by else unnamed,
        "file": f"`{told.suspected}`" if told.suspected else "-",
        "target": told.target,
        "line": f"`{told.sight.text}`" if told.sight.text else "-",
        "versions": ", ".join(f"{name} {version}" for name, version in told.versions.items()),
    }
    for name, value in rows.items():
        yield f"- {_say(name, lang)}{':' if lang == 'en' else '：'} {value}".replace("： ", "：")


def _repository(project: Project) -> str:
    repositories = read_manifest(_CORPORA[project]).repositories
    return next((url for url in repositories if "github.com" in url), repositories[0]).removesuffix(".git")


def _say(key: str, lang: Lang, **values: object) -> str:
    return render(message(f"bundle.{key}", **values), lang)

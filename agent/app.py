"""The use cases, typed in and out: what the command line, an MCP server and a report are thin renderings of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from agent.blame_documents import blame_doc
from agent.bundle.documents import bundle_docs
from agent.bundle.owner import limit_of
from agent.bundle.write import write_bundles
from agent.contract import (
    BlameDoc,
    CompileDoc,
    DiagnoseDoc,
    RungDoc,
)
from agent.contract_bench import BenchDoc, BenchKernelDoc, FailureDoc, TriedDoc
from agent.diagnose import Diagnosis, diagnose
from agent.documents import compile_doc, cost_doc, diagnostic_docs, explanation_doc, finding_doc, launch_doc
from agent.explain.explain import explain
from agent.explain.portability import Side, compare
from agent.perf.trace import trace_launch
from agent.profile.documents import profiles_doc
from agent.profile.reading import read_profiles
from agent.profile.records import Profiles
from agent.recompile import Recompilation, find_recompilations
from agent.recompile_documents import recompile_docs
from agent.records import KernelSource, Lowering, Rung
from agent.request import Site
from agent.sandbox import is_limit
from agent.sweeping import Config, sweep
from agent.toolchain.targets import find_device, find_target
from agent.workbench import Workbench, open_workbench
from indexer.errors import BadInput, SandboxError
from indexer.messages import Lang, render

AnyDoc = TypeVar("AnyDoc", CompileDoc, DiagnoseDoc)


def _open(site: Site, *, every_pass: bool = False) -> AbstractContextManager[Workbench]:
    return open_workbench(find_device(site.target), site.policy, every_pass=every_pass)


def compile_kernel(site: Site, source: KernelSource, out: Path | None) -> CompileDoc:
    """Lower every launch of `source`; with `out`, keep each stage's IR there, a folder a launch.

    Of several targets (`a,b`) each gets its document, and its own folder in `out`.
    """
    named = targets_of(site)
    found = [_compile_for(s, source, out if out is None or len(named) == 1 else out / s.target) for s in named]
    return _compared([side for side, _ in found], [doc for _, doc in found], site.lang)


def targets_of(site: Site) -> list[Site]:
    """Return a site for each target that is named, the same otherwise; raises `BadInput` for one that is unknown."""
    names = dict.fromkeys(find_device(name).name for name in site.target.split(","))
    return [replace(site, target=name) for name in names]


def _compile_for(site: Site, source: KernelSource, out: Path | None) -> tuple[Side, CompileDoc]:
    with _open(site, every_pass=True) as bench:
        # The compilers run in folders of their own.
        lowering = bench.lower(source, keep=None if out is None else out.resolve())
    docs = [compile_doc(item, site.lang) for item in lowering.launches]
    told = explain(lowering, None)
    explained = [explanation_doc(e, source.text, site.lang) for e in told]
    doc = docs[lowering.costliest].model_copy(update={"launches": docs, "explanations": explained})
    return Side(site.target, lowering, told), doc


def _compared(sides: list[Side], docs: list[AnyDoc], lang: Lang) -> AnyDoc:
    """Return the first document; of several it also holds all of them, and how they differ."""
    if len(docs) == 1:
        return docs[0]
    said = [render(note, lang) for note in compare(sides)]
    return docs[0].model_copy(update={"targets": docs, "portability": said})


def blame_kernel(site: Site, source: KernelSource, line: int | None, *, pass_by_pass: bool = False) -> BlameDoc:
    """Say for each line of the costliest launch (or only `line`) which operations it became, and by which pass.

    With `pass_by_pass`, also what each pass did to `line`.
    """
    if pass_by_pass and line is None:
        raise BadInput("kernel.walk_which_line", path=source.path)
    with _open(site) as bench:
        lowering = bench.lower(source)
    item = lowering.launches[lowering.costliest]
    if item.compilation.hivm is None:
        told = "; ".join(d.message for d in diagnostic_docs(item.compilation.diagnostics[:1], site.lang))
        raise BadInput("app.blame_rejected", path=source.path, target=site.target, reason=told)
    return blame_doc(site, source, item, line, pass_by_pass=pass_by_pass)


def diagnose_kernel(
    site: Site,
    source: KernelSource,
    max_rung: Rung,
    counterfactuals: int | None = None,
    bundle: Path | None = None,
    profile: Path | None = None,
) -> DiagnoseDoc:
    """Climb the ladder over `source`; of several targets (`a,b`) for each, and say how they differ.

    With `bundle`, a bug report goes there for each finding that is a compiler's own limit. With `profile`, a folder of
    a profiler's files, the profile rung speaks of what was measured.
    """
    named = targets_of(site)
    profiles = None if profile is None else read_profiles(profile)
    found = [
        _diagnose_for(
            s,
            source,
            max_rung,
            counterfactuals,
            bundle if len(named) == 1 or bundle is None else bundle / s.target,
            profiles,
        )
        for s in named
    ]
    return _compared([side for side, _ in found], [doc for _, doc in found], site.lang)


def _diagnose_for(
    site: Site,
    source: KernelSource,
    max_rung: Rung,
    counterfactuals: int | None,
    bundle: Path | None,
    profiles: Profiles | None,
) -> tuple[Side, DiagnoseDoc]:
    index = site.library.index if site.library is not None else None
    with _open(site) as bench:
        found = diagnose(bench, source, index, site.lang, max_rung, most=counterfactuals, profiles=profiles)
        again = find_recompilations(bench.worker, found.lowering)
        written = None if bundle is None else bundle_docs(write_bundles(bench, found, bundle))
    side = Side(site.target, found.lowering, found.explanations, tuple(f.symptom for f in found.findings))
    return side, _diagnose_doc(found, again, site).model_copy(
        update={"bundles": written, "profile": None if profiles is None else profiles_doc(profiles, site.lang)}
    )


def _diagnose_doc(found: Diagnosis, again: tuple[Recompilation, ...], site: Site) -> DiagnoseDoc:
    lowering = found.lowering
    main = lowering.launches[lowering.costliest]
    cited = [e.passage for f in found.findings for e in f.evidence]
    cited += [e.passage for told in found.explanations for e in told.place]
    titles = {} if site.library is None else site.library.titles(cited)
    source = lowering.source.text
    return DiagnoseDoc(
        kernel=main.launch.kernel,
        target=site.target,
        status=main.compilation.status,
        launch=launch_doc(main.launch),
        launches=[launch_doc(item.launch) for item in lowering.launches],
        ladder=[
            RungDoc(rung=s.rung, entered=s.entered, reason=render(s.reason, site.lang), localized=s.localized)
            for s in found.ladder
        ],
        cost=cost_doc(lowering.cost, site.lang),
        findings=[finding_doc(f, site.lang, titles, limit_of(f, lowering)) for f in found.findings],
        diagnostics=diagnostic_docs(main.compilation.diagnostics, site.lang),
        explanations=[explanation_doc(told, source, site.lang, titles) for told in found.explanations],
        recompiles=recompile_docs(again, source, site.lang),
    )


def sweep_kernels(site: Site, sources: list[KernelSource], configs: Sequence[Config]) -> BenchDoc:
    """Cost each configuration of each file."""
    with _open(site) as bench:
        tried = [(source, sweep(bench, source, configs)) for source in sources]
    return BenchDoc(
        kernels=[],
        sweep=[
            TriedDoc(
                file=str(source.path), config=dict(item.config), status=item.status,
                cost=cost_doc(item.cost, site.lang), note=item.note, measure=item.measure,
            )
            for source, items in tried
            for item in items
        ],
    )  # fmt: skip


def bench_kernels(site: Site, sources: list[KernelSource], trace: Path | None = None) -> BenchDoc:
    """Cost kernels as they are; of several files, one that fails leaves the others alone.

    The predicted timeline of the costliest launch of all is written to `trace`.
    """
    with _open(site) as bench:
        ended = [_lower_or_fail(bench, source, site.lang, alone=len(sources) == 1) for source in sources]
    lowerings = [end for end in ended if not isinstance(end, FailureDoc)]
    if trace is not None:
        _write_trace(trace, lowerings, site)
    return BenchDoc(
        kernels=[
            BenchKernelDoc(
                kernel=item.launch.kernel,
                file=str(lowering.source.path),
                target=site.target,
                launch=launch_doc(item.launch),
                cost=cost_doc(item.cost, site.lang),
                diagnostics=diagnostic_docs(item.compilation.diagnostics, site.lang),
            )
            for lowering in lowerings
            for item in lowering.launches
        ],
        failures=[end for end in ended if isinstance(end, FailureDoc)],
    )


def _write_trace(path: Path, lowerings: list[Lowering], site: Site) -> None:
    costed = [item for lowering in lowerings for item in lowering.launches if item.cost is not None]
    if not costed:
        raise BadInput("app.no_trace", path=path)
    costliest = max(costed, key=lambda item: 0.0 if item.cost is None else item.cost.value)
    document = trace_launch(costliest.compilation, find_target(site.target))
    try:
        path.write_text(json.dumps(document), encoding="utf-8")
    except OSError as error:
        raise BadInput("app.trace_unwritable", path=path, reason=error.strerror) from error


def _lower_or_fail(bench: Workbench, source: KernelSource, lang: Lang, *, alone: bool) -> Lowering | FailureDoc:
    """Lower one of several files; a fault of the file is its own result then."""
    try:
        return bench.lower(source)
    except (BadInput, SandboxError) as error:
        if alone or (isinstance(error, SandboxError) and not is_limit(error)):
            raise
        return FailureDoc(file=str(source.path), message=render(error.note, lang), exit_code=error.exit_code)

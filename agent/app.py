"""The use cases, typed in and out: what the command line, an MCP server and a report are thin renderings of."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from agent.contract import (
    BenchDoc,
    BenchKernelDoc,
    BlameDoc,
    BlameLineDoc,
    BlameOpDoc,
    CompileDoc,
    DiagnoseDoc,
    EvidenceDoc,
    FailureDoc,
    RungDoc,
)
from agent.diagnose import Diagnosis, corpora_of, diagnose, is_foreign
from agent.documents import compile_doc, cost_doc, diagnostic_docs, finding_doc, launch_doc
from agent.records import Blame, KernelSource, Lowered, Lowering, Rung
from agent.request import Site
from agent.sandbox import is_limit
from agent.toolchain.targets import find_target
from agent.workbench import Workbench, open_workbench
from indexer.errors import BadInput, SandboxError
from indexer.ir.blame import resolved_share
from indexer.messages import Lang, render
from retriever.attribution import evidence_for

EVIDENCE_PER_LINE = 3


def _open(site: Site, *, every_pass: bool = False) -> AbstractContextManager[Workbench]:
    return open_workbench(find_target(site.target), site.policy, every_pass=every_pass)


def compile_kernel(site: Site, source: KernelSource, out: Path | None) -> CompileDoc:
    """Lower every launch of `source`; with `out`, keep each stage's IR there, a folder a launch."""
    with _open(site, every_pass=True) as bench:
        # The compilers run in folders of their own.
        lowering = bench.lower(source, keep=None if out is None else out.resolve())
    docs = [compile_doc(item, _share(item), site.lang) for item in lowering.launches]
    return docs[lowering.costliest].model_copy(update={"launches": docs})


def _share(item: Lowered) -> float | None:
    return resolved_share(item.compilation.hivm) if item.compilation.hivm is not None else None


def blame_kernel(site: Site, source: KernelSource, line: int | None) -> BlameDoc:
    """Say for each line of the costliest launch (or only `line`) which operations it became, and by which pass."""
    with _open(site) as bench:
        lowering = bench.lower(source)
    item = lowering.launches[lowering.costliest]
    if item.compilation.hivm is None:
        told = "; ".join(d.message for d in diagnostic_docs(item.compilation.diagnostics[:1], site.lang))
        raise BadInput("app.blame_rejected", path=source.path, target=site.target, reason=told)
    lines = sorted({b.line for b in item.blames})
    if line is not None and line not in lines:
        near = ", ".join(map(str, lines))
        raise BadInput("kernel.blame_line", path=source.path, line=line, near=near)
    lines = [number for number in lines if line is None or number == line]
    return BlameDoc(
        kernel=item.launch.kernel,
        target=site.target,
        lines=[_blame_line(site, source, item, number) for number in lines],
        resolved_share=resolved_share(item.compilation.hivm),
    )


def _blame_line(site: Site, source: KernelSource, item: Lowered, number: int) -> BlameLineDoc:
    blames = [b for b in item.blames if b.line == number]
    text = source.text.splitlines()
    cost = item.cost
    return BlameLineDoc(
        line=number,
        text=text[number - 1].strip() if number <= len(text) else "",
        share=cost.by_line.get(number, 0.0) / cost.value if cost is not None and cost.value else None,
        ops=[
            BlameOpDoc(name=b.op, count=b.count, pass_argument=b.pass_argument, replaced=list(b.replaced))
            for b in blames
        ],
        evidence=_line_evidence(site, blames, find_target(site.target).arch),
    )  # fmt: skip


def _line_evidence(site: Site, blames: list[Blame], arch: str) -> list[EvidenceDoc]:
    if site.library is None:
        return []
    passes = tuple(dict.fromkeys(b.pass_argument for b in blames if b.pass_argument))
    ops = tuple(b.op for b in blames)
    wide = evidence_for(
        site.library.index, passes, ops, "", 2 * EVIDENCE_PER_LINE, corpora=corpora_of(arch), lang=site.lang
    )
    hits = [h for h in wide if not is_foreign(h.passage, arch)][:EVIDENCE_PER_LINE]
    titles = site.library.titles(h.passage.id for h in hits)
    return [EvidenceDoc(passage=h.passage.id, why=list(h.why), title=titles[h.passage.id]) for h in hits]


def diagnose_kernel(site: Site, source: KernelSource, max_rung: Rung) -> DiagnoseDoc:
    """Climb the ladder over `source`."""
    index = site.library.index if site.library is not None else None
    with _open(site) as bench:
        found = diagnose(bench, source, index, site.lang, max_rung)
    return _diagnose_doc(found, site)


def _diagnose_doc(found: Diagnosis, site: Site) -> DiagnoseDoc:
    lowering = found.lowering
    main = lowering.launches[lowering.costliest]
    titles = {} if site.library is None else site.library.titles(e.passage for f in found.findings for e in f.evidence)
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
        findings=[finding_doc(f, site.lang, titles) for f in found.findings],
        diagnostics=diagnostic_docs(main.compilation.diagnostics, site.lang),
    )


def bench_kernels(site: Site, sources: list[KernelSource]) -> BenchDoc:
    """Cost kernels as they are; of several files, one that fails leaves the others alone."""
    with _open(site) as bench:
        ended = [_lower_or_fail(bench, source, site.lang, alone=len(sources) == 1) for source in sources]
    lowerings = [end for end in ended if not isinstance(end, FailureDoc)]
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


def _lower_or_fail(bench: Workbench, source: KernelSource, lang: Lang, *, alone: bool) -> Lowering | FailureDoc:
    """Lower one of several files; a fault of the file is its own result then."""
    try:
        return bench.lower(source)
    except (BadInput, SandboxError) as error:
        if alone or (isinstance(error, SandboxError) and not is_limit(error)):
            raise
        return FailureDoc(file=str(source.path), message=render(error.note, lang), exit_code=error.exit_code)

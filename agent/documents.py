"""Records -> documents of the JSON contract, in one language."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from agent.contract import (
    ArgumentDoc,
    BufferDoc,
    CompileDoc,
    CostDoc,
    CounterfactualDoc,
    DiagnosticDoc,
    FindingDoc,
    GpuResourcesDoc,
    IntervalDoc,
    IrDoc,
    LaunchDoc,
    MadeDoc,
    PassDoc,
    ResourcesDoc,
    SourceDoc,
    StageDoc,
)
from agent.contract_parts import BufferUseDoc, EvidenceDoc, ExplanationDoc, FitDoc
from agent.explain.records import Explanation
from agent.profile.documents import predicted_profile_doc
from agent.records import (
    Compilation,
    Cost,
    Diagnostic,
    Finding,
    GpuResources,
    Launch,
    Lowered,
    Resources,
    TensorArgument,
)
from indexer.ir.resolution import Resolution, resolve
from indexer.messages import Lang, message, render


def launch_doc(launch: Launch) -> LaunchDoc:
    """Describe a launch; constexprs and options that JSON cannot hold are given as text."""
    arguments = [
        ArgumentDoc(name=a.name, dtype=a.dtype, shape=list(a.shape), strides=list(a.strides))
        if isinstance(a, TensorArgument)
        else ArgumentDoc(name=a.name, dtype=a.dtype, value=a.value)
        for a in launch.arguments
    ]
    return LaunchDoc(
        kernel=launch.kernel,
        line=launch.line,
        signature=dict(launch.signature),
        constexprs={name: _plain(value) for name, value in launch.constexprs.items()},
        grid=list(launch.grid),
        options={name: _plain(value) for name, value in launch.options.items()},
        arguments=arguments,
        group=launch.group,
        count=launch.count,
        data_dependent=launch.data_dependent,
    )


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def cost_doc(cost: Cost | None, lang: Lang) -> CostDoc | None:
    """Describe a cost; None stays None, for a kernel that does not compile."""
    if cost is None:
        return None
    return CostDoc(
        value=cost.value,
        basis=cost.basis,
        interval=IntervalDoc(low=cost.interval.low, high=cost.interval.high),
        limiter=cost.limiter,
        terms=dict(cost.terms),
        by_line={"" if line is None else str(line): value for line, value in cost.by_line.items()},
        bytes_baseline_us=cost.baseline_us,
        remarks=[render(note, lang) for note in cost.remarks],
        pipes=dict(cost.pipes),
        profile=predicted_profile_doc(cost.profile),
    )


def diagnostic_docs(diagnostics: tuple[Diagnostic, ...], lang: Lang) -> list[DiagnosticDoc]:
    """Describe diagnostics; the compilers' own sentences stay as they are, ours are in `lang`."""
    return [
        DiagnosticDoc(
            severity=d.severity,
            message=d.message if d.note is None else render(d.note, lang),
            line=d.line,
            stage=d.stage,
            pass_argument=d.pass_argument,
        )
        for d in diagnostics
    ]


def resources_doc(resources: Resources, gpu: GpuResources | None = None) -> ResourcesDoc:
    """Describe planned memory."""
    buffers = [
        BufferDoc(
            space=b.space, bytes=b.bytes, offset_bytes=b.offset_bytes, copies=b.copies, line=b.line, type=b.type
        )
        for b in resources.buffers
    ]  # fmt: skip
    return ResourcesDoc(
        ub_bytes=resources.ub_bytes,
        ub_limit_bytes=resources.ub_limit_bytes,
        l1_bytes=resources.l1_bytes,
        l1_limit_bytes=resources.l1_limit_bytes,
        l0c_bytes=resources.l0c_bytes,
        l0c_limit_bytes=resources.l0c_limit_bytes,
        buffers=buffers,
        gpu=None if gpu is None else GpuResourcesDoc(**asdict(gpu)),
    )


def made_docs(found: Resolution, lang: Lang) -> list[MadeDoc]:
    """Describe what the compiler made on its own."""
    return [
        MadeDoc(name=m.op, count=m.count, pass_argument=m.pass_argument, why=render(message(f"blame.{m.reason}"), lang))
        for m in found.made
    ]


def compile_doc(lowered: Lowered, lang: Lang) -> CompileDoc:
    """Describe one compiled launch."""
    made: Compilation = lowered.compilation
    found = resolve(made.snapshots, made.hivm) if made.hivm is not None else None
    return CompileDoc(
        kernel=made.launch.kernel,
        target=made.target,
        status=made.status,
        stages=[StageDoc(name=s.name, position=s.position, changed=s.changed, ops=s.ops) for s in made.stages],
        resources=resources_doc(made.resources, made.gpu),
        diagnostics=diagnostic_docs(made.diagnostics, lang),
        files={name: str(path) for name, path in made.files.items()},
        launch=launch_doc(made.launch),
        retried_without=list(made.retried_without),
        resolved_share=None if found is None else found.resolved_share,
        compiler_made_share=None if found is None else found.made_share,
        compiler_made=[] if found is None else made_docs(found, lang),
        seconds=made.seconds,
    )


def finding_doc(finding: Finding, lang: Lang, titles: dict[str, str] | None = None, limit_of: str = "") -> FindingDoc:
    """Describe a finding; `titles` gives the first line of each cited passage, `limit_of` whose own limit it is."""
    made = finding.structure
    return FindingDoc(
        symptom=finding.symptom,
        title=render(finding.title, lang),
        explanation=render(finding.explanation, lang),
        severity=finding.severity,
        severity_basis=finding.severity_basis,
        source=SourceDoc(file=str(_shown(finding.file)), line=finding.line, text=finding.text),
        ir=IrDoc(stage=made.stage, ops=list(made.ops), excerpt=made.excerpt),
        pass_=PassDoc(argument=made.pass_argument, position=made.position) if made.pass_argument else None,
        counterfactual=CounterfactualDoc(
            change=render(finding.counterfactual.change, lang),
            verdict=finding.counterfactual.verdict,
            before=finding.counterfactual.before,
            after=finding.counterfactual.after,
        ),
        evidence=[
            EvidenceDoc(passage=e.passage, why=list(e.why), title=(titles or {}).get(e.passage, ""))
            for e in finding.evidence
        ],
        advice=render(finding.advice, lang),
        launch_index=finding.launch_index,
        limit_of=limit_of,
    )


def explanation_doc(told: Explanation, source: str, lang: Lang, titles: dict[str, str] | None = None) -> ExplanationDoc:
    """Describe why a launch is refused, or was taken only without something."""
    lines = source.splitlines()
    fit = told.fit
    return ExplanationDoc(
        cause=told.cause,
        kind=told.kind,
        launch_index=told.launch_index,
        line=told.line,
        text=lines[told.line - 1].strip() if told.line is not None and 0 < told.line <= len(lines) else "",
        stage=told.stage,
        pass_argument=told.pass_argument,
        op=told.op,
        said=told.said,
        title=render(told.title, lang),
        way_out=render(told.way_out, lang),
        details=[render(note, lang) for note in told.details],
        buffers=[
            BufferUseDoc(
                space=b.space, bytes=b.bytes, copies=b.copies, type=b.type, tensor=b.tensor, line=b.line,
                first_line=b.first_line, last_line=b.last_line, at_peak=b.at_peak,
                added=[render(note, lang) for note in b.added],
            )
            for b in told.buffers
        ],
        fit=None if fit is None else FitDoc(
            name=fit.name, value=fit.value, fits=fit.fits, too_large=fit.too_large, used_bytes=fit.used_bytes
        ),
        place=[
            EvidenceDoc(passage=e.passage, why=list(e.why), title=(titles or {}).get(e.passage, "")) for e in told.place
        ],
    )  # fmt: skip


def _shown(path: Path) -> Path:
    """Return the path as the user would type it from here."""
    try:
        return path.resolve().relative_to(Path.cwd())
    except ValueError:
        return path

"""Documents for people at a terminal. Everything shown is in the document; this only lays it out."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rich.console import Console
from rich.padding import Padding

from agent.contract import (
    BlameDoc,
    ChecksDoc,
    CompileDoc,
    CostDoc,
    DiagnoseDoc,
    DiagnosticDoc,
    FindingDoc,
    LaunchDoc,
    OptimizeDoc,
    ResourcesDoc,
    RoundDoc,
    RungDoc,
)
from agent.contract_bench import BenchDoc
from agent.report.bundles import show_bundles
from agent.report.profile import show_lines, show_profiles, show_sweep
from agent.report.recompile import show_recompiles
from agent.report.refusals import show_explanations, show_portability
from agent.report.summary import round_note, show_model
from indexer.messages import Lang, message, render

# A passage id and a reason fit one line beside each other on a usual terminal only when few reasons are shown.
SHOWN_REASONS = 2
SHOWN_REMARKS = 3
_WHY = re.compile(r"^(defines|implements|tests|documents|uses|option_of|lowers|card|words) (?:pass )?(\S+)$")
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
# Below this share a finding is named but not explained: the prediction's own error is larger.
LEAST_SHOWN = 0.01
# From this share on a finding that no rule removed is worth a person's time.
LEAST_BY_HAND = 0.05


class Terminal:
    """Lays documents out on one console in one language."""

    def __init__(self, console: Console, lang: Lang) -> None:
        self.console = console
        self.lang: Lang = lang

    def say(self, key: str, *, style: str = "", indent: int = 0, **values: object) -> None:
        """Print one catalogue sentence of the report area."""
        text = render(message(f"report.{key}", **values), self.lang)
        self.line(text, style, indent)

    def line(self, text: str, style: str = "", indent: int = 0) -> None:
        """Print one line; a terminal wraps it under its indentation, a pipe gets it whole."""
        if self.console.is_terminal and indent:
            self.console.print(Padding(text, (0, 0, 0, indent), expand=False), style=style)
        else:
            self.console.print(" " * indent + text, style=style, soft_wrap=True)

    def compile(self, doc: CompileDoc, folder: str) -> None:
        """Show a compilation, launch by launch; of several targets, target by target."""
        for own in doc.targets or [doc]:
            self._compilation(own)
        show_portability(self, doc.portability)
        if folder:
            self.say("kept_in", folder=folder)

    def _compilation(self, doc: CompileDoc) -> None:
        for launch in doc.launches or [doc]:
            changed = sum(stage.changed for stage in launch.stages)
            self.say(
                "compile_line", style="bold" if launch.status == "ok" else "bold red", kernel=launch.kernel,
                target=launch.target, status=self._word(launch.status), stages=len(launch.stages), changed=changed,
                seconds=launch.seconds,
            )  # fmt: skip
            self.show_launch(launch.launch)
            self._resources(launch.resources)
            if launch.retried_without and launch.status == "ok":
                self.say("retried", style="yellow", indent=2, what=", ".join(launch.retried_without))
            self.resolution(launch, indent=2)
            self._diagnostics(launch.diagnostics)
        show_explanations(self, doc.explanations)

    def resolution(self, doc: CompileDoc | BlameDoc, indent: int = 0) -> None:
        """Say how much is traced to the user's lines, and what the compiler made on its own."""
        if doc.resolved_share is None or doc.compiler_made_share is None:
            return
        made = percent(doc.compiler_made_share)
        self.say("resolved", indent=indent, share=percent(doc.resolved_share), made=made)
        for own in doc.compiler_made:
            self.say(
                "compiler_made", style="dim", indent=indent + 2, count=own.count, op=own.name, by=own.pass_argument,
                why=own.why,
            )  # fmt: skip

    def diagnose(self, doc: DiagnoseDoc) -> None:
        """Show the climb and its findings; of several targets, target by target."""
        for own in doc.targets or [doc]:
            if doc.targets:
                self.line("")
                self.console.rule(f"{own.kernel} @ {own.target}")
            self._diagnosis(own)
        show_portability(self, doc.portability)

    def _diagnosis(self, doc: DiagnoseDoc) -> None:
        self.show_launch(doc.launch)
        if len(doc.launches) > 1:
            names = ", ".join(dict.fromkeys(d.kernel for d in doc.launches))
            self.say("several", indent=2, count=len(doc.launches), names=names)
        self._cost(doc.cost)
        show_profiles(self, doc.profile)
        self._diagnostics(doc.diagnostics)
        self._ladder(doc.ladder)
        show_explanations(self, doc.explanations)
        show_bundles(self, doc.bundles)
        self._findings(doc.findings)
        show_recompiles(self, doc.recompiles)

    def _findings(self, docs: list[FindingDoc]) -> None:
        """Show findings; those that hold next to nothing of the cost share one line."""
        if not docs:
            self.say("no_findings", style="green")
        small = [doc for doc in docs if doc.severity < LEAST_SHOWN]
        for doc in docs:
            if doc not in small:
                self.finding(doc)
        if small:
            named = ", ".join(f"{doc.symptom}:{doc.source.line or '-'}" for doc in small)
            self.line("")
            self.say("small_findings", style="dim", share=percent(LEAST_SHOWN), named=named)

    def finding(self, doc: FindingDoc) -> None:
        """Show one finding: line, structure, pass, proof, evidence, advice."""
        self.line("")
        self.say(
            "finding", style="bold yellow", title=doc.title, share=percent(doc.severity),
            basis=_basis_word(doc.severity_basis, self.lang),
        )  # fmt: skip
        if doc.source.line is not None:
            self.say("at_line", indent=2, line=doc.source.line, text=doc.source.text)
        self.line(doc.explanation, indent=2)
        ops = ", ".join(doc.ir.ops)
        if doc.pass_ is not None:
            self.say("made_by", indent=2, argument=doc.pass_.argument, ops=ops)
        elif ops:
            self.say("structure", indent=2, ops=ops)
        proof = doc.counterfactual
        self.say("counterfactual", indent=2, change=proof.change, verdict=self._word(proof.verdict))
        for cited in doc.evidence:
            self.say(
                "evidence",
                style="dim",
                indent=2,
                passage=cited.passage,
                why=", ".join(reason_words(why, self.lang) for why in cited.why[:SHOWN_REASONS]),
            )
        if not doc.evidence:
            self.say("no_evidence", style="dim", indent=2)
        self.say("advice", style="green", indent=2, advice=doc.advice)
        if doc.limit_of:
            note = message("bundle.owner", project=doc.limit_of)
            self.line(render(note, self.lang), style="yellow", indent=2)

    def round(self, doc: RoundDoc) -> None:
        """Show one round as it ends."""
        style = "green" if doc.verdict == "kept" else "dim"
        self.line(render(round_note(doc), self.lang), style)
        if doc.reason:
            self.say("reason", style="dim", indent=2, text=doc.reason)

    def optimize(self, doc: OptimizeDoc) -> None:
        """Show a whole run: first findings, kept rewrites with their checks, cost before and after."""
        self.line("")
        self.console.rule(f"{doc.kernel} @ {doc.target}  ({doc.file})")
        self._diagnostics(doc.baseline.diagnostics)
        self._findings(doc.findings)
        for entry in doc.rounds:
            self.line("")
            self.round(entry)
            if entry.verdict == "kept":
                self._kept(entry)
        self.line("")
        self._outcome(doc)
        show_model(self, doc)

    def bench(self, doc: BenchDoc, texts: Mapping[str, str] | None = None) -> None:
        """Show costs, one kernel after another; with `texts`, the files' by name, line by line too."""
        show_sweep(self, doc.sweep)
        for kernel in doc.kernels:
            self.show_launch(kernel.launch)
            self._cost(kernel.cost)
            if texts is not None:
                show_lines(self, kernel.cost, dict(enumerate(texts.get(kernel.file, "").splitlines(), 1)))
            self._diagnostics(kernel.diagnostics)

    def _kept(self, entry: RoundDoc) -> None:
        rewrite = entry.rewrite
        if rewrite is None:
            return
        self.say("claim", indent=2, text=rewrite.claim, verdict=self._word(f"claim_{entry.claim_verdict}"))
        self.say("precondition", indent=2, text=rewrite.precondition)
        for passage in rewrite.citations:
            self.say("grounded_in", style="dim", indent=2, passage=passage)
        for line in rewrite.diff.splitlines():
            self.console.print(f"  {line}", style=_DIFF_STYLES.get(line[:1], ""), soft_wrap=True)
        self._checks(entry.checks)
        self._cost(entry.cost)

    def _checks(self, doc: ChecksDoc) -> None:
        self.say(
            "checks", indent=2, level=doc.level, cases=doc.cases, shapes=", ".join(doc.shapes) or "-",
            seeds=", ".join(map(str, doc.seeds)), tolerance=doc.tolerance or "-",
            error="-" if doc.max_error is None else f"{doc.max_error:.2g}",
        )  # fmt: skip
        for reason in doc.reasons:
            self.say("reason", indent=2, text=reason)
        for gap in doc.not_covered:
            self.say("not_covered", style="dim", indent=2, what=gap)

    def _outcome(self, doc: OptimizeDoc) -> None:
        before, after = doc.baseline.cost, doc.best.cost
        why = self._word(f"stop_{doc.stopped.replace(' ', '_')}")
        self.say("stopped", rounds=len(doc.rounds), why=why)
        done = {r.rewrite.symptom for r in doc.rounds if r.rewrite is not None and r.verdict == "kept"}
        left = [f for f in doc.findings if f.symptom not in done and f.severity >= LEAST_BY_HAND]
        if left:
            named = ", ".join(f"{f.symptom}:{f.source.line or '-'} ({percent(f.severity)})" for f in left)
            self.say("by_hand", style="yellow", named=named)
        if doc.best.round == 0:
            self.say("nothing_kept", style="bold", cost=figure(before, self.lang))
        elif doc.best.repaired and after is not None:
            self.say("repaired", style="bold green", after=amount(after.value), basis=self._word(after.basis))
        elif before is not None and after is not None and doc.best.speedup is not None:
            self.say(
                "before_after", style="bold green", before=amount(before.value), after=amount(after.value),
                speedup=f"{doc.best.speedup:.2f}", basis=self._word(after.basis),
            )  # fmt: skip
        self.say("best_in", file=doc.best.file)

    def show_launch(self, doc: LaunchDoc) -> None:
        """Show which launch this is about."""
        programs = doc.grid[0] * doc.grid[1] * doc.grid[2]
        constexprs = ", ".join(f"{name}={value}" for name, value in doc.constexprs.items()) or "-"
        grid = "x".join(map(str, doc.grid))
        self.say("launch", style="bold", kernel=doc.kernel, grid=grid, programs=programs, constexprs=constexprs)

    def _cost(self, doc: CostDoc | None) -> None:
        self.line(figure(doc, self.lang), indent=2)
        if doc is None:
            return
        if doc.bytes_baseline_us is not None:
            self.say("bytes_baseline", style="dim", indent=2, value=amount(doc.bytes_baseline_us))
        for text in doc.remarks[:SHOWN_REMARKS]:
            self.say("remark", style="dim", indent=2, text=text)

    def _resources(self, doc: ResourcesDoc) -> None:
        if doc.gpu is not None:
            gpu = doc.gpu
            self.say(
                "gpu_resources", indent=2, registers=gpu.registers, spills=gpu.spill_store_bytes + gpu.spill_load_bytes,
                shared=gpu.shared_bytes, limit=gpu.shared_limit_bytes, warps=gpu.warps,
                programs=gpu.programs_per_multiprocessor, limited_by=self._word(f"limited_by_{gpu.limited_by}"),
                occupancy=percent(gpu.occupancy),
            )  # fmt: skip
        if not doc.ub_limit_bytes:  # no Ascend device
            return
        rows = (
            ("UB", doc.ub_bytes, doc.ub_limit_bytes),
            ("L1", doc.l1_bytes, doc.l1_limit_bytes),
            ("L0C", doc.l0c_bytes, doc.l0c_limit_bytes),
        )
        for name, used, limit in rows:
            share = "-" if used is None else percent(used / limit)
            shown = self._word("unknown") if used is None else used
            self.say("resource", indent=2, name=name, used=shown, limit=limit, share=share)

    def _diagnostics(self, docs: list[DiagnosticDoc]) -> None:
        for d in docs:
            style = "red" if d.severity == "error" else "yellow"
            if d.line is None:
                self.say(
                    "diagnostic",
                    style=style,
                    indent=2,
                    severity=self._word(f"severity_{d.severity}"),
                    stage=d.stage,
                    message=d.message,
                )
            else:
                self.say(
                    "diagnostic_at", style=style, indent=2, severity=self._word(f"severity_{d.severity}"),
                    stage=d.stage, line=d.line, message=d.message,
                )  # fmt: skip

    def _ladder(self, rungs: list[RungDoc]) -> None:
        self.say("ladder", style="bold")
        for rung in rungs:
            mark = "●" if rung.localized else "○" if rung.entered else "·"
            note = f" [{self._word('localized')}]" if rung.localized else ""
            self.line(f"{mark} {self._word(f'rung_{rung.rung}')}: {rung.reason}{note}", indent=2)

    def _word(self, key: str) -> str:
        return render(message(f"report.{key}"), self.lang)


def figure(doc: CostDoc | None, lang: Lang) -> str:
    """Write a cost with its basis, range and limiter."""
    if doc is None:
        return render(message("report.no_cost"), lang)
    return render(
        message(
            "report.cost", value=amount(doc.value), basis=message(f"report.{doc.basis}"), low=amount(doc.interval.low),
            high=amount(doc.interval.high), limiter=message(f"ladder.limiter_{doc.limiter}"),
        ),
        lang,
    )  # fmt: skip


def reason_words(why: str, lang: Lang) -> str:
    """Say in the user's language why a passage was chosen; a reason of another form stays as it is."""
    found = _WHY.match(why)
    return why if found is None else render(message(f"report.why_{found[1]}", name=found[2]), lang)


def _basis_word(basis: str, lang: Lang) -> str:
    return render(message(f"report.basis_{basis}"), lang)


def percent(share: float) -> str:
    """Write a share for people."""
    return f"{100 * share:.0f} %"


def amount(value: float) -> str:
    """Write microseconds with three significant figures, as the model's error allows."""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"

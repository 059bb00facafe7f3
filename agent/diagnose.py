"""Diagnosis: climb the ladder over one lowering until the findings explain the cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.counterfactual import judge
from agent.explain.explain import Lower, explain
from agent.explain.finding import as_finding
from agent.explain.records import Explanation
from agent.jobs import in_threads
from agent.ladder import Step, dominant, is_explained, not_entered, rungs_up_to
from agent.profile.records import Profiles
from agent.profile.rung import say_measured, say_predicted
from agent.records import RUNGS, Counterfactual, Evidence, Finding, KernelSource, Lowering, Rung, Structure
from agent.sandbox import is_limit
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.registry import find_symptom, symptoms_of
from agent.workbench import Change, Workbench
from indexer.errors import BadInput, SandboxError
from indexer.ir.snapshots import count_ops
from indexer.messages import Lang, Message, message
from indexer.records import Passage
from retriever.attribution import evidence_for
from retriever.records import Hit, Query
from retriever.search import Index

# A counterfactual costs one capture and one compilation (about 0.4 s for a vector kernel on two cores); the shares of
# the findings below the most severe ones are too small for it to matter. The first are judged however small they are:
# in a kernel with few findings they are what it is about.
MAX_COUNTERFACTUALS = 8
LEAST_JUDGED = 0.01
ALWAYS_JUDGED = 2
# A kernel whose last module has more operations takes the compilers more than five seconds (10,000: 13 s on one core),
# and its counterfactuals as long each or several times as long: they are tried only when asked for.
LARGE_OPS = 5_000
# What a counterfactual may take, in compilations of the kernel itself, and at least.
COUNTERFACTUAL_TIMES, COUNTERFACTUAL_SECONDS = 5.0, 20.0
EVIDENCE_PER_FINDING = 4
# The two compilers have separate histories: a passage of the other one proves nothing here.
_SHARED_CORPORA = ("notes", "toolchain", "triton-ascend", "mlir")
_CUDA_CORPORA = ("notes", "triton")
_OWN_CORPUS = {"a3": "ascendnpu-ir", "a5": "ascendnpu-ir-a5"}
# What operations' definitions require is checked by generated code: those words stand in no source.
_GENERATED = "failed to verify that"
# And this is said by MLIR of any pass that converts: the pass is what has no pattern.
_FRAMEWORK = "failed to legalize operation"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the climb found: findings most severe first, and each rung with its reason."""

    lowering: Lowering
    ladder: tuple[Step, ...]
    findings: tuple[Finding, ...]
    explanations: tuple[Explanation, ...] = ()


@dataclass(frozen=True, slots=True)
class _Seen:
    """A structure seen by a symptom on one launch."""

    index: int
    subject: Subject
    symptom: Symptom
    structure: Structure


@dataclass(frozen=True, slots=True)
class _Judged:
    """A verdict, the cost with the structure gone (if confirmed), and whether anything was lowered for it."""

    verdict: Counterfactual
    after_us: float | None
    lowered: bool


def diagnose(  # noqa: PLR0913 - one climb; the last three have defaults
    bench: Workbench,
    source: KernelSource,
    index: Index | None,
    lang: Lang,
    max_rung: Rung = "source",
    *,
    most: int | None = None,
    profiles: Profiles | None = None,
) -> Diagnosis:
    """Diagnose `source`; without an index the findings carry no evidence, and the source rung says so.

    Evidence that exists in both languages is cited in `lang`. At most `most` counterfactuals of a rung are lowered; by
    default `MAX_COUNTERFACTUALS`, and none for a very large kernel. Findings that none is tried for stay open.
    `profiles` are measured elsewhere: the profile rung then speaks of them instead of the prediction.
    """
    lowering = bench.lower(source)
    return _Climb(bench, lowering, index, lang, most, profiles).climb(max_rung)


class _Climb:
    """One climb of the ladder over one lowering."""

    def __init__(
        self, bench: Workbench, lowering: Lowering, index: Index | None, lang: Lang, most: int | None,
        profiles: Profiles | None,
    ) -> None:  # fmt: skip
        self.bench = bench
        self.lowering = lowering
        self.index = index
        self.profiles = profiles
        self.lang: Lang = lang
        self.most = most if most is not None else 0 if is_large(lowering) else MAX_COUNTERFACTUALS
        self.findings: list[Finding] = []
        self.steps: list[Step] = []
        self.explanations: tuple[Explanation, ...] | None = None
        self.subjects = tuple(subjects_of(lowering))

    def climb(self, last: Rung) -> Diagnosis:
        allowed = rungs_up_to(last)
        enter: dict[Rung, Callable[[], None]] = {
            "pattern": self._pattern, "profile": self._profile, "ir": self._ir, "source": self._source,
        }  # fmt: skip
        for rung in RUNGS:
            if rung not in allowed:
                self.steps.append(not_entered(rung, "ladder.not_allowed"))
            elif rung in {"profile", "ir"} and is_explained(self.findings):
                self.steps.append(not_entered(rung, "ladder.explained"))
            else:
                enter[rung]()
            if rung == "ir" and self.explanations is None:
                self._explain(None)
        ordered = sorted(self.findings, key=lambda f: -f.severity)
        return Diagnosis(self.lowering, tuple(self.steps), tuple(ordered), self.explanations or ())

    def _pattern(self) -> None:
        self._find("pattern")
        self._step("pattern", message("ladder.start"))

    def _profile(self) -> None:
        cost = self.lowering.cost
        launch = self.lowering.launches[self.lowering.costliest].launch
        seen = self.profiles.of(launch.kernel) if self.profiles is not None else None
        if seen is not None:
            reason = say_measured(seen, cost, launch, self.bench.target)
        elif cost is None:
            reason = message("ladder.profile_rejected")
        else:
            reason = say_predicted(cost, launch, self.bench.target)
        if self.profiles is not None and seen is None:
            found = ", ".join(dict.fromkeys(p.kernel or "-" for p in self.profiles.kernels)) or "-"
            reason = message("ladder.profile_not_of", kernel=launch.kernel, found=found, reason=reason)
        self._find("profile")
        self._step("profile", reason)

    def _ir(self) -> None:
        self._find("ir")
        self._explain(self.bench.lower)
        self._step("ir", message("ladder.ir"))

    def _source(self) -> None:
        if self.index is None:
            self.steps.append(not_entered("source", "ladder.no_index"))
            return
        if not self.findings:
            self.steps.append(not_entered("source", "ladder.nothing_to_look_up"))
            return
        self.findings = [dataclasses.replace(f, evidence=self._evidence(f)) for f in self.findings]
        self._step("source", message("ladder.source"))

    def _explain(self, lower: Lower | None) -> None:
        """Explain what is refused; a refusal that no symptom has found is a finding of its own."""
        self.explanations = explain(self.lowering, lower, self._cite)
        known = {f.launch_index for f in self.findings if f.severity_basis == "rejected"}
        refused = [e for e in self.explanations if e.kind == "rejected" and e.launch_index not in known]
        self.findings += [as_finding(told, self.lowering) for told in refused]

    def _cite(self, said: str, op: str, pass_argument: str | None) -> tuple[Evidence, ...]:
        """Return where the compiler says something; without such a message, what defines the operation it is about."""
        if self.index is None:
            return ()
        corpora = corpora_of(self.bench.target.arch)
        ops, passes = (op,) if op else (), (pass_argument,) if pass_argument else ()
        wanted = [Query(diagnostics=(said,), corpora=corpora), Query(ops=ops, passes=passes, corpora=corpora)]
        if _GENERATED in said:
            wanted[0] = Query(ops=ops, corpora=corpora)
        elif _FRAMEWORK in said:
            wanted[0] = Query(passes=passes, corpora=corpora)
        hits = next((found for query in wanted if (found := self.index.search(query, EVIDENCE_PER_FINDING))), [])
        own = [h for h in hits if not is_foreign(h.passage, self.bench.target.arch)]
        cited = [Evidence(h.passage.id, h.passage.sha256, h.why) for h in own]
        return tuple(e for e in cited if isinstance(self.index.check_citation(e.passage, e.sha256), Passage))

    def _step(self, rung: Rung, reason: Message) -> None:
        self.steps.append(Step(rung, entered=True, reason=reason, localized=dominant(self.findings) is not None))

    def _find(self, rung: Rung) -> None:
        seen = sorted(self._detect(rung), key=_own_share, reverse=True)
        for item, (verdict, after_us) in zip(seen, self._verdicts(seen), strict=True):
            if verdict.verdict != "refuted":
                self.findings.append(_finding(item, verdict, after_us, self.lowering))

    def _verdicts(self, seen: Sequence[_Seen]) -> list[tuple[Counterfactual, float | None]]:
        """Judge the most severe, several at a time: most of a counterfactual is waiting for compilers."""
        least = round(100 * LEAST_JUDGED)
        note = message("ladder.counterfactual_budget", most=self.most, least=least)
        if not self.most:
            note = message("ladder.no_counterfactuals")
        verdicts: list[tuple[Counterfactual, float | None]] = [(Counterfactual(note, "open"), None)] * len(seen)
        waiting = [
            place for place, item in enumerate(seen) if place < ALWAYS_JUDGED or _own_share(item) >= LEAST_JUDGED
        ]
        left = self.most
        while waiting and left:
            wave, waiting = waiting[:left], waiting[left:]
            for place, judged in zip(wave, in_threads(self._judge, [seen[place] for place in wave]), strict=True):
                verdicts[place] = (judged.verdict, judged.after_us)
                left -= judged.lowered
        return verdicts

    def _detect(self, rung: Rung) -> Iterable[_Seen]:
        for index in self.lowering.active:
            subject = self.subjects[index]
            for symptom in symptoms_of(self.bench.target.arch):
                if symptom.rung == rung:
                    yield from (_Seen(index, subject, symptom, s) for s in symptom.detect(subject))

    def _judge(self, item: _Seen) -> _Judged:
        costs: list[float | None] = []

        def lower(variant: Variant) -> Subject | None:
            found = self._lower_variant(item, variant)
            costs.append(found.cost.value if found is not None and found.cost is not None else None)
            return found

        verdict = judge(item.subject, item.structure, item.symptom, lower)
        after_us = costs[-1] if costs and verdict.verdict == "confirmed" else None
        return _Judged(verdict, after_us, lowered=bool(costs))

    def _lower_variant(self, item: _Seen, variant: Variant) -> Subject | None:
        """Lower a variant and return the launch that corresponds to the item's, None where there is none."""
        source = self.lowering.source
        if variant.source is not None:
            source = dataclasses.replace(source, text=variant.source)
        try:
            seconds = max(COUNTERFACTUAL_SECONDS, COUNTERFACTUAL_TIMES * item.subject.compilation.seconds)
            lowering = self.bench.lower(source, Change(variant.options, variant.compiler_flags, seconds))
        except BadInput:  # the variant's host cannot be captured: the counterfactual stays open
            return None
        except SandboxError as error:
            if not is_limit(error):
                raise
            return None
        twins = [s for s in subjects_of(lowering) if s.launch.kernel == item.subject.launch.kernel]
        same = [s for s in self.subjects if s.launch.kernel == item.subject.launch.kernel]
        place = same.index(item.subject)
        return twins[place] if place < len(twins) else None

    def _evidence(self, finding: Finding) -> tuple[Evidence, ...]:
        symptom = find_symptom(finding.symptom, self.bench.target.arch)
        if symptom is None:  # a refusal, which brought its own
            return finding.evidence
        made_by = finding.structure.pass_argument
        passes = tuple(dict.fromkeys(((made_by,) if made_by else ()) + symptom.passes))
        assert self.index is not None  # noqa: S101 - _source checked it
        corpora = corpora_of(self.bench.target.arch)
        wide = evidence_for(
            self.index, passes, finding.structure.ops, symptom.query, 2 * EVIDENCE_PER_FINDING,
            symptom=symptom.card, corpora=corpora, lang=self.lang,
        )  # fmt: skip
        own = [h for h in wide if not is_foreign(h.passage, self.bench.target.arch) and _is_about(h, symptom)]
        hits = own[:EVIDENCE_PER_FINDING]
        cited = [Evidence(h.passage.id, h.passage.sha256, h.why) for h in hits]
        return tuple(e for e in cited if isinstance(self.index.check_citation(e.passage, e.sha256), Passage))


def is_large(lowering: Lowering) -> bool:
    """Tell whether lowering the kernels again takes so long that it should be asked for."""
    finals = [item.compilation.hivm for item in lowering.launches]
    return sum(count_ops(final.functions) for final in finals if final is not None) > LARGE_OPS


def corpora_of(arch: str) -> tuple[str, ...]:
    """Return the corpora whose passages may be cited for a compiler (`a3`, `a5`, `cuda`)."""
    if arch == "cuda":
        return _CUDA_CORPORA
    return (*_SHARED_CORPORA, _OWN_CORPUS[arch])


def _is_about(hit: Hit, symptom: Symptom) -> bool:
    """Return whether a passage supports this symptom: the card of another one does not, whatever they share.

    Beyond cards, a passage counts when something links it: a pass, a symbol, the card that cites it. Sharing words
    alone proves nothing.
    """
    if hit.passage.corpus == "notes":
        return Path(hit.passage.path).stem == symptom.card
    return any(not why.startswith("words ") for why in hit.why)


def is_foreign(passage: Passage, arch: str) -> bool:
    """Return whether a passage of the toolchain's catalogue is about the other compiler: its folders say which."""
    folder = passage.path.split("/", 1)[0]
    return passage.corpus == "toolchain" and folder in _OWN_CORPUS and folder != arch


def subjects_of(lowering: Lowering) -> Iterable[Subject]:
    """Give each launch of a lowering the form that detectors read."""
    for item in lowering.launches:
        yield Subject(item.launch, item.compilation, item.blames, item.cost, lowering.source.text)


def _own_share(item: _Seen) -> float:
    """Return the share of the launch's predicted cost that the structure can hold at most."""
    cost = item.subject.cost
    if cost is None or not cost.value:
        return 1.0
    launching = item.symptom.share == "launch"
    own = cost.terms.get("launch", 0.0) if launching else cost.by_line.get(item.structure.line, 0.0)
    return min(1.0, item.structure.weight * own / cost.value)


def _finding(item: _Seen, verdict: Counterfactual, after_us: float | None, lowering: Lowering) -> Finding:
    severity, basis = _severity(item, after_us, lowering)
    name, area = item.symptom.id, item.symptom.area
    line = item.structure.line
    text = line_text(item.subject.source, line)
    return Finding(
        name, message(f"{area}.{name}_title"), message(f"{area}.{name}_why"), message(f"{area}.{name}_advice"),
        severity, basis, lowering.source.path, line, text, item.structure, verdict, (), item.index,
    )  # fmt: skip


def line_text(source: str, line: int | None) -> str:
    """Return the text of a line without its indentation, "" for none."""
    lines = source.splitlines()
    return lines[line - 1].strip() if line is not None and 0 < line <= len(lines) else ""


def _severity(item: _Seen, after_us: float | None, lowering: Lowering) -> tuple[float, str]:
    """Return the share of the host's cost that the structure holds, and what that share rests on.

    Best is the counterfactual's predicted saving. Else it is the share of the line, times the part of it that a symptom
    estimates for its structure; where the counterfactual predicts no saving, the basis says that too. A rejected kernel
    holds everything.
    """
    cost = item.subject.cost
    if cost is None:
        return 1.0, "rejected"
    whole = lowering.cost.value if lowering.cost is not None else cost.value
    part = cost.value * item.subject.launch.count / whole if whole else 0.0
    if after_us is not None and after_us < cost.value:
        return min(1.0, part * (1 - after_us / cost.value)), "predicted_counterfactual_saving"
    share = min(1.0, part * _own_share(item))
    if after_us is not None:
        return share, "line_share_without_predicted_saving"
    if item.symptom.share == "line" and item.structure.weight < 1:
        return share, "estimated_part_of_line"
    return share, f"predicted_{item.symptom.share}_share"

"""The JSON contract (design, section 7) as models: what `--json` prints, what a journal keeps, what a renderer reads.

Fields may be added, never renamed. A document is made from records in one language; nothing reads a record back from
one except the journal, which re-reads its own rounds.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from agent.contract_parts import Doc as Doc  # noqa: PLC0414 - the form of all documents, and of others' too
from agent.contract_parts import EvidenceDoc as EvidenceDoc  # noqa: PLC0414
from agent.contract_parts import ExplanationDoc
from agent.contract_run import ChecksDoc as ChecksDoc  # noqa: PLC0414 - parts of what stands here
from agent.contract_run import ClaimVerdict, ModelDoc, ModelTurnDoc, PassageTextDoc
from agent.contract_run import EscalationDoc as EscalationDoc  # noqa: PLC0414
from agent.contract_run import RewriteDoc as RewriteDoc  # noqa: PLC0414
from agent.contract_run import TokensDoc as TokensDoc  # noqa: PLC0414
from agent.profile.documents import PredictedProfileDoc, ProfilesDoc

Basis = Literal["measured", "predicted"]
Verdict = Literal["kept", "slower", "wrong", "rejected", "cheating"]


class IntervalDoc(Doc):
    """A range, in the unit of the value beside it."""

    low: float
    high: float


class CostDoc(Doc):
    """A cost; `basis` never leaves its side."""

    value: float
    unit: Literal["us"] = "us"
    basis: Basis
    interval: IntervalDoc
    limiter: str
    terms: dict[str, float] = Field(default_factory=dict)
    by_line: dict[str, float] = Field(default_factory=dict)
    bytes_baseline_us: float | None = None
    remarks: list[str] = Field(default_factory=list)
    pipes: dict[str, float] = Field(default_factory=dict)
    profile: PredictedProfileDoc | None = None


class ArgumentDoc(Doc):
    """An argument of a launch: a tensor with shape and strides in elements, or a scalar with its value."""

    name: str
    dtype: str
    shape: list[int] | None = None
    strides: list[int] | None = None
    value: float | int | bool | None = None


class LaunchDoc(Doc):
    """A recorded launch."""

    kernel: str
    line: int
    signature: dict[str, str]
    constexprs: dict[str, Any]
    grid: list[int]
    options: dict[str, Any]
    arguments: list[ArgumentDoc]
    group: str
    count: int
    data_dependent: bool


class DiagnosticDoc(Doc):
    """What a compiler said."""

    severity: str
    message: str
    line: int | None
    stage: str
    pass_argument: str | None = Field(alias="pass")


class StageDoc(Doc):
    """One pass that ran."""

    name: str
    position: int
    changed: bool
    ops: int | None


class BufferDoc(Doc):
    """One planned on-chip buffer."""

    space: str
    bytes: int
    offset_bytes: int
    copies: int
    line: int | None
    type: str


class GpuResourcesDoc(Doc):
    """What a program of a CUDA kernel holds, and how many fit a multiprocessor; stack and spills in bytes a thread."""

    registers: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    shared_bytes: int
    shared_limit_bytes: int
    warps: int
    programs_per_multiprocessor: int
    limited_by: str
    occupancy: float


class ResourcesDoc(Doc):
    """Planned peaks against limits, in bytes."""

    ub_bytes: int | None
    ub_limit_bytes: int
    l1_bytes: int | None
    l1_limit_bytes: int
    l0c_bytes: int | None
    l0c_limit_bytes: int
    buffers: list[BufferDoc]
    # Of a CUDA target only, where all of the above are of no device.
    gpu: GpuResourcesDoc | None = None


class MadeDoc(Doc):
    """Final operations that no line asks for: the pass that made them, and why."""

    name: str
    count: int
    pass_argument: str = Field(alias="pass")
    why: str


class CompileDoc(Doc):
    """`tritonkb compile`: the costliest launch at the top, every launch in `launches`.

    `resolved_share` is of the operations that the user's lines became, `compiler_made_share` of all; `compiler_made`
    lists those.
    """

    kernel: str
    target: str
    status: Literal["ok", "rejected"]
    stages: list[StageDoc]
    resources: ResourcesDoc
    diagnostics: list[DiagnosticDoc]
    files: dict[str, str]
    launch: LaunchDoc
    retried_without: list[str]
    resolved_share: float | None
    seconds: float
    compiler_made_share: float | None = None
    compiler_made: list[MadeDoc] = Field(default_factory=list)
    launches: list[CompileDoc] = Field(default_factory=list)
    explanations: list[ExplanationDoc] = Field(default_factory=list)
    # Of several targets: the document of each, this one's own first, and how they differ.
    targets: list[CompileDoc] = Field(default_factory=list)
    portability: list[str] = Field(default_factory=list)


class BlameOpDoc(Doc):
    """Final operations on one line and the pass that made them."""

    name: str
    count: int
    pass_argument: str | None = Field(alias="pass")
    replaced: list[str]


class BlameLineDoc(Doc):
    """One line of the user's file.

    `share` is that of the predicted cost. `bytes` is what all programs move between the chip and global memory for it,
    `buffer_bytes` what it holds of each on-chip memory, all copies of a buffer counted.
    """

    line: int
    text: str
    share: float | None
    ops: list[BlameOpDoc]
    evidence: list[EvidenceDoc]
    bytes: int | None = None
    buffer_bytes: dict[str, int] = Field(default_factory=dict)


class SourceLineDoc(Doc):
    """A line of the kernel, whether operations of it are left or not."""

    line: int
    text: str


class LineStepDoc(Doc):
    """What one pass did to the operations of a line; the first step is the source IR and has no pass."""

    pass_argument: str | None = Field(alias="pass")
    position: int
    compiler: str
    made: list[str]
    replaced: list[str]
    diff: list[str]


class BlameDoc(Doc):
    """`tritonkb blame` of the costliest launch.

    `source` is the whole kernel, also the lines that nothing is left of; `steps` are those of `--pass-by-pass`.
    """

    kernel: str
    target: str
    lines: list[BlameLineDoc]
    resolved_share: float
    compiler_made_share: float = 0.0
    compiler_made: list[MadeDoc] = Field(default_factory=list)
    launch: LaunchDoc | None = None
    cost: CostDoc | None = None
    source: list[SourceLineDoc] = Field(default_factory=list)
    steps: list[LineStepDoc] = Field(default_factory=list)


class RungDoc(Doc):
    """A rung of the ladder: whether it was entered, why, and whether it localised one cause."""

    rung: Literal["pattern", "profile", "ir", "source"]
    entered: bool
    reason: str
    localized: bool


class SourceDoc(Doc):
    """The user's line."""

    file: str
    line: int | None
    text: str


class IrDoc(Doc):
    """The structure in the IR."""

    stage: str
    ops: list[str]
    excerpt: str


class PassDoc(Doc):
    """The pass that made the structure."""

    argument: str
    position: int | None


class CounterfactualDoc(Doc):
    """The change that was tried, and what it showed."""

    change: str
    verdict: Literal["confirmed", "refuted", "open"]
    before: str = ""
    after: str = ""


class FindingDoc(Doc):
    """A localised reason for cost."""

    symptom: str
    title: str
    explanation: str
    severity: float
    severity_basis: str
    source: SourceDoc
    ir: IrDoc
    pass_: PassDoc | None = Field(alias="pass")
    counterfactual: CounterfactualDoc
    evidence: list[EvidenceDoc]
    advice: str
    launch_index: int
    # The project whose compiler's own limit this is, "" where it is the kernel's.
    limit_of: str = ""


class BundleDoc(Doc):
    """A bug report that was written: `lines` of the kernel before and after it was reduced, None where it was not."""

    folder: str
    symptom: str
    line: int | None
    project: str
    files: list[str]
    lines: list[int] | None
    compilations: int


class VaryingDoc(Doc):
    """A parameter that differs between shapes; `follows` is the extent whose value it has, "" for none known."""

    parameter: str
    kind: Literal["constexpr", "one", "type", "alignment"]
    values: list[str]
    line: int | None
    follows: str
    explanation: str
    advice: str


class RecompileDoc(Doc):
    """A kernel that shapes compile anew; `stall_basis` says what the predicted seconds rest on."""

    kernel: str
    line: int
    text: str
    shapes: int
    compilations: int
    avoidable: int
    stall_seconds: float | None
    stall_basis: str
    causes: list[VaryingDoc]


class DiagnoseDoc(Doc):
    """`tritonkb diagnose`."""

    kernel: str
    target: str
    status: Literal["ok", "rejected"]
    launch: LaunchDoc
    launches: list[LaunchDoc]
    ladder: list[RungDoc]
    cost: CostDoc | None
    findings: list[FindingDoc]
    diagnostics: list[DiagnosticDoc]
    explanations: list[ExplanationDoc] = Field(default_factory=list)
    recompiles: list[RecompileDoc] = Field(default_factory=list)
    # None where no reports were asked for, no profiles named.
    bundles: list[BundleDoc] | None = None
    profile: ProfilesDoc | None = None
    # Of several targets: the document of each, this one's own first, and how they differ.
    targets: list[DiagnoseDoc] = Field(default_factory=list)
    portability: list[str] = Field(default_factory=list)


class CandidateDoc(Doc):
    """A candidate of a round besides the one that the round is about; `untried`: a cheaper one was kept first."""

    rewrite: RewriteDoc
    verdict: Verdict | Literal["untried"]
    claim_verdict: ClaimVerdict
    cost: CostDoc | None
    reason: str
    sha256: str


class RoundDoc(Doc):
    """One round of optimisation: the climb, what was proposed, what became of the best candidate, and of the others.

    `ir_before` and `ir_after` are the IR of the finding's line; `passages` are those that no earlier round cites.
    """

    n: int
    entry_rung: str
    deepest_rung: str
    escalations: list[EscalationDoc]
    findings: list[FindingDoc]
    rewrite: RewriteDoc | None
    verdict: Verdict
    checks: ChecksDoc
    cost: CostDoc | None
    claim_verdict: ClaimVerdict
    reason: str
    seconds: float
    entry_reason: str = ""
    ladder: list[RungDoc] = Field(default_factory=list)
    candidates: list[CandidateDoc] = Field(default_factory=list)
    model: ModelTurnDoc | None = None
    ir_before: str = ""
    ir_after: str = ""
    passages: list[PassageTextDoc] = Field(default_factory=list)
    lessons: list[str] = Field(default_factory=list)
    tokens: TokensDoc = TokensDoc()


class BaselineDoc(Doc):
    """The initial kernel."""

    cost: CostDoc | None
    status: Literal["ok", "rejected"]
    diagnostics: list[DiagnosticDoc]


class BestDoc(Doc):
    """The best kernel; round 0 is the initial one. `repaired`: the initial one did not compile: there is no speedup."""

    round: int
    cost: CostDoc | None
    speedup: float | None
    file: str
    repaired: bool = False


class OptimizeDoc(Doc):
    """`tritonkb optimize` of one file."""

    kernel: str
    target: str
    file: str
    out: str
    baseline: BaselineDoc
    findings: list[FindingDoc]
    best: BestDoc
    rounds: list[RoundDoc]
    stopped: str
    tokens: TokensDoc
    seconds: float
    launch: LaunchDoc | None = None
    ladder: str = "full"
    model: ModelDoc | None = None
    # All that findings and rounds cite.
    passages: list[PassageTextDoc] = Field(default_factory=list)

"""The nouns of the acting side: launches, compilations, findings, costs, candidates, rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agent.perf.records import Profile
from indexer.ir.records import Blame as Blame  # noqa: PLC0414 - one of the nouns of this module too
from indexer.ir.records import Snapshot
from indexer.messages import Message

Rung = Literal["pattern", "profile", "ir", "source"]
RUNGS: tuple[Rung, ...] = ("pattern", "profile", "ir", "source")


@dataclass(frozen=True, slots=True)
class TensorArgument:
    """A tensor passed at a launch: Triton dtype (`fp32`), shape and strides in elements."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A number passed at a launch, with its Triton type (`i32`, `i64`, `fp32`)."""

    name: str
    dtype: str
    value: float | int | bool


Argument = TensorArgument | ScalarArgument


@dataclass(frozen=True, slots=True)
class Launch:
    """One distinct launch of a kernel as the host made it.

    `signature` maps run-time parameter names to Triton types in order, `constexprs` the others (specialised ones, such
    as an int equal to 1, included). `grid` has three entries. `options` are the launch options (num_warps, multibuffer
    …). `group` names the autotune group, `count` how often the host launched exactly this. `data_dependent` says that
    the host read a value computed by a kernel, so that this launch may differ with real data. `key` is stable for the
    same kernel, signature, constexprs and options: it names compiled artefacts. `aligned` are the arguments that it is
    compiled for as divisible by 16.
    """

    kernel: str
    file: Path
    line: int
    signature: Mapping[str, str]
    constexprs: Mapping[str, object]
    grid: tuple[int, int, int]
    options: Mapping[str, object] = field(default_factory=dict)
    arguments: tuple[Argument, ...] = ()
    group: str = ""
    count: int = 1
    data_dependent: bool = False
    key: str = ""
    aligned: tuple[str, ...] = ()

    @property
    def programs(self) -> int:
        """Return the number of program instances of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What a compiler said, at the user's line where it knows it; `stage` is ttir, adapter or bishengir.

    `note` is there when the sentence is ours and not the compiler's: then `message` is its English text.
    """

    severity: Literal["error", "warning", "note"]
    message: str
    line: int | None
    stage: str
    pass_argument: str | None = None
    note: Message | None = None


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """One planned on-chip buffer in `space` (ub, cbuf, cc): bytes of one copy, offset of the highest, user's line."""

    space: str
    bytes: int
    offset_bytes: int
    copies: int
    line: int | None
    type: str


@dataclass(frozen=True, slots=True)
class Resources:
    """Planned peak bytes of the on-chip memories against the target's limits; None where the plan never came."""

    ub_bytes: int | None
    ub_limit_bytes: int
    l1_bytes: int | None
    l1_limit_bytes: int
    l0c_bytes: int | None
    l0c_limit_bytes: int
    buffers: tuple[BufferPlan, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineOp:
    """`count` instructions of PTX on a user line (None: not attributable); `width` are the bytes a thread moves."""

    opcode: str
    line: int | None
    width: int
    count: int


@dataclass(frozen=True, slots=True)
class GpuResources:
    """What a program of a CUDA kernel holds, and how many programs fit a multiprocessor.

    `limited_by` is what keeps more away: `warps`, `registers`, `shared` or `blocks`; `occupancy` the share of the
    multiprocessor's warps that are resident. Spills and stack are in bytes a thread.
    """

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

    @property
    def spill_bytes(self) -> int:
        """Return the bytes a thread spills and takes back."""
        return self.spill_store_bytes + self.spill_load_bytes


@dataclass(frozen=True, slots=True)
class Stage:
    """One pass that ran, in order: whether it changed the module, and how many operations it left (None: unchanged)."""

    name: str
    position: int
    changed: bool
    ops: int | None


@dataclass(frozen=True, slots=True)
class Compilation:
    """The result of lowering one launch for one target; a rejected kernel is a result, not an exception.

    `snapshots` are the changed dumps in order (adapter, then bishengir); `hivm` is the module just before
    `convert-hivm-to-std` on A2/A3, or the last HIVM-level module on 950 (None when rejected before it).
    `retried_without` lists what the compiler silently switched off to make it fit (for example multi-buffering).
    For a CUDA target `hivm` is the final TTGIR, `gpu` what a program holds, and `machine` its PTX by line.
    """

    launch: Launch
    target: str
    status: Literal["ok", "rejected"]
    stages: tuple[Stage, ...]
    snapshots: tuple[Snapshot, ...]
    resources: Resources
    diagnostics: tuple[Diagnostic, ...]
    files: Mapping[str, Path]
    hivm: Snapshot | None = None
    retried_without: tuple[str, ...] = ()
    seconds: float = 0.0
    gpu: GpuResources | None = None
    machine: tuple[MachineOp, ...] = ()


@dataclass(frozen=True, slots=True)
class Interval:
    """A range that the value is expected to lie in, same unit as the value."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Cost:
    """A time in microseconds with its basis; a speedup is formed only between equal bases.

    `limiter` names what dominates (load, store, vector, cube, scalar, sync, launch, imbalance). `terms` splits the
    value by these, `by_line` by the user's line (None: not attributable), both in the same unit. `bytes_by_line` splits
    `bytes_moved`, what all programs together move between the chip and GM, by the user's line. `pipes` are the shares
    of an average program's time in which each pipe of its core works. `profile` is what else a predicted profile holds,
    of the costliest launch where several are summed.
    """

    value: float
    basis: Literal["measured", "predicted"]
    interval: Interval
    limiter: str
    unit: Literal["us"] = "us"
    terms: Mapping[str, float] = field(default_factory=dict)
    by_line: Mapping[int | None, float] = field(default_factory=dict)
    bytes_moved: int = 0
    bytes_by_line: Mapping[int | None, int] = field(default_factory=dict)
    baseline_us: float | None = None
    remarks: tuple[Message, ...] = ()
    pipes: Mapping[str, float] = field(default_factory=dict)
    profile: Profile | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage that supports a finding: its id, the hash it had when cited, and why it was chosen."""

    passage: str
    sha256: str
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The smallest change that should remove the structure, and what re-lowering showed."""

    change: Message
    verdict: Literal["confirmed", "refuted", "open"]
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Structure:
    """What a detector saw: the operations, an excerpt, the stage, the pass that made it and the user's line.

    `weight` is the part of the line's cost, 0..1, that would go with the structure at best.
    """

    symptom: str
    line: int | None
    ops: tuple[str, ...]
    excerpt: str
    stage: str
    pass_argument: str | None
    position: int | None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Finding:
    """A localised reason for cost. `severity` is 0..1, the share named by `severity_basis`."""

    symptom: str
    title: Message
    explanation: Message
    advice: Message
    severity: float
    severity_basis: str
    file: Path
    line: int | None
    text: str
    structure: Structure
    counterfactual: Counterfactual
    evidence: tuple[Evidence, ...] = ()
    launch_index: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """How a kernel file is entered when the file alone does not say (design, section 4).

    `function` is the host function of `module:function`; `kernel` selects one kernel by name; `signature`,
    `constexprs` and `grid` describe a bare kernel file (form 5).
    """

    function: str = ""
    kernel: str = ""
    signature: tuple[str, ...] = ()
    constexprs: Mapping[str, object] = field(default_factory=dict)
    grid: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A kernel file: `path` names it to the user, `text` is what is compiled (a candidate's differs from the disk)."""

    path: Path
    text: str
    entry: Entry = field(default_factory=Entry)


@dataclass(frozen=True, slots=True)
class Lowered:
    """One launch, compiled, with blame and predicted cost (None when rejected)."""

    launch: Launch
    compilation: Compilation
    blames: tuple[Blame, ...]
    cost: Cost | None


@dataclass(frozen=True, slots=True)
class Lowering:
    """All distinct launches of one host for one target; `cost` is their sum over one run of the host."""

    source: KernelSource
    target: str
    launches: tuple[Lowered, ...]
    cost: Cost | None

    @property
    def active(self) -> tuple[int, ...]:
        """Return the indices of the launches that count.

        Of an autotune group with a configuration that compiles that is the cheapest one, as the tuner would take it; of
        all others every launch.
        """
        best: dict[str, int] = {}
        for index, item in enumerate(self.launches):
            if item.launch.group and item.cost is not None:
                other = self.launches[best[item.launch.group]].cost if item.launch.group in best else None
                if other is None or item.cost.value < other.value:
                    best[item.launch.group] = index
        return tuple(i for i, item in enumerate(self.launches) if best.get(item.launch.group, i) == i)

    @property
    def costliest(self) -> int:
        """Return the index of the active launch that costs most; a rejected one counts as the costliest."""
        return max(self.active, key=lambda i: float("inf") if (cost := self.launches[i].cost) is None else cost.value)

"""The bench every use case works at: a source goes in, its launches come out compiled, blamed and costed."""

from __future__ import annotations

import dataclasses
import gc
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent.capture import Capture, CapturedLaunch, capture
from agent.jobs import in_threads
from agent.perf.cuda import predict_cuda
from agent.perf.predict import predict, sum_costs
from agent.records import Compilation, Cost, KernelSource, Launch, Lowered, Lowering, Resources
from agent.sandbox import SandboxPolicy
from agent.toolchain.ascend import COMPILE_SECONDS, compile_ttir
from agent.toolchain.client import Worker
from agent.toolchain.cuda import NO_ASCEND_MEMORIES, compile_cuda, disassemble
from agent.toolchain.cuda_install import CudaInstall, find_cuda
from agent.toolchain.cuda_targets import CudaTarget
from agent.toolchain.install import AscendInstall, find_ascend
from agent.toolchain.targets import Device, Target
from agent.toolchain.warm import lend_worker
from indexer.ir.blame import trace

# Objects made between two looks for garbage cycles. IR is trees of small records, which go when nobody holds them: with
# Python's 700 a fifth of the time went into looking through them in vain, and no memory came back.
_OBJECTS_BETWEEN_COLLECTIONS = 200_000


@dataclass(frozen=True, slots=True)
class Change:
    """What a lowering does differently from the source: launch options and compiler flags; and how long it may take."""

    options: Mapping[str, object] = dataclasses.field(default_factory=dict)
    flags: tuple[str, ...] = ()
    seconds: float = COMPILE_SECONDS


AS_IS = Change()


class Compiler(Protocol):
    """What a workbench needs of a compiler: TTIR to a compilation, and a compilation to a predicted cost."""

    @property
    def limits(self) -> Resources:
        """Return what the device has, with nothing used."""

    def compile(
        self, ttir: str, launch: Launch, printed_file: str, out: Path, change: Change, *, every_pass: bool
    ) -> Compilation:
        """Lower one launch; the files stay in `out`."""

    def cost(self, made: Compilation) -> Cost | None:
        """Predict the time of a launch that compiled."""


@dataclass(frozen=True, slots=True)
class _Ascend:
    """AscendNPU-IR behind triton-ascend's adapter, as programs of their own."""

    install: AscendInstall
    target: Target

    @property
    def limits(self) -> Resources:
        return Resources(None, self.target.ub_bytes, None, self.target.l1_bytes, None, self.target.l0c_bytes)

    def compile(
        self, ttir: str, launch: Launch, printed_file: str, out: Path, change: Change, *, every_pass: bool
    ) -> Compilation:
        return compile_ttir(
            self.install, ttir, launch, self.target, printed_file, out,
            flags=change.flags, seconds=change.seconds, every_pass=every_pass,
        )  # fmt: skip

    def cost(self, made: Compilation) -> Cost | None:
        return predict(made, self.target)


@dataclass(frozen=True, slots=True)
class _Cuda:
    """Upstream Triton, inside the worker."""

    worker: Worker
    install: CudaInstall
    target: CudaTarget

    @property
    def limits(self) -> Resources:
        return NO_ASCEND_MEMORIES

    def compile(
        self, ttir: str, launch: Launch, printed_file: str, out: Path, _change: Change, *, every_pass: bool
    ) -> Compilation:
        made = compile_cuda(self.worker, ttir, launch, self.target, printed_file, out, every_pass=every_pass)
        return disassemble(self.install, made) if every_pass else made

    def cost(self, made: Compilation) -> Cost | None:
        return predict_cuda(made, self.target)


def _compiler_of(worker: Worker, install: AscendInstall | CudaInstall, target: Device) -> Compiler:
    if isinstance(target, CudaTarget) and isinstance(install, CudaInstall):
        return _Cuda(worker, install, target)
    if isinstance(target, Target) and isinstance(install, AscendInstall):
        return _Ascend(install, target)
    raise ValueError(f"{target.name} is not compiled by the toolchain of {install.python}")


class Workbench:
    """Lowers sources for one target with one warm worker.

    The same source under the same change is lowered once, whichever threads ask for it. With `every_pass` the stages
    also name the passes that changed nothing, which costs more time.
    """

    def __init__(
        self,
        worker: Worker,
        install: AscendInstall | CudaInstall,
        target: Device,
        scratch: Path,
        *,
        every_pass: bool = False,
    ) -> None:
        self.worker = worker
        self.install = install
        self.target = target
        self.compiler = _compiler_of(worker, install, target)
        self.scratch = scratch
        self.every_pass = every_pass
        self._known: dict[tuple[object, ...], Future[Lowering]] = {}
        self._lock = threading.Lock()

    def lower(
        self, source: KernelSource, change: Change = AS_IS, *, fresh: bool = False, keep: Path | None = None
    ) -> Lowering:
        """Capture the launches of `source`, compile, blame and cost each.

        `fresh` repeats everything in new processes even if it is known; `keep` is a folder for the IR of every stage,
        one folder a launch in it. Raises `BadInput` when the host cannot be
        captured, `SandboxError` when it runs into a limit, `ToolchainError` when a tool is missing.
        """
        key = (source.path, source.text, repr(source.entry), repr(sorted(change.options.items())), change.flags)
        with self._lock:
            known = None if fresh or keep is not None else self._known.get(key)
            if known is None:
                made = self._known[key] = Future()
        if known is not None:
            return known.result()
        try:
            made.set_result(self._lower(source, change, keep))
        except BaseException as error:
            made.set_exception(error)
            with self._lock:
                self._known.pop(key, None)
            raise
        return made.result()

    def _lower(self, source: KernelSource, change: Change, keep: Path | None) -> Lowering:
        captured = capture(self.worker, source, self.target.name)

        def lower(number: int) -> Lowered:
            out = None if keep is None else keep / f"{number:02d}"
            return self._lower_launch(captured, captured.launches[number], change, out)

        launches = tuple(in_threads(lower, range(len(captured.launches))))
        return Lowering(source, self.target.name, launches, host_cost(launches))

    def _lower_launch(self, captured: Capture, item: CapturedLaunch, change: Change, out: Path | None) -> Lowered:
        launch = dataclasses.replace(item.launch, options={**item.launch.options, **change.options})
        if item.ttir is None:
            return Lowered(launch, self._refused(launch, item), (), None)
        place = out or self._folder()
        made = self.compiler.compile(
            item.ttir, launch, captured.printed_file, place, change, every_pass=self.every_pass
        )
        if made.hivm is None or made.status == "rejected":
            return Lowered(launch, made, (), None)
        return Lowered(launch, made, trace(made.snapshots, made.hivm), self.compiler.cost(made))

    def _refused(self, launch: Launch, item: CapturedLaunch) -> Compilation:
        """Give the compilation of a launch that Triton's own front end refuses."""
        told = () if item.diagnostic is None else (item.diagnostic,)
        return Compilation(launch, self.target.name, "rejected", (), (), self.compiler.limits, told, {})

    def _folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.scratch))


def host_cost(launches: tuple[Lowered, ...]) -> Cost | None:
    """Sum the launches of one run of the host; of an autotune group only the cheapest configuration runs.

    None when a launch outside a group, or a whole group, is rejected.
    """
    groups: dict[str, list[Cost]] = {}
    costs: list[Cost] = []
    for item in launches:
        if item.launch.group:
            groups.setdefault(item.launch.group, [])
            if item.cost is not None:
                groups[item.launch.group].append(item.cost)
        elif item.cost is None:
            return None
        else:
            costs += [item.cost] * item.launch.count
    if not all(groups.values()):
        return None
    costs += [min(found, key=lambda cost: cost.value) for found in groups.values()]
    return sum_costs(tuple(costs)) if costs else None


@contextmanager
def open_workbench(target: Device, policy: SandboxPolicy, *, every_pass: bool = False) -> Iterator[Workbench]:
    """Give one use of the product a worker and a scratch folder; the folder is gone afterwards."""
    install = find_cuda() if isinstance(target, CudaTarget) else find_ascend()
    with (
        _rare_collections(),
        tempfile.TemporaryDirectory(prefix="tritonkb-") as scratch,
        lend_worker(install, policy) as worker,
    ):
        yield Workbench(worker, install, target, Path(scratch), every_pass=every_pass)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let Python look for garbage cycles seldom."""
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


Lower = Callable[[KernelSource, Change], Lowering]

"""Linalg IR of one kernel to a shared library that runs its whole grid on the CPU.

What runs is the module that the Ascend compilers receive from triton-ascend, through LLVM's own lowering: the
numerics of that IR, and nothing of the passes after it. The library is a stranger's code: load it in the sandbox only.
"""

from __future__ import annotations

import hashlib
import platform
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from agent.records import Launch
from agent.verify.cleanup import clean
from agent.verify.driver import RUNTIME, entry_symbol, write_loops
from agent.verify.externals import UnknownExternal
from agent.verify.llvm import Llvm, ToolFailed, find_llvm, identify, missing_tools, run_tool
from agent.verify.signature import DeviceArgument, DeviceFunction, Unreadable, read_function
from indexer.messages import Message, message

_LOWERING = (
    "--allow-unregistered-dialect",
    "--inline",
    "--canonicalize",
    "--transform-preload-library=transform-library-paths=order.mlir",
    "--transform-interpreter",
    "--convert-elementwise-to-linalg",
    "--linalg-fuse-elementwise-ops",
    "--eliminate-empty-tensors",
    "--empty-tensor-to-alloc-tensor",
    "--one-shot-bufferize=allow-return-allocs-from-loops=true",
    "--buffer-loop-hoisting",
    "--canonicalize",
    "--cse",
    "--convert-linalg-to-loops",
    "--expand-strided-metadata",
    "--memref-expand",
    "--lower-affine",
    "--convert-scf-to-cf",
    "--convert-vector-to-llvm",
    "--convert-math-to-llvm",
    "--convert-math-to-libm",
    "--arith-expand=include-bf16=true",
    "--convert-complex-to-llvm",
    "--convert-arith-to-llvm",
    "--convert-index-to-llvm",
    "--finalize-memref-to-llvm=use-generic-functions=1",
    "--convert-func-to-llvm",
    "--convert-cf-to-llvm",
    "--lower-affine",
    "--convert-arith-to-llvm",
    "--reconcile-unrealized-casts",
)
# No -ffast-math: results are compared, so every operation keeps its IEEE meaning.
_CLANG_FLAGS = ("-O2", "-c", "-fPIC", "-w", "-ffp-contract=off")
# How the IR spells Triton's scalar types; those not named here are spelt the same. A sign is no part of an IR type.
_IR_TYPES = {"u1": "i1", "u8": "i8", "u16": "i16", "u32": "i32", "u64": "i64"} | {
    "fp16": "f16",
    "fp32": "f32",
    "fp64": "f64",
}


@dataclass(frozen=True, slots=True)
class Library:
    """A compiled kernel: call `symbol` of the library at `path` with the launch's run-time arguments and the grid."""

    path: Path
    symbol: str
    arguments: tuple[DeviceArgument, ...]


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """The IR cannot be run this way; `reason` says why, and the interpreter takes over."""

    reason: Message


def build_library(linalg_text: str, launch: Launch, out: Path) -> Library | NotBuilt:
    """Build the library of one launch in folder `out`; one built before from the same text is taken as it is."""
    tools = find_llvm()
    if tools is None:
        return NotBuilt(message("verify.no_llvm", tools=", ".join(missing_tools())))
    try:
        function = read_function(linalg_text)
    except Unreadable as error:
        return NotBuilt(message("verify.unreadable_ir", kernel=launch.kernel, found=error))
    if not _fits(function, launch.signature):
        return NotBuilt(message("verify.other_signature", kernel=launch.kernel))
    try:
        source = clean(linalg_text, function)
    except UnknownExternal as error:
        return NotBuilt(message("verify.unknown_external", kernel=launch.kernel, symbol=error.name))
    loops = write_loops(function)
    library = Library(out / f"{_digest(source, loops)}.so", entry_symbol(function.name), function.arguments)
    if library.path.exists():
        return library
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out) as scratch:
        failed = _compile(tools, source, loops, Path(scratch))
        if failed is not None:
            return NotBuilt(message("verify.tool_failed", kernel=launch.kernel, tool=failed.tool, said=failed.output))
        Path(scratch, "kernel.so").replace(library.path)
    return library


def _compile(tools: Llvm, source: str, loops: str, folder: Path) -> ToolFailed | None:
    """Leave `kernel.so` in `folder`, or say which tool failed."""
    (folder / "kernel.mlir").write_text(source, encoding="utf-8")
    (folder / "order.mlir").write_text(_matmul_order(), encoding="utf-8")
    runtime = _runtime(tools, folder.parent)
    if isinstance(runtime, ToolFailed):
        return runtime
    failed = run_tool([tools.mlir_opt, "kernel.mlir", *_LOWERING, "-o", "lowered.mlir"], folder) or run_tool(
        [tools.mlir_translate, "--mlir-to-llvmir", "lowered.mlir", "-o", "kernel.ll"], folder
    )
    if failed is not None:
        return failed
    with (folder / "kernel.ll").open("a", encoding="utf-8") as ir:
        ir.write(loops)
    return run_tool([tools.clang, *_CLANG_FLAGS, _native(), "kernel.ll", "-o", "kernel.o"], folder) or run_tool(
        [tools.linker, "-shared", "-Bsymbolic", "kernel.o", runtime, "-o", "kernel.so", "-lm", "-lc"], folder
    )


def _runtime(tools: Llvm, out: Path) -> Path | ToolFailed:
    """Compile the C that all kernels share, once for a folder; it comes into being whole."""
    made = out / f"{_digest(RUNTIME, '')}.o"
    if made.exists():
        return made
    with tempfile.TemporaryDirectory(dir=out) as scratch:
        Path(scratch, "runtime.c").write_text(RUNTIME, encoding="utf-8")
        failed = run_tool([tools.clang, *_CLANG_FLAGS, _native(), "runtime.c", "-o", "runtime.o"], Path(scratch))
        return failed or Path(scratch, "runtime.o").replace(made)


def _native() -> str:
    return "-mcpu=native" if platform.machine() == "aarch64" else "-march=native"


def _fits(function: DeviceFunction, signature: Mapping[str, str]) -> bool:
    """Tell whether the function takes what the launch passes, in order; an element type may be widened (i1 to i8)."""
    given = list(signature.values())
    return len(given) == len(function.arguments) and all(
        argument.pointer if triton_type.startswith("*") else argument == _scalar(triton_type)
        for argument, triton_type in zip(function.arguments, given, strict=True)
    )


def _scalar(triton_type: str) -> DeviceArgument:
    return DeviceArgument(_IR_TYPES.get(triton_type, triton_type), pointer=False)


@cache
def _matmul_order() -> str:
    return resources.files("agent.verify").joinpath("matmul_order.mlir").read_text(encoding="utf-8")


@cache
def _processor() -> str:
    """Return what native code here depends on, so that a cache shared by machines stays right."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.exists() else []
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())


@cache
def builder_identity() -> tuple[str, ...]:
    """Return what decides a build besides the IR: how it is lowered, what is around it, the tools, the machine.

    Without the tools, which then build nothing, they are left out.
    """
    tools = find_llvm()
    programs = () if tools is None else (tools.mlir_opt, tools.mlir_translate, tools.clang, tools.linker)
    ours = (RUNTIME, _matmul_order(), *_LOWERING, *_CLANG_FLAGS, *_sources())
    return (*ours, *map(identify, programs), platform.machine(), _processor())


def _sources() -> Iterator[str]:
    """Yield our own code that shapes the IR on its way: another version of it builds other libraries."""
    for name in ("cleanup", "driver", "externals", "linalg", "signature"):
        yield resources.files("agent.verify").joinpath(f"{name}.py").read_text(encoding="utf-8")


def _digest(source: str, loops: str) -> str:
    """Name a build inside one run."""
    return hashlib.sha256("\0".join((source, loops, *builder_identity())).encode()).hexdigest()[:32]

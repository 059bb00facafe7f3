"""Launch options of triton-ascend as flags of the two compilers.

The names and their defaults are those of `NPUOptions` in triton-ascend 3.2.0 (backends/ascend/compiler.py:566-625),
the flags those that its `linalg_to_bin_enable_npu_compile_*` passes (same file, 341-560).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from agent.toolchain.targets import Target

# option: flag, for options that are passed only when set, by compiler.
_BOTH = {
    "enable_hivm_auto_cv_balance": "--enable-hivm-auto-cv-balance",
    "unit_flag": "--enable-hivm-unit-flag-sync",
    "inject_barrier_all": "--enable-hivm-inject-barrier-all-sync",
    "limit_auto_multi_buffer_only_for_local_buffer": "--limit-auto-multi-buffer-only-for-local-buffer",
    "limit_auto_multi_buffer_of_local_buffer": "--limit-auto-multi-buffer-of-local-buffer",
    "set_workspace_multibuffer": "--set-workspace-multibuffer",
    "tile_mix_vector_loop": "--tile-mix-vector-loop",
    "tile_mix_cube_loop": "--tile-mix-cube-loop",
}
_FLAGS: dict[str, dict[str, str]] = {
    "a5": _BOTH,
    "a3": _BOTH | {
        "sync_solver": "--enable-hivm-graph-sync-solver",
        "inject_block_all": "--enable-hivm-inject-block-all-sync",
        "disable_auto_inject_block_sync": "--disable-auto-inject-block-sync",
    },
}  # fmt: skip
# triton-ascend reads this from the environment (TRITON_ALL_BLOCKS_PARALLEL); here it is an option like the others.
_ALL_BLOCKS_PARALLEL = "all_blocks_parallel"


@dataclass(frozen=True, slots=True)
class AdapterPass:
    """One pass asked of triton-adapter-opt, with its options as one text ("" for none)."""

    argument: str
    options: str = ""

    @property
    def flag(self) -> str:
        """Return the pass as a command-line argument."""
        return f"--{self.argument}" + (f"={self.options}" if self.options else "")


def adapter_passes(target: Target, options: Mapping[str, object]) -> tuple[AdapterPass, ...]:
    """Return the adapter's pipeline for these launch options, in order (compiler.py:111-130)."""
    on_950 = target.arch == "a5"
    simt = bool(options.get("force_simt_template")) or options.get("compile_mode") == "unstructured_in_simt"
    mode = f"compile-on-910-95={on_950} force-simt-template={simt}"
    linalg = (
        f"global-kernel=false named-ops=True enable-nd2nz-on-vector={options.get('enable_nd2nz_on_vector', False)} "
        f"enable-select-analysis={options.get('enable_select_analysis', on_950)} compile-on-910-95={on_950}"
    )
    first = (AdapterPass("triton-linearize"),) if options.get("enable_linearize") else ()
    return (
        *first,
        AdapterPass("discrete-mask-access-conversion", mode),
        AdapterPass("triton-to-annotation"),
        AdapterPass("triton-to-unstructure", mode),
        AdapterPass("triton-to-hivm"),
        AdapterPass("triton-to-hfusion"),
        AdapterPass("triton-to-llvm"),
        AdapterPass("bubble-up-operation"),
        AdapterPass("triton-to-linalg", linalg),
    )


def bishengir_flags(target: Target, options: Mapping[str, object]) -> list[str]:
    """Return the flags of bishengir-compile[-a5] for these launch options, debug information included."""
    on_a3 = target.arch == "a3"
    flags = [
        f"--target={target.chip}",
        "--enable-hfusion-compile=true",
        "--enable-triton-kernel-compile=true",
        "--enable-debug-info=true",
        # Both default to False for 950 (NPUOptions: `not is_compile_on_910_95`).
        f"--enable-auto-multi-buffer={options.get('multibuffer', on_a3)}",
        f"--enable-auto-bind-sub-block={options.get('enable_auto_bind_sub_block', on_a3)}",
    ]
    if on_a3:
        flags.append("--enable-hivm-compile=true")
    if options.get(_ALL_BLOCKS_PARALLEL):
        flags.append("--enable-auto-blockify-loop")
    known = _FLAGS[target.arch]
    return flags + [f"{known[name]}={v}" for name, v in options.items() if name in known and v is not None]


def compiler_for(target: Target) -> Literal["bishengir-compile", "bishengir-compile-a5"]:
    """Return the compiler's program for `target`."""
    return "bishengir-compile" if target.arch == "a3" else "bishengir-compile-a5"

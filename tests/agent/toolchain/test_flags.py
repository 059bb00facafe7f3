"""Launch options become the compilers' flags."""

from __future__ import annotations

from agent.toolchain.flags import adapter_passes, bishengir_flags
from agent.toolchain.targets import find_target

A3, A5 = find_target("ascend910b3"), find_target("ascend950")


def test_multi_buffering_is_on_for_a3_and_off_for_950_unless_asked():
    assert "--enable-auto-multi-buffer=True" in bishengir_flags(A3, {})
    assert "--enable-auto-multi-buffer=False" in bishengir_flags(A5, {})
    assert "--enable-auto-multi-buffer=True" in bishengir_flags(A5, {"multibuffer": True})


def test_an_option_is_passed_only_when_set_and_only_to_the_compiler_that_has_it():
    options = {"unit_flag": None, "tile_mix_cube_loop": 4, "sync_solver": False, "num_warps": 8}
    assert bishengir_flags(A3, options)[-2:] == ["--tile-mix-cube-loop=4", "--enable-hivm-graph-sync-solver=False"]
    assert bishengir_flags(A5, options)[-1] == "--tile-mix-cube-loop=4"


def test_the_adapter_is_told_the_target_and_the_mode():
    by_name = {p.argument: p.flag for p in adapter_passes(A5, {"compile_mode": "unstructured_in_simt"})}
    assert by_name["triton-to-unstructure"].endswith("=compile-on-910-95=True force-simt-template=True")
    assert "enable-select-analysis=True" in by_name["triton-to-linalg"]
    assert adapter_passes(A3, {"enable_linearize": True})[0].argument == "triton-linearize"

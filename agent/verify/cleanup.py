"""Linalg IR of the Ascend compilers made into what LLVM's tools read, with the meaning the next passes give it."""

from __future__ import annotations

import re

from agent.verify.externals import UnknownExternal, define_externals
from agent.verify.signature import DeviceFunction

# The device function's name in the library: a kernel may be called `exp` or `double`.
DEVICE_SYMBOL = "tritonkb_program"
# A hint for a later pass, of an unregistered dialect whose usual form LLVM cannot parse; it computes nothing.
_HINT = re.compile(r"^\s*annotation\.mark .*$", re.MULTILINE)
_WITH_INDEX = re.compile(
    r"^(?P<indent> *)(?P<head>%\w+:2 = linalg\.reduce ins\([^)]*\) outs\()(?P<init>%\w+)"
    r"(?P<middle>, %\w+ : (?P<type>tensor<(?:\d+x)*i(?P<bits>\d+)>).*reduce_mode = \"(?P<mode>max|min)_with_index\")",
    re.MULTILINE,
)


# Assembly reaches what no kernel needs: `.incbin` reads any file of the machine that assembles it.
_ASSEMBLY = re.compile(r"\binline_asm\b|\bmodule_asm\b|\bmodule asm\b")


def clean(text: str, function: DeviceFunction) -> str:
    """Rewrite the module's text; raises `UnknownExternal` for what has no body here: a library function, assembly."""
    if found := _ASSEMBLY.search(text):
        raise UnknownExternal(found[0])
    text = _HINT.sub("", text).replace(f"func.func @{function.name}(", f"func.func @{DEVICE_SYMBOL}(", 1)
    return define_externals(_WITH_INDEX.sub(_start_from_identity, text))


def _start_from_identity(match: re.Match[str]) -> str:
    """Start an integer argmax or argmin from the least or greatest value of its own type.

    The adapter writes -128 or 127 for every width (triton-ascend@23ac2717:ascend/triton-adapter/lib/TritonToLinalg/
    ArgMinMaxConverter.cpp:64,108); the compiler goes by `reduce_mode` and starts from the type's own
    (AscendNPU-IR@8796a8ac:bishengir/lib/Dialect/HIVM/IR/HIVMVectorOps.cpp:547-577).
    """
    bits, name = int(match["bits"]), f"%start{match.start()}"
    value = -(1 << (bits - 1)) if match["mode"] == "max" else (1 << (bits - 1)) - 1
    fill = f"linalg.fill ins({name}_value : i{bits}) outs({match['init']} : {match['type']}) -> {match['type']}"
    lines = [f"{name}_value = arith.constant {value} : i{bits}", f"{name} = {fill}"]
    lines.append(f"{match['head']}{name}{match['middle']}")
    return "\n".join(match["indent"] + line for line in lines)

"""The `lower` job: TTIR -> cubin with upstream Triton's own pipeline, and what every pass made of it; no device.

Triton prints the module before each pass (MLIR_ENABLE_DUMP) in the dialects' own form. Each state that differs from
the one before is read back and printed in MLIR's generic form, which needs no parser for each dialect. Its bindings
cannot ask for that form, but MLIR prints it for a module that its verifier refuses: the copy gets an attribute where
it does not belong.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from triton import knobs
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget, Language
from triton.compiler.compiler import make_backend

# `Inliner (inline)`; newer ones write `InlinerPass: inline{options}`.
_HEADER = re.compile(
    r"^// -----// IR Dump Before \S+ \(?(?P<argument>[\w-]+)(?:\)|\{.*\})? \('builtin\.module' operation\) //----- //$",
    re.MULTILINE,
)
# The pipeline prints its own steps inside of its section, and nested passes print one function.
_INNER = re.compile(r"^// -----// ", re.MULTILINE)
# From this stage on the module is control flow and LLVM: its passes are named on demand, its states are not read.
_LOW_STAGE = "llir"
# Stands on a module or not at all: on a function the verifier of the dialect refuses it.
_MISPLACED = "ttg.num-ctas"
_DUMP = "MLIR_ENABLE_DUMP"
_TEXTS = ("ttgir", "llir", "ptx")


def lower(header: dict[str, Any], blobs: list[bytes], folder: Path) -> tuple[dict[str, Any], list[bytes]]:
    """Lower the module in the first blob; answer with the passes, the changed states, the texts, and what was said."""
    source = folder / "source.ttir"
    source.write_bytes(blobs[0])
    backend = make_backend(GPUTarget("cuda", int(header["capability"]), 32))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = ir.parse_mlir_module(str(source), context)
    module.context = context
    lowering = _Lowering(folder / "said.txt", every_pass=bool(header["every_pass"]))
    with lowering.heard(), contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            lowering.run(backend, backend.parse_options(dict(header["options"])), module)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the compiler raises is its diagnostic
            lowering.failure = f"{type(error).__name__}: {error}"
    runs, states, rest = lowering.split(blobs[0].decode())
    generic = [_print_generic(text, context, folder) for _, text in states]
    return {
        "status": "ok",
        "failure": lowering.failure,
        "stage": lowering.stage,
        "metadata": {k: v for k, v in lowering.metadata.items() if isinstance(v, int | float | str)},
        "log": printed.getvalue(),
        "said": rest,
        "passes": runs,
        "states": [place for place, _ in states],
        "texts": list(lowering.texts),
    }, [*(text.encode() for text in (*generic, *lowering.texts.values())), lowering.cubin]


class _Lowering:
    """One run of the stages: what each of them gave, and what Triton printed meanwhile."""

    def __init__(self, said: Path, *, every_pass: bool) -> None:
        self.said, self.every_pass = said, every_pass
        self.texts: dict[str, str] = {}
        self.metadata: dict[str, Any] = {}
        self.failure: str | None = None
        self.stage = ""
        self.cubin = b""
        self.tensors_end: int | None = None

    def run(self, backend: Any, options: Any, module: Any) -> None:
        """Run the stages; what was reached stays when one of them raises."""
        stages: dict[str, Any] = {}
        backend.add_stages(stages, options, Language.TRITON)
        knobs.nvidia.dump_ptxas_log = True
        for name, step in stages.items():
            self.stage = name
            if name == _LOW_STAGE:
                self.tensors_end = self.said.stat().st_size
                if not self.every_pass:
                    del os.environ[_DUMP]
            module = step(module, self.metadata)
            if name in _TEXTS:
                self.texts[name] = str(module)
        self.cubin = bytes(module)
        self.stage = ""

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """Let Triton print each state, and send what it and its tools print to a file."""
        os.environ[_DUMP] = "1"
        kept = os.dup(2)
        to = os.open(self.said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(to, 2)
        os.close(to)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            os.environ.pop(_DUMP, None)

    def split(self, source: str) -> tuple[list[str], list[tuple[int, str]], str]:
        """Return the passes in order; the states that differ, each with the number of its pass; the errors said.

        The state before a pass is what the one before it left, so pass number n left what stands before n + 1.
        """
        said = self.said.read_bytes()
        high = said[: self.tensors_end].decode(errors="replace")
        low = b"" if self.tensors_end is None else said[self.tensors_end :]
        heads = list(_HEADER.finditer(high))
        runs = [head["argument"] for head in heads]
        bodies = [_body(high, head.end(), after) for head, after in zip(heads, [*heads[1:], None], strict=False)]
        if "ttgir" in self.texts:
            bodies.append(self.texts["ttgir"])
        states: list[tuple[int, str]] = []
        for number, body in enumerate(bodies):
            if not states or body.strip() != states[-1][1].strip():
                states.append((number - 1, body))
        runs += [head["argument"] for head in _HEADER.finditer(low.decode(errors="replace"))]
        errors = [line for line in high.splitlines() if ": error: " in line]
        return runs, states or [(-1, source)], "\n".join(errors)


def _body(said: str, start: int, after: Any) -> str:
    text = said[start : after.start() if after is not None else len(said)]
    inner = _INNER.search(text)
    return text[: inner.start()] if inner else text


def _print_generic(text: str, context: Any, folder: Path) -> str:
    """Print a module in generic form, with locations."""
    file = folder / "state.mlir"
    file.write_text(text, encoding="utf-8")
    module = ir.parse_mlir_module(str(file), context)
    number = ir.builder(context).get_int32_attr(1)
    names: list[str] = []
    module.walk(lambda op: names.append(op.get_str_attr("sym_name")) if op.get_name() == "tt.func" else None)
    module.get_function(names[0]).set_attr(_MISPLACED, number)
    return str(module)

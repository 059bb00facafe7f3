"""Whose a structure is: the kernel's, or a compiler's own limit; and which project keeps that compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agent.records import Compilation, Evidence, Finding, Lowering
from agent.symptoms.table import SYMPTOMS

Project = Literal["AscendNPU-IR", "triton-ascend", "Triton", "LLVM/MLIR"]
# Passes that come with MLIR; everything else that bishengir-compile runs is its own.
_UPSTREAM = frozenset({
    "canonicalize", "cse", "inline", "loop-invariant-code-motion", "loop-invariant-subset-hoisting",
    "one-shot-bufferize", "symbol-dce", "fold-tensor-empty", "convert-scf-to-cf", "lower-affine",
})  # fmt: skip
_LIMITS = frozenset(s.id for s in SYMPTOMS if s.is_limit)
# Refusals that no rule of the language explains.
_FAULTS = frozenset({
    "compiler_crash", "compiler_stall", "compiler_silent", "front_end_crash", "not_legalized", "not_lowered",
    "verifier",
})  # fmt: skip
# Corpora and the projects that they are of; a passage of the compiler's source names the file.
_SOURCES = ("ascendnpu-ir", "ascendnpu-ir-a5", "triton-ascend", "mlir", "triton")
_CODE = (".cpp", ".h", ".td", ".py")


def is_compilers(finding: Finding) -> bool:
    """Tell whether a finding is the compiler's own limit: the source asks for nothing that must be slow or refused."""
    return finding.symptom in _LIMITS | _FAULTS


def project_of(finding: Finding, made: Compilation) -> Project:
    """Return the project that owns the pass of a finding, or of a refusal the part that refuses."""
    named = finding.structure.pass_argument
    if named in _UPSTREAM:
        return "LLVM/MLIR"
    by = next((s.compiler for s in made.snapshots if s.pass_argument == named), finding.structure.stage)
    if by == "ttir":
        return "triton-ascend" if named else "Triton"
    return "triton-ascend" if by == "adapter" else "AscendNPU-IR"


def limit_of(finding: Finding, lowering: Lowering) -> str:
    """Return the project whose compiler's own limit a finding is, "" where it is the kernel's."""
    return project_of(finding, lowering.launches[finding.launch_index].compilation) if is_compilers(finding) else ""


def suspected_file(evidence: Sequence[Evidence]) -> str:
    """Return the passage of the compiler's source that is cited first, "" for none."""
    for cited in evidence:
        corpus, _, place = cited.passage.partition("@")
        if corpus in _SOURCES and place.partition("#")[0].endswith(_CODE):
            return cited.passage
    return ""

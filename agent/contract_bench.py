"""The JSON contract of `tritonkb bench`: what kernels cost as they are, and the configurations of a sweep."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from agent.contract import CostDoc, DiagnosticDoc, LaunchDoc
from agent.contract_parts import Doc


class BenchKernelDoc(Doc):
    """The cost of one launch as it is; null when the compiler rejects it."""

    kernel: str
    file: str
    target: str
    launch: LaunchDoc
    cost: CostDoc | None
    diagnostics: list[DiagnosticDoc]


class TriedDoc(Doc):
    """One configuration of `--sweep`; `measure` marks those that only a measurement can choose among."""

    file: str
    config: dict[str, Any]
    status: Literal["ok", "rejected", "pruned"]
    cost: CostDoc | None
    note: str
    measure: bool


class FailureDoc(Doc):
    """A file of several that could not be read or captured."""

    file: str
    message: str
    exit_code: int


class BenchDoc(Doc):
    """`tritonkb bench`; with `--sweep`, the configurations in place of the kernels as they are."""

    kernels: list[BenchKernelDoc]
    failures: list[FailureDoc] = Field(default_factory=list)
    sweep: list[TriedDoc] = Field(default_factory=list)

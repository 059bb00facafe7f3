"""What a compiler's words stand for."""

from __future__ import annotations

import pytest

from agent.explain.causes import cause_of, words_of
from agent.records import Diagnostic
from agent.toolchain.diagnostics import Overflow, crashed, explain_overflow, silent_failure, timed_out


def said(text: str) -> Diagnostic:
    return Diagnostic("error", text, 3, "ttir")


@pytest.mark.parametrize(
    ("text", "key", "values"),
    [
        (
            "'hivm.hir.vsort' op failed to verify that operand at idx 0 should have element type 16-bit float",
            "element_type",
            {"op": "hivm.hir.vsort", "allowed": "16-bit float"},
        ),
        ("'toy.copy' op needs two tiles", "verifier", {"op": "toy.copy", "rule": "needs two tiles"}),
        ("failed to legalize operation 'linalg.reduce' that was marked", "not_legalized", {"op": "linalg.reduce"}),
        ("unsupported AST node type: Continue", "loop_left", {"found": "Continue"}),
        ("unsupported AST node type: DictComp", "python_construct", {"found": "DictComp"}),
        ("NameError('scale is not defined')", "unknown_name", {"name": "scale"}),
        (
            "Mismatched type for y between then block (<[8], fp32>) and else block (<[8], int32>)')",
            "branch_types",
            {"name": "y", "found": "<[8], fp32>", "other": "<[8], int32>"},
        ),
        ("something that nobody has said yet", "other", {}),
    ],
)
def test_the_words_give_the_cause_with_its_names(text: str, key: str, values: dict[str, str]) -> None:
    found = cause_of(said(text))
    assert (found.key, dict(found.values)) == (key, values)


@pytest.mark.parametrize(
    ("diagnostic", "key"),
    [
        (crashed("bishengir", "tool", -11, None), "compiler_crash"),
        (timed_out("adapter", "tool", 120), "compiler_stall"),
        (silent_failure("bishengir", "tool", 1, ""), "compiler_silent"),
    ],
)
def test_a_crash_a_stall_and_a_silent_end_are_causes_too(diagnostic: Diagnostic, key: str) -> None:
    assert cause_of(diagnostic).key == key


def test_an_overflow_keeps_the_compilers_words_for_the_citation() -> None:
    words = "cc overflow, requires 8388608 bits while 1048576 bits available!"
    told = explain_overflow(Overflow("cc", 1048576, 131072, words), None, "hivm-plan-memory")
    assert cause_of(told).key == "l0c_overflow"
    assert words_of(told) == words
    assert words_of(said("plain")) == "plain"
    assert words_of(said("AssertionError('two (2) types')")) == "two (2) types"

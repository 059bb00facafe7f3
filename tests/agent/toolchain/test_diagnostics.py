"""What a compiler prints becomes the real cause, at the user's line."""

from __future__ import annotations

from agent.records import BufferPlan
from agent.toolchain.diagnostics import (
    Overflow,
    explain_overflow,
    find_overflow,
    parse_diagnostics,
    retried_options,
    silent_failure,
)
from indexer.messages import render

OVERFLOW = 'loc("k.py":3:0): error: ub overflow, requires 4194304 bits while 1572864 bits available! (possible reason)'
PIPELINE = 'loc("k.py":3:0): error: Failed to run BiShengHIR pipeline'


def test_the_cause_is_kept_once_and_the_noise_dropped():
    text = f"{PIPELINE}\n\n{OVERFLOW}\n{PIPELINE}\n{OVERFLOW}\n[ERROR] Failed to run BiShengIR pipeline"
    (only,) = parse_diagnostics(text, "k.py", "bishengir", "hivm-plan-memory")
    assert only.message.startswith("ub overflow, requires")
    assert (only.severity, only.line, only.pass_argument) == ("error", 3, "hivm-plan-memory")


def test_the_line_is_that_of_the_users_frame():
    text = 'loc(callsite("standard.py":175:44 at "k.py":9:29)): error: failed to legalize operation \'linalg.reduce\''
    (only,) = parse_diagnostics(text, "k.py", "bishengir", None)
    assert only.line == 9


def test_a_line_in_the_usual_form_of_mlir_is_read_too():
    (only,) = parse_diagnostics("k.py:5:16: error: something odd", "k.py", "adapter", None)
    assert (only.message, only.line) == ("something odd", 5)


def test_what_the_verifier_says_comes_before_other_errors_and_warnings():
    text = (
        'loc("k.py":1:0): warning: beware\n'
        "loc(\"k.py\":6:12): error: 'hivm.hir.vmul' op failed to verify that operands are right\n"
        'loc("k.py":2:0): error: something else\n'
    )
    assert [d.line for d in parse_diagnostics(text, "k.py", "bishengir", None)] == [6, 2, 1]


def test_an_overflow_is_said_in_bytes_with_the_largest_buffer():
    found = find_overflow(parse_diagnostics(OVERFLOW, "k.py", "bishengir", None))
    assert found is not None
    assert (found.space, found.needed_bytes, found.available_bytes) == ("ub", 524288, 196608)
    assert found.said == OVERFLOW.partition("error: ")[2]
    said = explain_overflow(found, BufferPlan("ub", 131072, 0, 2, 8, "memref<…>"), "hivm-plan-memory")
    assert said.line == 8
    for number in ("524288", "196608", "262144", "line 8"):
        assert number in said.message
    assert said.note is not None
    assert "第 8 行" in render(said.note, "zh")


def test_an_overflow_without_buffers_still_has_its_numbers():
    said = explain_overflow(Overflow("cc", 1048576, 131072), None, "hivm-plan-memory")
    assert "L0C overflow: the kernel needs 1048576 bytes at once, the device has 131072" in said.message


def test_a_silent_failure_quotes_the_last_line():
    said = silent_failure(
        "bishengir", "bishengir-compile", 1, "some trace\n[ERROR] Failed to run BiShengIR pipeline\n\n"
    )
    assert "code 1" in said.message
    assert said.message.endswith("some trace")


def test_the_options_of_a_retry_are_named():
    text = (
        "[NOTE] Ub overflow detected; automatically set enable-code-motion to false and retrying compilation.\n"
        "[NOTE] Ub overflow detected; automatically set enable-auto-multi-buffer to false and retrying compilation.\n"
    )
    assert retried_options(text) == ("enable-code-motion", "enable-auto-multi-buffer")

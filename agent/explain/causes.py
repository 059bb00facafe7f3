"""A compiler's words -> the cause they stand for, with the names and types in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from agent.records import Diagnostic

_MEMORIES = {"UB": "ub_overflow", "L1": "l1_overflow", "L0C": "l0c_overflow"}
# Our own sentences about a compiler that gave none.
_OWN = {"compile.crashed": "compiler_crash", "compile.timed_out": "compiler_stall", "compile.silent": "compiler_silent"}
# How Python prints an exception that another one carries.
_WRAPPED = re.compile(r"\w+(?:Error|Exception)\((['\"])(.*)\1\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cause:
    """What a message means; `values` are what it fills in (op, allowed, found, name)."""

    key: str
    values: Mapping[str, str]


# In order: the first that fits is meant. Named groups become values of the catalogue sentences.
_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (key, re.compile(pattern, re.DOTALL))
    for key, pattern in (
        ("element_type", r"'(?P<op>[\w.]+)' op failed to verify that .*should have element type (?P<allowed>.+)"),
        ("verifier", r"'(?P<op>[\w.]+)' op (?P<rule>.+)"),
        ("not_legalized", r"failed to legalize operation '(?P<op>[\w.]+)'"),
        ("not_lowered", r"operation being parsed with an unregistered dialect"),
        ("front_end_crash", r"front end crashed \(signal (?P<signal>\d+)\)"),
        ("function_type", r"(?:Expected dtype|only supports) \[?(?P<allowed>.+?)\]?,? ?but got (?P<found>[^')]+)"),
        ("dot_types_differ", r"[Bb]oth operands must be same dtype. Got (?P<found>\w+ and \w+)"),
        ("dot_out_type", r"out_dtype=(?P<found>\w+) is unsupported"),
        ("dot_type", r"Unsupported [lr]hs dtype (?P<found>\w+)"),
        ("dot_shapes", r"are not compatible for matmul"),
        ("fp8_type", r"unexpected type (?P<found>fp8\w*)"),
        ("shapes_differ", r"incompatible dimensions at index (?P<axis>\d+): (?P<found>\d+ and \d+)"),
        ("range_run_time", r"arange's arguments must be of type tl.constexpr"),
        ("range_power", r"(?:arange's range|[Ss]hape element \d+) must be a power of 2"),
        ("tile_too_large", r"numel \((?P<found>\d+)\) exceeds triton maximum tensor numel \((?P<allowed>\d+)\)"),
        ("loop_left", r"unsupported AST node type: (?P<found>Break|Continue)"),
        ("loop_return", r"Cannot have `return` statements inside"),
        ("loop_type", r"(?P<name>\w+) has initial type (?P<found>.+?) but is re-assigned to (?P<other>.+?) in"),
        ("branch_types", r"(?P<name>\w+) between then block \((?P<found>.+?)\) .*else block \((?P<other>.+?)\)(?:'|$)"),
        ("host_name", r"Cannot access global variable (?P<name>\w+)"),
        ("tile_indexed", r"unsupported tensor index"),
        ("unknown_name", r"(?P<name>\w+) is not defined"),
        ("python_construct", r"unsupported AST node type: (?P<found>\w+)"),
    )
)  # fmt: skip


def cause_of(diagnostic: Diagnostic) -> Cause:
    """Return the cause that a compiler's first error stands for; `other` where nothing is known of it."""
    note = diagnostic.note
    if note is not None and note.key.startswith("compile.overflow"):
        values = {name: str(note.values[name]) for name in ("space", "needed", "available")}
        return Cause(_MEMORIES[values["space"]], values)
    if note is not None and note.key in _OWN:
        return Cause(_OWN[note.key], {})
    for key, pattern in _WORDS:
        found = pattern.search(diagnostic.message)
        if found:
            return Cause(key, {name: text.strip() for name, text in found.groupdict(default="").items()})
    return Cause("other", {})


def words_of(diagnostic: Diagnostic) -> str:
    """Return the compiler's own words, also where our sentence stands for them: the sources are searched by them."""
    said = diagnostic.note.values.get("said") if diagnostic.note is not None else None
    wrapped = _WRAPPED.fullmatch(diagnostic.message)
    return str(said) if said else wrapped[2] if wrapped else diagnostic.message

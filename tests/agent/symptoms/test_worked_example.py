"""The symptom that CONTRIBUTING shows works as printed, and a symptom is one file and one line of code."""

from __future__ import annotations

import re
import types
from functools import cache
from pathlib import Path

import pytest

from agent.counterfactual import judge
from agent.diagnose import subjects_of
from agent.records import KernelSource
from agent.sandbox import SandboxPolicy
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.table import SYMPTOMS
from agent.toolchain.targets import find_target
from agent.workbench import open_workbench

ROOT = Path(__file__).parents[3]
# A rewrite may remove a symptom; a kernel that overflows is explained whether or not a symptom is looked for.
# The CUDA compiler has symptoms of the same names, in a table of its own.
ELSEWHERE = ("agent/rewrite/", "agent/explain/", "agent/symptoms/cuda/")


@cache
def sources() -> tuple[tuple[str, str], ...]:
    paths = (ROOT / "agent").rglob("*.py")
    return tuple((path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths)


def blocks() -> list[str]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text.partition("## Worked example")[2], re.DOTALL)


def example() -> Symptom:
    module = types.ModuleType("const_div")
    exec(compile(blocks()[0], "CONTRIBUTING.md", "exec"), module.__dict__)  # noqa: S102 - the text is our own
    made = module.CONST_DIV
    assert isinstance(made, Symptom)
    return made


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda s: s.id)
def test_the_code_knows_a_symptom_in_its_file_and_in_the_table_only(symptom: Symptom) -> None:
    named = re.compile(rf"""["']{symptom.id}["']|\b{symptom.id.upper()}\b""")
    found = {name for name, text in sources() if named.search(text)}
    own = {f"agent/symptoms/{symptom.id}.py", "agent/symptoms/table.py"}
    assert {name for name in found if not name.startswith(ELSEWHERE)} == own


@pytest.mark.toolchain
def test_the_example_finds_its_slow_kernel_and_its_change_removes_the_structure() -> None:
    symptom = example()
    slow = blocks()[1]
    line = slow.splitlines().index("    tl.store(o_ptr + place, x / 3.0)") + 1
    with open_workbench(find_target("ascend910b3"), SandboxPolicy()) as bench:

        def subject(text: str) -> Subject:
            return next(iter(subjects_of(bench.lower(KernelSource(Path("const_div_slow.py"), text)))))

        def lower(variant: Variant) -> Subject:
            assert variant.source is not None
            return subject(variant.source)

        found = symptom.detect(subject(slow))
        assert [(s.line, s.pass_argument) for s in found] == [(line, symptom.passes[0])]
        verdict = judge(subject(slow), found[0], symptom, lower)
        assert verdict.verdict == "confirmed"
        assert symptom.detect(subject(slow.replace("x / 3.0", "x * (1.0 / 3.0)"))) == []

"""Subjects made of kernel text and a launch, as a compiled one would give them to a rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.records import Argument, Compilation, Launch, Resources, Structure
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import LANGUAGES, render

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\n"


@pytest.fixture
def apply() -> Callable[..., Rewrite | None]:
    """Apply a rule to a kernel `kern` whose text comes after the imports and the decorator."""

    def applied(
        rule: Callable[[Subject, Structure], Rewrite | None],
        text: str,
        signature: dict[str, str],
        constexprs: dict[str, object],
        *,
        at: str = "",
        grid: tuple[int, int, int] = (4096, 1, 1),
        arguments: tuple[Argument, ...] = (),
    ) -> Rewrite | None:
        source = HEAD + text
        line = next((n for n, row in enumerate(source.splitlines(), 1) if at in row), None) if at else None
        launch = Launch("kern", Path("kern.py"), 7, signature, constexprs, grid, arguments=arguments)
        limits = Resources(None, 192 << 10, None, 512 << 10, None, 128 << 10)
        made = Compilation(launch, "ascend910b3", "ok", (), (), limits, (), {})
        seen = Structure("symptom", line, (), "", "", None, None)
        found = rule(Subject(launch, made, (), None, source), seen)
        for note in (found.claim, found.precondition) if found is not None else ():
            assert all(render(note, lang) for lang in LANGUAGES)
        return found

    return applied

"""What a language model is told; one text file a task."""

from __future__ import annotations

from importlib import resources
from string import Template


def prompt(name: str, **values: str) -> str:
    """Return the prompt `name`, its `$placeholders` filled."""
    text = resources.files("agent.prompts").joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return Template(text).substitute(values)

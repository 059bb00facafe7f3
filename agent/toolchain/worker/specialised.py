"""What binding a call gives, whichever Triton did it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Specialised:
    """A bound call: its values, what the compiler is given, and the keywords that are no parameters."""

    bound: dict[str, Any]
    signature: dict[str, str]
    constants: dict[str, Any]
    attrs: Any
    options: Any
    excess: dict[str, Any]

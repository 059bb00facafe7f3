"""TOML for every supported Python: the standard library has it from 3.11 on."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:  # the same parser under its first name
    import tomli as tomllib


def parse_toml(text: str) -> dict[str, Any]:
    """Parse `text`; raises `ValueError` (the decoder's own subclass) where it is not TOML."""
    table: dict[str, Any] = tomllib.loads(text)
    return table

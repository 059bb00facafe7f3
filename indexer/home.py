"""The folder where everything that tritonkb keeps lies."""

from __future__ import annotations

import os
from pathlib import Path


def data_home() -> Path:
    """Return the folder of everything tritonkb keeps: `TRITONKB_HOME`, else the platform's data folder."""
    named = os.environ.get("TRITONKB_HOME")
    if named:
        return Path(named)
    from platformdirs import user_data_path  # noqa: PLC0415 - only paths need it

    return user_data_path("tritonkb", appauthor=False)

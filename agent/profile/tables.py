"""CSV files of profilers: columns by name, whatever their case; numbers or nothing."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

Row = Mapping[str, str]
_BYTE_ORDER = "utf-8-sig"  # some versions begin the file with a mark


def read_rows(path: Path) -> list[Row]:
    """Return the rows by lower-case column name; raises `OSError`, `UnicodeDecodeError` or `csv.Error`.

    Lines before the header, such as those that ncu prints of itself, begin with "==" and are left out.
    """
    text = path.read_text(encoding=_BYTE_ORDER)
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("==")]
    reader = csv.DictReader(lines, strict=True)
    return [{_plain(name): (value or "").strip() for name, value in row.items() if name is not None} for row in reader]


def _plain(name: str) -> str:
    return " ".join(name.strip().lower().split())


def number(row: Row, *names: str) -> float | None:
    """Return the first of these columns that holds a number; thousands may be set apart by commas."""
    for name in names:
        try:
            value = float(row.get(name, "").replace(",", ""))
        except ValueError:
            continue
        if math.isfinite(value):
            return value
    return None


def missing(rows: Iterable[Row], wanted: Iterable[str]) -> list[str]:
    """Return the wanted columns that no row has."""
    known = {name for row in rows for name in row}
    return [name for name in wanted if name not in known]

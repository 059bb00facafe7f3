"""How large a device's memories are and how many cores it has, as the compiler's table of targets says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from indexer.records import Passage
from retriever.facts import line_at
from retriever.search import Index

# Records of devices: a family's class, and devices that are of it.
TABLE = "NPUTargetSpec.td"
_RECORD = re.compile(r"^(?:class|def)\s+(?P<name>\w+)[^:{;]*:\s*(?P<base>\w+)[^{;]*\{(?P<body>[^}]*)\}", re.MULTILINE)
_LET = re.compile(r"\blet\s+(?P<field>\w+)\s*=\s*(?P<value>\d+)\s*;")
# `Ascend910B3Spec`, `Ascend910_93_BaseSpec`.
_SPEC = re.compile(r"_?(?:_Base)?Spec$")
_DEVICE = re.compile(r"(?<![A-Za-z0-9_])(?:ascend[ _-]?)?(?P<name>[39]\d0[a-z0-9_]*)(?![A-Za-z0-9_])", re.IGNORECASE)
_HOW_LARGE = re.compile(r"\bsize\b|\bbig\b|\blarge\b|capacity|how much|多大|大小|容量|多少", re.IGNORECASE)
_HOW_MANY = re.compile(r"how many|number of|\bcounts?\b|多少|几个|数量", re.IGNORECASE)
# What users call the fields, and whether one asks how large or how many.
_FIELDS: Mapping[str, tuple[re.Pattern[str], re.Pattern[str]]] = {
    name: (re.compile(rf"(?<![A-Za-z0-9])(?:{said})(?![A-Za-z0-9])", re.IGNORECASE), asks)
    for name, said, asks in (
        ("UbSize", "ub|unified buffer|统一缓冲区?", _HOW_LARGE), ("L1Size", "l1", _HOW_LARGE),
        ("L0aSize", "l0a", _HOW_LARGE), ("L0bSize", "l0b", _HOW_LARGE), ("L0cSize", "l0c", _HOW_LARGE),
        ("AiCoreCount", "ai ?cores?|ai ?核", _HOW_MANY), ("CubeCoreCount", "cube ?cores?|cube ?核|aic", _HOW_MANY),
        ("VectorCoreCount", "vector ?cores?|vector ?核|向量核|aiv", _HOW_MANY),
    )
}  # fmt: skip
BITS_PER_KIB = 8192


@dataclass(frozen=True, slots=True)
class DeviceFact:
    """What the table says at `line` of one field: the same of all `devices`, of which the first stands there."""

    devices: tuple[str, ...]
    field: str
    value: int
    passage: Passage
    line: int

    @property
    def kib(self) -> int | None:
        """Return the size of a memory, which the table has in bits, in KiB; None for a count."""
        return self.value // BITS_PER_KIB if self.field.endswith("Size") else None


@dataclass(frozen=True, slots=True)
class _Record:
    """A device or a family, by its name without `Ascend`; what each field is, and where that stands."""

    name: str
    base: str
    values: Mapping[str, tuple[int, Passage, int]]

    @property
    def short(self) -> str:
        return self.name.lower().removeprefix("ascend")


def device_facts(index: Index, question: str, corpora: Sequence[str] = ()) -> Iterator[DeviceFact]:
    """Yield the sizes and counts that are asked for, of the devices named, or of all families; alike ones as one."""
    asked = [name for name, (said, asks) in _FIELDS.items() if said.search(question) and asks.search(question)]
    devices = [m["name"].lower().rstrip("x") for m in _DEVICE.finditer(question)]
    for table in _tables(index, corpora) if asked else ():
        for field in asked:
            alike: dict[int, list[tuple[_Record, Passage, int]]] = {}
            for record, (value, passage, line) in _chosen(table, devices, field):
                alike.setdefault(value, []).append((record, passage, line))
            for value, group in alike.items():
                names = tuple(dict.fromkeys(record.name for record, _, _ in group))
                yield DeviceFact(names, field, value, group[0][1], group[0][2])


def _chosen(
    table: Mapping[str, _Record], devices: Sequence[str], field: str
) -> Iterator[tuple[_Record, tuple[int, Passage, int]]]:
    """Yield the records that are asked about with what they say of a field, themselves or by their family."""
    known = [(record, told) for record in table.values() if (told := _told(table, record, field)) is not None]
    families = {record.base for record in table.values()}
    general = [pair for pair in known if any(table.get(name) is pair[0] for name in families)] or known
    if not devices:
        yield from general
    for device in devices:
        exact = [pair for pair in known if pair[0].short == device]
        yield from exact or [pair for pair in known if pair[0].short.startswith(device)]


def _told(table: Mapping[str, _Record], record: _Record, field: str) -> tuple[int, Passage, int] | None:
    at: _Record | None = record
    while at is not None and field not in at.values:
        at = table.get(at.base)
    return at.values[field] if at is not None else None


def _tables(index: Index, corpora: Sequence[str]) -> list[dict[str, _Record]]:
    """Return the records of each corpus's table, by the names that they have in TableGen."""
    shelf = index.generation.shelf
    tables: dict[str, dict[str, _Record]] = {}
    for row in shelf.rows(shelf.paths_ending(TABLE)):
        passage = row.passage
        if corpora and passage.corpus not in corpora:
            continue
        for m in _RECORD.finditer(passage.text):
            values = {
                let["field"]: (int(let["value"]), passage, line_at(passage, m.start("body") + let.start()))
                for let in _LET.finditer(m["body"])
            }
            tables.setdefault(passage.corpus, {})[m["name"]] = _Record(_SPEC.sub("", m["name"]), m["base"], values)
    return list(tables.values())

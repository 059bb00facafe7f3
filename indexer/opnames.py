"""Operation names from TableGen: `def VAddOp : HIVM_BinaryOp<"vadd">` is `hivm.hir.vadd`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_DIALECT = re.compile(r"\bdef\s+(?P<record>\w+)\s*:\s*Dialect\b.*?\blet\s+name\s*=\s*\"(?P<name>[^\"]+)\"", re.DOTALL)
_CLASS = re.compile(
    r"\bclass\s+(?P<name>\w+)(?:\s*<(?P<parameters>.*?)>)?\s*:\s*(?P<base>\w+)\s*<(?P<arguments>.*)", re.DOTALL
)
_OPERATION = re.compile(r"\bdef\s+(?P<name>\w+)\s*:\s*(?P<base>\w+)\s*<(?P<arguments>.*)", re.DOTALL)
_STRING = re.compile(r'"([\w.]*)"')


@dataclass(frozen=True, slots=True)
class _Base:
    """What a class puts before its mnemonic."""

    parent: str
    dialect: str
    prefix: str


class OpNames:
    """Resolves the full names of the operations defined in a set of TableGen definitions."""

    def __init__(self, definitions: Iterable[str]) -> None:
        texts = list(definitions)
        self._dialects = {m["record"]: m["name"] for text in texts for m in _DIALECT.finditer(text)}
        self._classes = {base[0]: base[1] for text in texts if (base := _read_class(text)) is not None}

    def name_of(self, definition: str) -> str | None:
        """Return the full name of the operation that `definition` defines, None if it defines none."""
        found = _OPERATION.search(definition)
        if not found:
            return None
        arguments = found["arguments"][:400]
        if found["base"] == "Op":
            record = arguments.split(",")[0].strip()
            return self._full(record, "", _STRING.search(arguments))
        base = self._classes.get(found["base"])
        while base is not None and not base.dialect:
            base = self._classes.get(base.parent)
        return self._full(base.dialect, base.prefix, _STRING.match(arguments.lstrip())) if base else None

    def _full(self, record: str, prefix: str, mnemonic: re.Match[str] | None) -> str | None:
        dialect = self._dialects.get(record, record.removesuffix("_Dialect").lower())
        return f"{dialect}.{prefix}{mnemonic[1]}" if mnemonic else None


def _read_class(text: str) -> tuple[str, _Base] | None:
    found = _CLASS.search(text)
    if not found:
        return None
    if found["base"] != "Op":
        return found["name"], _Base(found["base"], "", "")
    record, _, rest = found["arguments"].partition(",")
    prefix = _STRING.search(rest.split("[")[0])
    return found["name"], _Base("Op", record.strip(), prefix[1] if prefix else "")

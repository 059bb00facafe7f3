"""Operation names from TableGen: `def VAddOp : HIVM_BinaryOp<"vadd">` is `hivm.hir.vadd`, in C++ `hivm::VAddOp`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_DIALECT = re.compile(r"\bdef\s+(?P<record>\w+)\s*:\s*Dialect\b(?P<body>.*)", re.DOTALL)
_DIALECT_NAME = re.compile(r"\blet\s+name\s*=\s*\"(?P<name>[^\"]+)\"")
_NAMESPACE = re.compile(r"\blet\s+cppNamespace\s*=\s*\"(?:[\w:]*::)?(?P<name>\w+)\"")
_CLASS = re.compile(
    r"\bclass\s+(?P<name>\w+)(?:\s*<(?P<parameters>.*?)>)?\s*:\s*(?P<base>\w+)\s*<(?P<arguments>.*)", re.DOTALL
)
_OPERATION = re.compile(r"\bdef\s+(?P<name>\w+)\s*:\s*(?P<base>\w+)\s*<(?P<arguments>.*)", re.DOTALL)
_STRING = re.compile(r'"([\w.]*)"')


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation by its name in the IR and its class in C++ (`namespace` is the innermost one).

    `dialect` is the dialect's record in TableGen.
    """

    name: str
    namespace: str
    cpp_class: str
    dialect: str


@dataclass(frozen=True, slots=True)
class _Base:
    """What a class puts before its mnemonic."""

    parent: str
    dialect: str
    prefix: str


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect's name in the IR, and the innermost namespace of its C++."""

    name: str
    namespace: str


class OpNames:
    """Resolves the full names of the operations defined in a set of TableGen definitions."""

    def __init__(self, definitions: Iterable[str]) -> None:
        texts = list(definitions)
        self.dialects = dict(found for text in texts if (found := _read_dialect(text)) is not None)
        self._classes = {base[0]: base[1] for text in texts if (base := _read_class(text)) is not None}

    def name_of(self, definition: str) -> str | None:
        """Return the full name of the operation that `definition` defines, None if it defines none."""
        found = self.operation_of(definition)
        return found.name if found else None

    def operation_of(self, definition: str) -> Operation | None:
        """Return the operation that `definition` defines, None if it defines none."""
        found = _OPERATION.search(definition)
        if not found:
            return None
        arguments = found["arguments"][:400]
        if found["base"] == "Op":
            record, prefix = arguments.split(",")[0].strip(), ""
            mnemonic = _STRING.search(arguments)
        else:
            base = self._classes.get(found["base"])
            while base is not None and not base.dialect:
                base = self._classes.get(base.parent)
            if base is None:
                return None
            record, prefix = base.dialect, base.prefix
            mnemonic = _STRING.match(arguments.lstrip())
        if mnemonic is None:
            return None
        guessed = record.removesuffix("_Dialect").lower()
        dialect = self.dialects.get(record, Dialect(guessed, guessed))
        name = f"{dialect.name}.{prefix}{mnemonic[1]}"
        return Operation(name, dialect.namespace, _class_name(found["name"]), record)


def _class_name(record: str) -> str:
    """Return the C++ class of a record: mlir-tblgen takes what stands before the first underscore for the dialect."""
    return record.partition("_")[2] or record


def _read_dialect(text: str) -> tuple[str, Dialect] | None:
    if "Dialect" not in text:
        return None
    found = _DIALECT.search(text)
    name = _DIALECT_NAME.search(found["body"]) if found else None
    if not found or not name:
        return None
    namespace = _NAMESPACE.search(found["body"])
    return found["record"], Dialect(name["name"], namespace["name"] if namespace else name["name"])


def _read_class(text: str) -> tuple[str, _Base] | None:
    if "class" not in text:
        return None
    found = _CLASS.search(text)
    if not found:
        return None
    if found["base"] != "Op":
        return found["name"], _Base(found["base"], "", "")
    record, _, rest = found["arguments"].partition(",")
    prefix = _STRING.search(rest.split("[")[0])
    return found["name"], _Base("Op", record.strip(), prefix[1] if prefix else "")

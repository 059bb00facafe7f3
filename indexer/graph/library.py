"""The device library: functions that compiled kernels call by name, made by macros from templates of their names.

`#define DECLARE_ADD(dim, type) void _mlir_ciface_vadd_##dim##d_##type(...)` used as `DECLARE_ADD(1, half)` makes
`vadd_1d_half`, which the operation of that library name, `hivm.hir.vadd`, is lowered to a call of.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from indexer.graph.operations import Operations
from indexer.graph.sources import Sources
from indexer.records import Naming, Passage

# MLIR's C interface: a call of @f reaches the function _mlir_ciface_f.
PREFIX = "_mlir_ciface_"
_LINKAGE = 'extern "C"'
# Macros that use macros are followed so deep.
MAX_DEPTH = 4

_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)\((?P<parameters>[^)]*)\)(?P<body>(?:\\\r?\n|[^\n])*)", re.MULTILINE
)
_CALL = re.compile(r"\b(?P<name>[A-Z][A-Z0-9_]{3,})\s*\((?P<arguments>[^()]*)\)")
_FUNCTION = re.compile(PREFIX + r"(?:\s*##\s*)?(?P<name>\w+(?:\s*##\s*\w+)*)")
_LIBRARY_NAME = re.compile(r"\bgetOpName\(\)\s*(?:const\s*)?\{\s*return\s*\"(?P<name>\w+)\"")
_PASTE = re.compile(r"\s*##\s*")


@dataclass(frozen=True, slots=True)
class _Macro:
    """A macro that declares library functions: name templates in `##` form, and the macros its body uses."""

    parameters: tuple[str, ...]
    names: tuple[str, ...]
    calls: tuple[tuple[str, tuple[str, ...]], ...]


def name_library(sources: Sources, ops: Operations) -> Iterator[Naming]:
    """Yield the functions of device libraries, as symbols and as what their operations run."""
    by_corpus: dict[str, list[int]] = defaultdict(list)
    for place, rows in sources.cpp.items():
        if any(sign in text for text in sources.texts(place) for sign in (PREFIX, _LINKAGE)):
            by_corpus[place[0]] += rows
    for corpus, rows in by_corpus.items():
        macros = _macros([sources.passages[row].text for row in rows])
        owners = _owners(sources.passages, ops, corpus)
        functions = {row: _declared(sources.passages[row].text, macros) for row in rows} if macros else {}
        in_sources = {
            name for row, names in functions.items() if _is_source(sources.passages[row].path) for name in names
        }
        for row, names in functions.items():
            yield from (Naming(name, "symbol", "defines", row) for name in sorted(names))
            # A header only declares what a source then makes.
            own = names if _is_source(sources.passages[row].path) else names - in_sources
            bases = {base for name in own if (base := _base(name, owners))}
            yield from (Naming(owners[base], "op", "implements", row) for base in sorted(bases))


def _is_source(path: str) -> bool:
    return path.endswith((".cpp", ".cc"))


def _declared(text: str, macros: Mapping[str, _Macro]) -> set[str]:
    """Return the library functions that a passage declares or makes."""
    text = _MACRO.sub("", text) if "#" in text and "define" in text else text
    found: set[str] = set()
    for call in _CALL.finditer(text):
        if call["name"] in macros:
            found.update(_expand(macros, call["name"], _split(call["arguments"]), MAX_DEPTH))
    if PREFIX in text:
        found.update(m["name"] for m in _FUNCTION.finditer(text) if "##" not in m["name"])
    return found


def _macros(texts: Sequence[str]) -> dict[str, _Macro]:
    """Return the macros that declare library functions, directly or by others."""
    found: dict[str, _Macro] = {}
    for text in texts:
        if "#" not in text or "define" not in text:
            continue
        for macro in _MACRO.finditer(text):
            body = macro["body"].replace("\\\n", "\n")
            names = tuple(_PASTE.sub("##", m["name"]) for m in _FUNCTION.finditer(body))
            calls = tuple((m["name"], _split(m["arguments"])) for m in _CALL.finditer(body))
            if names or calls:
                found[macro["name"]] = _Macro(_split(macro["parameters"]), names, calls)
    declaring = {name for name, macro in found.items() if macro.names}
    for _ in range(MAX_DEPTH):
        declaring |= {name for name, macro in found.items() if any(call in declaring for call, _ in macro.calls)}
    return {name: found[name] for name in declaring}


def _expand(macros: Mapping[str, _Macro], name: str, arguments: tuple[str, ...], depth: int) -> Iterator[str]:
    """Yield the functions that a use of a macro declares."""
    macro = macros.get(name)
    if macro is None or depth == 0 or len(arguments) != len(macro.parameters):
        return
    values = dict(zip(macro.parameters, arguments, strict=True))
    for template in macro.names:
        yield "".join(values.get(part, part) for part in template.split("##"))
    for inner, given in macro.calls:
        yield from _expand(macros, inner, tuple(values.get(a, a) for a in given), depth - 1)


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.replace("\\\n", " ").split(","))


def _owners(passages: Sequence[Passage], ops: Operations, corpus: str) -> dict[str, str]:
    """Return library name -> operation: its own last word, or the name that its definition gives instead.

    Of one name in several dialects it is of the dialect whose operations give most names: the operations of the others
    are not lowered to calls (`ave.hir.vadd` is an instruction, `hfusion.sort` becomes `hivm.hir.vsort`).
    """
    found: list[tuple[str, str, str]] = []
    for row, op in ops.by_row.items():
        if passages[row].corpus == corpus:
            named = _LIBRARY_NAME.search(passages[row].text)
            found.append((named["name"] if named else "", op.name, op.name.rpartition(".")[0]))
    calling = Counter(dialect for given, _, dialect in found if given)
    owners: dict[str, str] = {}
    for given, name, dialect in sorted(found, key=lambda each: (-calling[each[2]], not each[0])):
        if calling[dialect] or not calling:
            owners.setdefault(given or name.rpartition(".")[2], name)
    return owners


def _base(function: str, owners: Mapping[str, str]) -> str | None:
    """Return the longest library name that a function's name begins with; `vadds_vs` is `vadd` with a scalar."""
    parts = function.split("_")
    bases = ("_".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((b for whole in bases for b in (whole, whole.removesuffix("s")) if b in owners), None)

"""IR as records: what MLIR's generic form says, with each operation's place in the user's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a source file; lines and columns as MLIR prints them (lines 1-based)."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class IrValue:
    """An SSA name (`%5`, `%5#1`, `%arg0`) with its type text."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class IrBlock:
    """A basic block: its arguments and operations in order."""

    label: str
    arguments: tuple[IrValue, ...]
    ops: tuple[IrOp, ...]


@dataclass(frozen=True, slots=True)
class IrOp:
    """One operation in generic form.

    `attributes` maps each property and discardable attribute to its raw text (a unit attribute to ""). `place` is the
    user's frame of the location (innermost callsite frame inside the user's file), None where the compiler lost it.
    `text` is the operation's own first line without location, for excerpts.
    """

    name: str
    operands: tuple[IrValue, ...]
    results: tuple[IrValue, ...]
    attributes: Mapping[str, str]
    regions: tuple[tuple[IrBlock, ...], ...]
    successors: tuple[str, ...]
    place: Place | None
    text: str

    def walk(self) -> Iterator[IrOp]:
        """Yield this operation and all inside it, in program order."""
        pending = [self]
        while pending:
            op = pending.pop()
            yield op
            for region in reversed(op.regions):
                for block in reversed(region):
                    pending.extend(reversed(block.ops))

    def walk_with_parents(self) -> Iterator[tuple[IrOp, tuple[IrOp, ...]]]:
        """Yield each operation with the chain of those around it, outermost first."""
        pending: list[tuple[IrOp, tuple[IrOp, ...]]] = [(self, ())]
        while pending:
            op, parents = pending.pop()
            yield op, parents
            inner = (*parents, op)
            for region in reversed(op.regions):
                for block in reversed(region):
                    pending.extend((child, inner) for child in reversed(block.ops))

    @property
    def symbol(self) -> str:
        """Return the symbol name of a function or global, "" for others."""
        return self.attributes.get("sym_name", "").strip('"')


# The adapter's first dumps still hold Triton's own functions.
_FUNCTIONS = frozenset({"func.func", "llvm.func", "tt.func"})


@dataclass(frozen=True, slots=True)
class IrModule:
    """One printed module or function: its top operations and the attribute and affine-map aliases of the file."""

    top: IrOp
    aliases: Mapping[str, str] = field(default_factory=dict)

    def functions(self) -> dict[str, IrOp]:
        """Return the functions by symbol, in file order; for a function dump, that one function."""
        return {op.symbol: op for op in self.top.walk() if op.name in _FUNCTIONS and op.symbol}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The module after one pass of the pipeline.

    `position` counts over the whole lowering (adapter passes first). `compiler` is "adapter" or "bishengir".
    `functions` is the composed state: a function pass replaces its function, a module pass all of them.
    `module_attributes` are those of the last module-level dump.
    """

    position: int
    pass_argument: str
    compiler: str
    functions: Mapping[str, IrOp]
    module_attributes: Mapping[str, str]
    aliases: Mapping[str, str]
    file: str


@dataclass(frozen=True, slots=True)
class Blame:
    """`count` final operations `op` on user line `line`, made by `pass_argument`, which `replaced` others there.

    `pass_argument` is None for an operation of the source IR itself.
    """

    op: str
    line: int
    count: int
    pass_argument: str | None
    position: int | None
    replaced: tuple[str, ...]

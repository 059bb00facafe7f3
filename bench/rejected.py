"""Write docs/rejected.md: every refused kernel of tests/rejected, explained for two targets.

    python bench/rejected.py [--store DIR] [--out docs/rejected.md] [NAME ...]

The index should hold the compilers' sources (`ascendnpu-ir`, `ascendnpu-ir-a5`, `triton-ascend`): the places are
cited from there. Takes two to three minutes: every size that the table names was compiled.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path

from agent.diagnose import diagnose
from agent.explain.records import Explanation
from agent.knowledge import open_library
from agent.records import KernelSource
from agent.sandbox import SandboxPolicy
from agent.toolchain.targets import find_target
from agent.workbench import open_workbench
from indexer.errors import StoreError
from indexer.messages import Lang, Message, render
from retriever.search import Index

FOLDER = Path(__file__).parents[1] / "tests" / "rejected"
TARGETS = ("ascend910b3", "ascend950")
WIDEST = 150  # characters of a cell: a verifier lists every type that it takes
HEAD = """# Kernels that do not compile

Made by `python bench/rejected.py`; the kernels are in `tests/rejected/`. What `tritonkb diagnose FILE --target a,b`
says of each: the cause and the user's line, where the compiler says so, and what to write instead. Sizes in the last
columns were found by compiling. A target that is not named takes the kernel.

{taken}

| kernel | target: cause (line) | where the compiler says so | way out | 解决办法 |
|---|---|---|---|---|
"""


def main() -> None:
    """Explain the kernels for each target, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store")
    parser.add_argument("--out", type=Path, default=Path("docs/rejected.md"))
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    names = given.names or sorted(path.stem for path in FOLDER.glob("*.py"))
    index = open_index(given.store)
    found = {target: dict(explain_all(target, names, index)) for target in TARGETS}
    rows = [row(name, {target: found[target][name] for target in TARGETS}) for name in names]
    given.out.write_text(HEAD.format(taken=count(found, len(names))) + "".join(rows), encoding="utf-8")


def open_index(store: str | None) -> Index | None:
    """Open the index, None where there is none."""
    try:
        return open_library(store).index
    except StoreError as error:
        print(render(error.note, "en"))
        return None


def explain_all(target: str, names: list[str], index: Index | None) -> Iterator[tuple[str, tuple[Explanation, ...]]]:
    """Diagnose each kernel for one target."""
    with open_workbench(find_target(target), SandboxPolicy()) as bench:
        for name in names:
            path = FOLDER / f"{name}.py"
            told = diagnose(bench, KernelSource(path, path.read_text(encoding="utf-8")), index, "en").explanations
            print(target, name, [(e.cause, e.line) for e in told], flush=True)
            yield name, told


def count(found: dict[str, dict[str, tuple[Explanation, ...]]], kernels: int) -> str:
    """Sum up how many are refused, and how many of those have a line and a place."""
    parts = []
    for target, told in found.items():
        refused = [e for each in told.values() for e in each if e.kind == "rejected"]
        lined = sum(e.line is not None for e in refused)
        placed = sum(bool(e.place) for e in refused)
        parts.append(f"`{target}` refuses {len(refused)}, {lined} with a line, {placed} with a place in the compiler")
    return f"{kernels} kernels: " + "; ".join(parts) + "."


def row(name: str, told: dict[str, tuple[Explanation, ...]]) -> str:
    """Write one row; what is the same for both targets is said once."""
    path = FOLDER / f"{name}.py"
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    causes, places, ways, ways_zh = [], [], [], []
    for target, each in told.items():
        for e in each:
            at = f" (line {e.line})" if e.line is not None else ""
            causes.append(f"`{target}`: {cell(e.title, 'en')}{at}")
            places += [f"`{cited.passage}`" for cited in e.place[:1]]
            ways.append(whole(e.way_out, "en"))
            ways_zh.append(whole(e.way_out, "zh"))
    cells = [f"`{name}`: {doc}", *(joined(part) for part in (causes, places, ways, ways_zh))]
    return f"| {' | '.join(cells)} |\n"


def joined(parts: list[str]) -> str:
    """Put each text once into a cell, "-" where there is none."""
    return "<br>".join(dict.fromkeys(parts)) or "-"


def whole(note: Message, lang: Lang) -> str:
    """Write a message as a table can hold it."""
    return render(note, lang).replace("|", "\\|").replace("<", "&lt;")


def cell(note: Message, lang: Lang) -> str:
    """Write a message so that it fits a table."""
    text = whole(note, lang)
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


if __name__ == "__main__":
    main()

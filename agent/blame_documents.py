"""Blame -> its document: the kernel line by line, and one line pass by pass."""

from __future__ import annotations

import ast
from collections import Counter

from agent.contract import BlameDoc, BlameLineDoc, BlameOpDoc, EvidenceDoc, LineStepDoc, SourceLineDoc
from agent.diagnose import corpora_of, is_foreign, line_text
from agent.documents import cost_doc, launch_doc, made_docs
from agent.records import Blame, Compilation, KernelSource, Lowered
from agent.request import Site
from agent.toolchain.targets import find_device
from indexer.errors import BadInput
from indexer.ir.blame import SOURCE
from indexer.ir.history import follow_line
from indexer.ir.resolution import resolve
from retriever.attribution import evidence_for

EVIDENCE_PER_LINE = 3


def blame_doc(
    site: Site, source: KernelSource, item: Lowered, line: int | None, *, pass_by_pass: bool = False
) -> BlameDoc:
    """Describe the blame of one compiled launch, of `line` only where it is given.

    Raises `BadInput` when no operation is left of `line`.
    """
    final = item.compilation.hivm
    assert final is not None  # noqa: S101 - a rejected kernel has no blame
    lines = sorted({b.line for b in item.blames})
    steps = [] if line is None or not pass_by_pass else _steps(item.compilation, line)
    if line is not None and line not in lines and not steps:
        near = ", ".join(map(str, lines))
        raise BadInput("kernel.blame_line", path=source.path, line=line, near=near)
    shown = [number for number in lines if line is None or number == line]
    found = resolve(item.compilation.snapshots, final)
    return BlameDoc(
        kernel=item.launch.kernel,
        target=site.target,
        lines=[_line_doc(site, source, item, number) for number in shown],
        resolved_share=found.resolved_share,
        compiler_made_share=found.made_share,
        compiler_made=made_docs(found, site.lang),
        launch=launch_doc(item.launch),
        cost=cost_doc(item.cost, site.lang),
        source=_listing(source.text, item.launch.kernel, lines),
        steps=steps,
    )


def _line_doc(site: Site, source: KernelSource, item: Lowered, number: int) -> BlameLineDoc:
    blames = [b for b in item.blames if b.line == number]
    cost = item.cost
    return BlameLineDoc(
        line=number,
        text=line_text(source.text, number),
        share=cost.by_line.get(number, 0.0) / cost.value if cost is not None and cost.value else None,
        ops=[
            BlameOpDoc(name=b.op, count=b.count, pass_argument=b.pass_argument, replaced=list(b.replaced))
            for b in blames
        ],
        evidence=_evidence(site, blames, find_device(site.target).arch),
        bytes=cost.bytes_by_line.get(number, 0) if cost is not None else None,
        buffer_bytes=_buffer_bytes(item.compilation, number),
    )  # fmt: skip


def _buffer_bytes(compilation: Compilation, number: int) -> dict[str, int]:
    held: Counter[str] = Counter()
    for buffer in compilation.resources.buffers:
        if buffer.line == number:
            held[buffer.space] += buffer.bytes * buffer.copies
    return dict(held)


def _evidence(site: Site, blames: list[Blame], arch: str) -> list[EvidenceDoc]:
    if site.library is None:
        return []
    passes = tuple(dict.fromkeys(b.pass_argument for b in blames if b.pass_argument))
    ops = tuple(b.op for b in blames)
    wide = evidence_for(
        site.library.index, passes, ops, "", 2 * EVIDENCE_PER_LINE, corpora=corpora_of(arch), lang=site.lang
    )
    hits = [h for h in wide if not is_foreign(h.passage, arch)][:EVIDENCE_PER_LINE]
    titles = site.library.titles(h.passage.id for h in hits)
    return [EvidenceDoc(passage=h.passage.id, why=list(h.why), title=titles[h.passage.id]) for h in hits]


def _steps(compilation: Compilation, line: int) -> list[LineStepDoc]:
    return [
        LineStepDoc(
            pass_argument=None if step.pass_argument == SOURCE else step.pass_argument,
            position=step.position,
            compiler=step.compiler,
            made=list(step.made),
            replaced=list(step.replaced),
            diff=list(step.diff),
        )
        for step in follow_line(compilation.snapshots, line)
    ]


def _listing(text: str, kernel: str, lines: list[int]) -> list[SourceLineDoc]:
    """List the kernel and each function of the file that operations come from, decorators included."""
    spans = [
        (min([node.lineno, *(d.lineno for d in node.decorator_list)]), node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
        and (node.name == kernel or any(node.lineno <= line <= (node.end_lineno or 0) for line in lines))
    ]
    rows = text.splitlines()
    numbers = sorted({number for start, stop in spans for number in range(start, stop + 1)})
    return [SourceLineDoc(line=number, text=rows[number - 1].rstrip()) for number in numbers]

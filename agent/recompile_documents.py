"""Recompilations -> their documents, in one language."""

from __future__ import annotations

from collections.abc import Sequence

from agent.contract import RecompileDoc, VaryingDoc
from agent.diagnose import line_text
from agent.recompile import ROUNDED, Recompilation, Varying
from indexer.messages import Lang, message, render


def recompile_docs(found: Sequence[Recompilation], source: str, lang: Lang) -> list[RecompileDoc]:
    """Describe the kernels that shapes compile anew."""
    return [_recompile_doc(item, source, lang) for item in found]


def _recompile_doc(found: Recompilation, source: str, lang: Lang) -> RecompileDoc:
    line = next((cause.line for cause in found.causes if cause.line is not None), found.line)
    stall, each = found.stall_seconds, found.seconds_each
    basis = "recompile.unknown_basis" if each is None else "recompile.basis"
    return RecompileDoc(
        kernel=found.kernel,
        line=line,
        text=line_text(source, line),
        shapes=found.shapes,
        compilations=found.compilations,
        avoidable=found.avoidable,
        stall_seconds=stall,
        stall_basis=render(message(basis, seconds=0.0 if each is None else each), lang),
        causes=[_varying_doc(cause, lang) for cause in found.causes],
    )


def _varying_doc(cause: Varying, lang: Lang) -> VaryingDoc:
    values = {"name": cause.parameter, "values": ", ".join(cause.values), "extent": cause.follows}
    told = "follows" if cause.follows else cause.kind
    advised = "rounded" if cause.follows.startswith(ROUNDED) else cause.kind
    return VaryingDoc(
        parameter=cause.parameter,
        kind=cause.kind,
        values=list(cause.values),
        line=cause.line,
        follows=cause.follows,
        explanation=render(message(f"recompile.{told}", **values), lang),
        advice=render(message(f"recompile.{advised}_advice", **values), lang),
    )

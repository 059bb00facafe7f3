"""How `tritonkb index status --passes` shows the passes of each compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indexer.messages import message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from agent.cli.output import Output
    from agent.pass_map import CoverageDoc


def show_coverage(output: Output, console: Console, coverage: Sequence[CoverageDoc]) -> None:
    """Print a line a compiler, and the names of the passes that are not fully covered."""
    for c in coverage:
        counts = message(
            "knowledge.coverage", toolchain=c.toolchain, corpus=c.corpus, seen=c.seen, own=c.own, defined=c.defined,
            implemented=c.implemented, upstream=c.upstream + len(c.upstream_not_indexed), unmapped=len(c.unmapped),
        )  # fmt: skip
        console.print(output.text(counts), soft_wrap=True)
        for key, names in (
            ("upstream_not_indexed", c.upstream_not_indexed),
            ("unimplemented", c.unimplemented),
            ("unmapped", c.unmapped),
        ):
            if names:
                console.print("  " + output.text(message(f"knowledge.{key}", names=", ".join(names))), soft_wrap=True)

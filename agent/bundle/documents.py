"""Bundles -> their documents."""

from __future__ import annotations

from collections.abc import Iterable

from agent.bundle.write import Bundle
from agent.contract import BundleDoc


def bundle_docs(written: Iterable[Bundle]) -> list[BundleDoc]:
    """Describe the bundles that were written."""
    return [
        BundleDoc(
            folder=str(b.folder),
            symptom=b.finding.symptom,
            line=b.finding.line,
            project=b.project,
            files=list(b.files),
            lines=None if b.lines is None else list(b.lines),
            compilations=b.tried,
        )
        for b in written
    ]

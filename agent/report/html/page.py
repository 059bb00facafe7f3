"""One HTML file of one run or several: templates, words, and the policy that keeps what is in it inert."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from agent.report.html.overview import summaries
from agent.report.html.reading import Seen, SeenRun, Unreadable
from agent.report.html.view import view_run
from agent.report.terminal import amount, percent, reason_words
from indexer.messages import Lang, Message, catalogue, message, render

# What a browser would not show, or would let reorder or hide the text around it: controls, marks of writing direction,
# characters without width, halves of surrogate pairs.
_HIDDEN = (*range(0x20), 0x7F, *range(0x80, 0xA0), 0x61C, *range(0x200B, 0x2010), *range(0x2028, 0x202F),
           *range(0x2060, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080))  # fmt: skip
_VISIBLE = {code: f"⟦U+{code:04X}⟧" for code in _HIDDEN if chr(code) not in "\t\n"} | dict.fromkeys(
    range(0xD800, 0xE000), "\ufffd"
)


def render_page(folder: Path, seen: Sequence[Seen], lang: Lang) -> str:
    """Render the runs that were seen in `folder`: one alone, or several under a table."""
    runs = [view_run(run, number) for number, run in enumerate((s for s in seen if isinstance(s, SeenRun)), 1)]
    words = _Words(lang)
    return (
        _environment()
        .get_template("page.j2")
        .render(
            t=words.sentence,
            told=words.told,
            reason=words.reason,
            us=amount,
            percent=percent,
            lang=lang,
            folder=folder,
            runs=runs,
            several=len(seen) > 1,
            unreadable=[s for s in seen if isinstance(s, Unreadable)],
            summaries=summaries(run.result for run in runs if run.result is not None),
            style=_style(),
            policy=f"default-src 'none'; style-src 'sha256-{_digest(_style())}'; base-uri 'none'; form-action 'none'",
        )
    )


def visible(value: object) -> object:
    """Write what a browser would hide, or would let act on the text around it, as signs that can be seen."""
    return value.translate(_VISIBLE) if isinstance(value, str) else value


class _Words:
    """The sentences that templates ask for, in one language."""

    def __init__(self, lang: Lang) -> None:
        self.lang: Lang = lang

    def sentence(self, key: str | Message, **values: object) -> str:
        """Give a sentence: a message, or one of this report's by its key, or with a dot one of another area."""
        if isinstance(key, Message):
            return render(key, self.lang)
        return render(message(key if "." in key else f"html.{key}", **values), self.lang)

    def told(self, key: str, written: str) -> str:
        """Give the sentence or word of a key, and for one that this version does not know, what the run wrote."""
        return render(message(key), self.lang) if key in catalogue() else written

    def reason(self, why: str) -> str:
        """Say why a passage was chosen."""
        return reason_words(why, self.lang)


@cache
def _environment() -> Environment:
    """Read and compile the templates once."""
    return Environment(
        loader=PackageLoader("agent.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _style() -> str:
    folder = resources.files("agent.report.html").joinpath("templates")
    return folder.joinpath("style.css").read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

"""Blame as a person reads it: the whole kernel, what each line became, and one line pass by pass."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from agent.contract import BlameDoc, BlameLineDoc, CostDoc, IntervalDoc, LineStepDoc, SourceLineDoc
from agent.report.blame import show_blame
from agent.report.terminal import Terminal
from indexer.messages import Lang

LOAD = BlameLineDoc.model_validate({
    "line": 3, "text": "x = tl.load(p)", "share": 0.5, "evidence": [], "bytes": 65536, "buffer_bytes": {"ub": 2048},
    "ops": [
        {"name": "arith.addi", "count": 2, "pass": None, "replaced": []},
        {"name": "hivm.hir.load", "count": 1, "pass": "convert-to-hivm-op", "replaced": ["memref.copy"]},
    ],
})  # fmt: skip
STORE = LOAD.model_copy(update={"line": 5, "text": "tl.store(p, x)", "buffer_bytes": {}})
STEP = LineStepDoc.model_validate({
    "pass": "convert-to-hivm-op", "position": 51, "compiler": "bishengir",
    "made": ["hivm.hir.load"], "replaced": ["memref.copy"],
    "diff": ['- "memref.copy"()', '+ "hivm.hir.load"() {a = [0]}'],
})  # fmt: skip
COST = CostDoc(value=8.0, basis="predicted", interval=IntervalDoc(low=4, high=12), limiter="load")
DOC = BlameDoc(
    kernel="kern", target="ascend910b3", lines=[LOAD, STORE], resolved_share=1.0, cost=COST,
    source=[
        SourceLineDoc(line=2, text="def kern(p):"),
        SourceLineDoc(line=3, text="    x = tl.load(p)"),
        SourceLineDoc(line=4, text="    # why"),
    ],
)  # fmt: skip


def shown(doc: BlameDoc, lang: Lang = "en") -> list[str]:
    out = io.StringIO()
    show_blame(Terminal(Console(file=out, width=200, markup=False, highlight=False), lang), doc)
    return out.getvalue().splitlines()


def test_every_line_of_the_kernel_is_listed_with_share_and_bytes_where_it_became_something():
    text = shown(DOC)
    assert any("predicted" in line for line in text)
    numbered = [line.split() for line in text if "tl." in line or "def" in line or "# why" in line]
    assert numbered == [
        ["2", "def", "kern(p):"],
        ["50", "%", "64", "KiB", "3", "x", "=", "tl.load(p)"],
        ["4", "#", "why"],
        ["50", "%", "64", "KiB", "5", "tl.store(p,", "x)"],
    ]


def test_operations_for_addresses_share_a_row_unless_their_line_is_asked_for():
    assert sum("and for addresses: 2 x arith.addi" in line for line in shown(DOC)) == 2
    alone = shown(DOC.model_copy(update={"lines": [LOAD]}))
    assert not [line for line in alone if "for addresses" in line or "# why" in line]
    assert [line for line in alone if "2 x  arith.addi" in line]


@pytest.mark.parametrize(("lang", "held"), [("en", "holds on chip: UB 2,048 B"), ("zh", "占用片上内存：UB 2,048 B")])
def test_a_line_names_its_pass_and_what_it_holds_in_both_languages(lang: Lang, held: str):
    text = "\n".join(shown(DOC, lang))
    assert held in text
    assert "1 x  hivm.hir.load  convert-to-hivm-op  <- memref.copy" in text


@pytest.mark.parametrize(("lang", "title"), [("en", "1 steps changed this line"), ("zh", "共 1 步改动了该行")])
def test_the_walk_shows_which_pass_replaced_what_and_its_diff(lang: Lang, title: str):
    text = shown(DOC.model_copy(update={"lines": [LOAD], "steps": [STEP]}), lang)
    assert any(title in line for line in text)
    assert "   51  convert-to-hivm-op: memref.copy -> hivm.hir.load" in text
    assert '       + "hivm.hir.load"() {a = [0]}' in text

"""The loop over a real kernel, real compilers and real checks, with rules that go wrong in every way."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.contract import OptimizeDoc, RoundDoc
from agent.journal import Journal
from agent.knowledge import CorpusSpec, Library, build, open_library, parse_spec
from agent.loop import Help, Optimizer
from agent.records import KernelSource, Structure
from agent.request import Goal
from agent.rewrite.table import Rule, rules_for
from agent.symptoms.base import Rewrite, Subject
from agent.toolchain.client import Worker
from agent.toolchain.install import find_ascend
from agent.toolchain.targets import find_target
from agent.verify.check import Verifier
from agent.workbench import Workbench
from indexer.messages import message

pytestmark = pytest.mark.toolchain

KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs.to(tl.int64) < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(o_ptr + offs, tl.where(mask, x * 3.0, 0.0), mask=mask)


def make_inputs(seed):
    return (torch.randn(5000, generator=torch.Generator().manual_seed(seed)),)


def run(x):
    out = torch.empty_like(x)
    scaled[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out


def reference(x):
    return x * 3.0
"""
NARROW = KERNEL.replace("offs.to(tl.int64) < n", "offs < n")
CANDIDATES = {
    "unparsable": KERNEL.replace("mask = offs", "mask = = offs"),
    "too_large": KERNEL.replace("BLOCK=1024", "BLOCK=131072"),
    "dearer": KERNEL.replace("x * 3.0, 0.0)", "tl.exp(tl.log(tl.exp(tl.log(x * x)))) * 3.0, 0.0)"),
    # Cheaper than the right one, so that they are checked before it.
    "wrong": NARROW.replace("tl.where(mask, x * 3.0, 0.0)", "x"),
    "cheating": NARROW.replace("tl.where(mask, x * 3.0, 0.0)", "x").replace(
        "    return out", "    return reference(x)"
    ),
}


def rule(name: str) -> Rule:
    def offer(_subject: Subject, _structure: Structure) -> Rewrite:
        return Rewrite(name, CANDIDATES[name], message("ladder.start"), message("ladder.start"))

    return offer


def rules(symptom: str) -> tuple[Rule, ...]:
    return (*map(rule, CANDIDATES), *rules_for(symptom)) if symptom == "i64_cmp" else ()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    store = tmp_path_factory.mktemp("kb")
    notes: list[CorpusSpec] = [parse_spec("notes")]
    build(store, notes, "hash", lambda *_: None)
    return open_library(store)


@pytest.fixture(scope="module")
def done(
    worker: Worker, tmp_path_factory: pytest.TempPathFactory, library: Library
) -> tuple[OptimizeDoc, list[RoundDoc], Path]:
    told: list[RoundDoc] = []
    folder = tmp_path_factory.mktemp("run") / "run"
    bench = Workbench(worker, find_ascend(), find_target("ascend910b3"), tmp_path_factory.mktemp("scratch"))
    with Verifier(bench) as verifier:
        optimizer = Optimizer(bench, verifier, Help(library, rules=rules), Journal(folder), "zh", told.append)
        doc = optimizer.run(KernelSource(Path("k.py"), KERNEL), Goal())
    return doc, told, folder


def test_each_way_of_going_wrong_has_its_verdict(done: tuple[OptimizeDoc, list[RoundDoc], Path]) -> None:
    doc, told, _ = done
    first = doc.rounds[0]
    assert first.rewrite is not None
    assert {first.rewrite.name: first.verdict, **{c.rewrite.name: c.verdict for c in first.candidates}} == {
        "unparsable": "rejected",
        "too_large": "rejected",
        "dearer": "slower",
        "wrong": "wrong",
        "cheating": "cheating",
        "narrow_compare": "kept",
    }
    assert told == doc.rounds


def test_only_the_right_candidate_becomes_the_best(done: tuple[OptimizeDoc, list[RoundDoc], Path]) -> None:
    doc, _, folder = done
    kept = next(r for r in doc.rounds if r.verdict == "kept")
    assert doc.best.round == kept.n
    assert (folder / "best.py").read_text() == (folder / "rounds" / f"{kept.n:02d}" / "candidate.py").read_text()
    assert doc.best.speedup is not None
    assert doc.best.speedup > 1
    assert kept.claim_verdict == "realised"


def test_the_deepest_rung_is_reached_in_the_round_of_the_ir_rung(
    done: tuple[OptimizeDoc, list[RoundDoc], Path],
) -> None:
    doc, _, _ = done
    first = doc.rounds[0]
    assert first.deepest_rung == "source"
    assert [(e.from_, e.to) for e in first.escalations][-1] == ("ir", "source")
    assert first.rewrite is not None
    assert first.rewrite.citations


def test_a_rejected_round_says_why_in_the_users_language(done: tuple[OptimizeDoc, list[RoundDoc], Path]) -> None:
    doc, _, _ = done
    reasons = {c.rewrite.name: c.reason for c in doc.rounds[0].candidates}
    assert "语法错误" in reasons["unparsable"]
    assert "overflow" in reasons["too_large"] or "溢出" in reasons["too_large"]

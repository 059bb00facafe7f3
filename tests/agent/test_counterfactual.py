from dataclasses import replace

import pytest

from agent.counterfactual import judge
from agent.records import Diagnostic
from agent.symptoms.base import Subject, Variant
from agent.symptoms.i64_cmp import I64_CMP
from agent.symptoms.many_programs import MANY_PROGRAMS
from indexer.messages import render
from tests.agent.symptoms.test_detectors import COMPARE, LOOP, lowered

SOURCE = "def kern(a, b):\n" + "    pass\n" * 7 + "    c = a < b\n"


@pytest.fixture
def slow() -> Subject:
    return replace(lowered(COMPARE, LOOP), source=SOURCE)


def fast_form(variant: Variant) -> Subject:
    assert variant.source is not None
    return replace(lowered(COMPARE, COMPARE), source=variant.source)


def test_a_structure_that_goes_is_confirmed_with_both_excerpts(slow: Subject) -> None:
    (found,) = I64_CMP.detect(slow)
    verdict = judge(slow, found, I64_CMP, fast_form)
    assert verdict.verdict == "confirmed"
    assert verdict.before == found.excerpt
    assert "hivm.hir.vcmp" in verdict.after
    assert "a.to(tl.int32) < b.to(tl.int32)" in render(verdict.change, "en")


def test_a_structure_that_stays_on_the_line_is_refuted(slow: Subject) -> None:
    verdict = judge(slow, I64_CMP.detect(slow)[0], I64_CMP, lambda v: replace(slow, source=v.source or ""))
    assert verdict.verdict == "refuted"
    assert "scf.for" in verdict.after


def test_the_line_is_followed_below_what_an_edit_adds(slow: Subject) -> None:
    def lower(variant: Variant) -> Subject:
        return replace(slow, source="\n" + (variant.source or ""))

    elsewhere = judge(slow, I64_CMP.detect(slow)[0], I64_CMP, lower)
    assert elsewhere.verdict == "refuted"


def test_without_an_edit_it_stays_open(slow: Subject) -> None:
    found = replace(I64_CMP.detect(slow)[0], symptom="many_programs")

    def never(variant: Variant) -> Subject:
        raise AssertionError(variant)

    assert judge(slow, found, MANY_PROGRAMS, never).verdict == "open"


def test_a_variant_that_cannot_be_launched_stays_open_and_says_so(slow: Subject) -> None:
    verdict = judge(slow, I64_CMP.detect(slow)[0], I64_CMP, lambda _: None)
    assert verdict.verdict == "open"
    assert "could not be launched" in render(verdict.change, "en")


def test_a_variant_that_the_compiler_rejects_stays_open_with_its_words(slow: Subject) -> None:
    def rejected(_: Variant) -> Subject:
        told = Diagnostic("error", "no such type", 9, "bishengir")
        made = replace(slow.compilation, status="rejected", hivm=None, snapshots=(), diagnostics=(told,))
        return replace(slow, compilation=made)

    verdict = judge(slow, I64_CMP.detect(slow)[0], I64_CMP, rejected)
    assert verdict.verdict == "open"
    assert "no such type" in render(verdict.change, "zh")

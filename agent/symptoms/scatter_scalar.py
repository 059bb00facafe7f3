"""An indirect store, whose offsets come from memory, writes one element at a time."""

from __future__ import annotations

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.extracted import UNSTRUCTURE, Split, split_structures
from agent.symptoms.gather_scalar import counterfactual_of


def _belongs(split: Split) -> bool:
    return not split.is_load and split.is_indirect and split.is_single


def _detect(subject: Subject) -> list[Structure]:
    return split_structures("scatter_scalar", subject, _belongs)


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Store at the place of an index and not at the index."""
    return counterfactual_of("scatter_scalar", subject, structure)


SCATTER_SCALAR = Symptom(
    id="scatter_scalar",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(UNSTRUCTURE,),
    ops=("tt.store", "scf.for"),
    query="offset analysis load operand unstructured axis indirect store scatter scalar loop ExtractedLoadOrStore "
    "parseLoad setUnstructured",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"store", "scalar", "sync"}),
)

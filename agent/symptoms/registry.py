"""Symptoms by compiler: ids repeat between Ascend and CUDA, where the same source does something else."""

from __future__ import annotations

from agent.symptoms.base import Symptom
from agent.symptoms.cuda.table import CUDA_SYMPTOMS
from agent.symptoms.table import SYMPTOMS


def symptoms_of(arch: str) -> tuple[Symptom, ...]:
    """Return the symptoms that hold for a compiler (`a3`, `a5`, `cuda`), causes first."""
    return tuple(symptom for symptom in (*SYMPTOMS, *CUDA_SYMPTOMS) if arch in symptom.archs)


def find_symptom(name: str, arch: str) -> Symptom | None:
    """Return the symptom of a compiler with an id, None where there is none."""
    return next((symptom for symptom in symptoms_of(arch) if symptom.id == name), None)

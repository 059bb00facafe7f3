"""Exact requirements: which of them apply to a Python, and what version they name."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.requirements import Requirement


def pinned_versions(requirements: Iterable[str], python: str) -> dict[str, str]:
    """Return the version by name of each `name==version` whose marker, if any, holds for `python` ("3.11.7").

    Requirements of extras, and those that name no exact version, are left out.
    """
    versions = {}
    environment = {"python_full_version": python, "python_version": ".".join(python.split(".")[:2])}
    for requirement in map(Requirement, requirements):
        exact = [spec.version for spec in requirement.specifier if spec.operator == "=="]
        if exact and (requirement.marker is None or requirement.marker.evaluate(environment)):
            versions[requirement.name] = exact[0]
    return versions

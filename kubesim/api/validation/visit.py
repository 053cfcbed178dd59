"""Iteration over all containers of a pod in the API's order.

Mirrors: pkg/apis/core/pods VisitContainersWithPath
"""

from __future__ import annotations

from kubesim.api.validation.field import JsonObject

Containers = list[tuple[JsonObject, str]]


def containers_with_path(spec: JsonObject, path: str) -> Containers:
    """Init, regular and ephemeral containers, each with its path."""
    return [
        (container, f"{path}.{kind}[{n}]")
        for kind in ("initContainers", "containers", "ephemeralContainers")
        if (containers := spec.get(kind))
        for n, container in enumerate(containers)
    ]

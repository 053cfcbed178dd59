"""All containers of a pod, in the order in which the API visits them.

Mirrors: pkg/apis/core/pods VisitContainersWithPath
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.api.validation.field import JsonObject


def containers_with_path(spec: JsonObject, path: str) -> Iterator[tuple[JsonObject, str]]:
    """Init containers, regular and ephemeral ones, each with its path."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for n, container in enumerate(spec.get(kind) or ()):
            yield container, f"{path}.{kind}[{n}]"

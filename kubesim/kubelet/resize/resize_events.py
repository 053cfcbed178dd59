"""Messages of resize Events: the pod's requested resources as JSON.

Mirrors: pkg/kubelet/events/resize.go podResizeMessage
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubesim.api.pod import Container, Pod
from kubesim.api.quantity import quantity
from kubesim.golang.json import dumps_in_order


def resize_event_message(prefix: str, pod: Pod, generation: int, error: str = "") -> str:
    summary: dict[str, Any] = {}
    if pod.spec.init_containers:
        summary["initContainers"] = _containers(pod.spec.init_containers)
    if pod.spec.containers:
        summary["containers"] = _containers(pod.spec.containers)
    summary["generation"] = generation
    if error:
        summary["error"] = error
    return f"{prefix}: {dumps_in_order(summary)}"


def _containers(containers: Iterable[Container]) -> list[dict[str, Any]]:
    return [{"name": container.name, "resources": _resources(container)} for container in containers]


def _resources(container: Container) -> dict[str, Any]:
    shown = container.resources.to_json()
    for kind in ("limits", "requests"):
        if kind in shown:
            shown[kind] = {name: str(quantity(amount)) for name, amount in sorted(shown[kind].items())}
    return shown

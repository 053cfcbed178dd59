"""Whether a pod that a user applies is bound to its node immediately, or waits for a scheduler.

If there is only one possible node, a pod is bound immediately: scenarios about the life of a pod need no scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

JsonObject = dict[str, Any]
SchedulerMode = Literal["on", "off"] | None  # None: on if there is something to schedule


def is_placed_at_once(spec: JsonObject, nodes: int, scheduler: SchedulerMode) -> bool:
    """Whether a new pod with this spec is bound to the first node without a scheduler."""
    if spec.get("nodeName") or spec.get("schedulingGates"):
        return False
    if scheduler is not None:
        return scheduler == "off"
    return nodes == 1 and not uses_claims(spec)


def uses_claims(spec: JsonObject) -> bool:
    if spec.get("resourceClaims"):
        return True
    volumes = spec.get("volumes") or ()
    return any(volume.get("persistentVolumeClaim") or volume.get("ephemeral") for volume in volumes)


def pod_specs(manifest: JsonObject) -> Iterator[JsonObject]:
    """The spec of a pod, or those of the pods that a workload will create."""
    spec = manifest.get("spec")
    if not isinstance(spec, dict):
        return
    if manifest.get("kind") == "Pod":
        yield spec
    template = spec.get("template")
    if isinstance(template, dict):
        yield from pod_specs({"kind": "Pod", "spec": template.get("spec")})
    if isinstance(spec.get("jobTemplate"), dict):
        yield from pod_specs(spec["jobTemplate"])

"""Decodes the corpora's JSON: the parts that several corpora share.

`runtime` is the runtime's status of a pod (kubecontainer.PodStatus) in the corpora's format.
"""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Pod, ResourceRequirements
from kubesim.api.timestamps import parse_time
from kubesim.errors import InputError
from kubesim.runtime.types import ContainerRecord, RuntimePodStatus, RuntimeResources, SandboxNetwork, SandboxRecord

Json = dict[str, Any]


def steps_of(case: Json) -> list[Json]:
    """The operations of each step. They are stored with the answers; a file without answers has them in the input."""
    steps = (case.get("output") or {}).get("steps", case["input"].get("steps"))
    if steps is None:
        raise InputError(str(case.get("case")), "has no steps, neither under output nor under input")
    return list(steps)


def uids_in(steps: list[Json]) -> list[str]:
    """Every uid that a step names, in order: the queries for a file without answers."""
    found: dict[str, None] = {}
    for step in steps:
        op = step["op"]
        found.update(dict.fromkeys((*op.get("runtimePods", {}), *op.get("known", ()))))
        if "uid" in op:
            found[op["uid"]] = None
    return sorted(found)


def moment(text: str | None) -> int | None:
    """Microseconds of an RFC 3339 time; absent is Go's zero time."""
    return None if text is None else parse_time(text)


def runtime_pod_status(runtime: Json, pod: Pod) -> RuntimePodStatus:
    return RuntimePodStatus(
        uid=pod.metadata.uid,
        name=pod.metadata.name,
        namespace=pod.metadata.namespace,
        ips=tuple(runtime.get("ips", ())),
        sandboxes=tuple(sandbox_record(sandbox) for sandbox in runtime.get("sandboxes", ())),
        containers=tuple(container_record(container) for container in runtime.get("containers", ())),
    )


def sandbox_record(sandbox: Json) -> SandboxRecord:
    network = sandbox.get("network")
    return SandboxRecord(
        id=sandbox["id"],
        attempt=sandbox.get("attempt", 0),
        ready=sandbox.get("state") == "ready",
        created_at=moment(sandbox.get("createdAt")) or 0,
        network_namespace=sandbox.get("networkNamespace", "POD"),
        network=None
        if network is None
        else SandboxNetwork(network.get("ip", ""), tuple(network.get("additionalIps", ()))),
    )


def container_record(container: Json) -> ContainerRecord:
    resources = container.get("resources")
    return ContainerRecord(
        id=container["id"],
        name=container["name"],
        state=container["state"],
        hash=int(container.get("hash", 0)),
        restart_count=container.get("restartCount", 0),
        created_at=moment(container.get("createdAt")) or 0,
        started_at=moment(container.get("startedAt")),
        finished_at=moment(container.get("finishedAt")),
        exit_code=container.get("exitCode", 0),
        reason=container.get("reason", ""),
        message=container.get("message", ""),
        image=container.get("image", ""),
        image_id=container.get("imageID", ""),
        image_ref=container.get("imageRef", ""),
        active=container.get("active", False),
        resources=None
        if resources is None
        else RuntimeResources(
            resources.get("cpuRequest"),
            resources.get("cpuLimit"),
            resources.get("memoryRequest"),
            resources.get("memoryLimit"),
        ),
    )


def with_empty_pod_level_resources(pod: Pod) -> Pod:
    """Restore empty pod-level `resources`, which the format drops. They determine the QoS class, whatever the
    containers request.
    """
    if pod.spec.resources is not None:
        return pod
    return pod.changed(spec=pod.spec.changed(resources=ResourceRequirements()))

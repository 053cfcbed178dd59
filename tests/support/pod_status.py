"""Builders for pod statuses: a pod, its containers in the runtime, and the status that the kubelet generates."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import ContainerStatus, Pod, PodStatus
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.kubelet.status.generate.api_pod_status import generate_api_pod_status
from kubesim.kubelet.status.generate.inputs import StatusInputs
from kubesim.runtime.types import ContainerRecord, RuntimePodStatus, SandboxNetwork, SandboxRecord

NOW = parse_time("2026-03-01T12:00:00Z")
SANDBOX = SandboxRecord("s1", network=SandboxNetwork("10.0.0.5"))


def pod_of(*containers: str | dict[str, Any], status: dict[str, Any] | None = None, **spec: Any) -> Pod:
    """A pod with these containers, given by name or in full."""
    made = [{"name": c, "image": "app:1"} if isinstance(c, str) else {"image": "app:1", **c} for c in containers]
    whole = {"restartPolicy": "Always", "containers": made, **spec}
    return Pod.from_json({"metadata": {"name": "web", "uid": "1", "generation": 3}, "spec": whole,
                          "status": status or {}})  # fmt: skip


def running(name: str = "app", **fields: Any) -> ContainerRecord:
    return ContainerRecord(f"containerd://{name}", name, "running", started_at=NOW - 60 * SECOND, **fields)


def exited(code: int, name: str = "app", **fields: Any) -> ContainerRecord:
    reason = fields.pop("reason", "Completed" if code == 0 else "Error")
    return ContainerRecord(f"containerd://{name}", name, "exited", exit_code=code, reason=reason, **fields)


def generated(pod: Pod, *records: ContainerRecord, sandbox: SandboxRecord | None = SANDBOX, **inputs: Any) -> PodStatus:
    """The status that the kubelet generates from the runtime's containers."""
    sandboxes = () if sandbox is None else (sandbox,)
    ips = inputs.pop("ips", ("10.0.0.5",) if sandbox else ())
    runtime = RuntimePodStatus("1", sandboxes=sandboxes, containers=records, ips=ips)
    return generate_api_pod_status(StatusInputs(pod, runtime, **{"now": NOW, "kubelet_start": NOW, **inputs}))


def container_status(status: PodStatus, name: str = "app") -> ContainerStatus:
    all = (*status.container_statuses, *status.init_container_statuses)
    return next(container for container in all if container.name == name)


def condition(status: PodStatus, type: str) -> tuple[str, str]:
    """Status and reason of a condition."""
    return next((c.status, c.reason) for c in status.conditions if c.type == type)

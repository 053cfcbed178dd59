"""Converts CRI listings to runtime pods (for the PLEG) and pod statuses (for decisions).

Mirrors: pkg/kubelet/kuberuntime/kuberuntime_manager.go getPods, GetPodStatus; kuberuntime_container.go
toKubeContainerStatus
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter

from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import Container, Pod, PodSpec, ResourceRequirements
from kubesim.golang.addresses import parse_ip_sloppy
from kubesim.runtime.allocation.linux_resources import with_actuated
from kubesim.runtime.kuberuntime.labels import CONTAINER_HASH, POD_NAME, POD_NAMESPACE
from kubesim.runtime.protocol import ContainerEventResponse, ContainerInfo, SandboxInfo
from kubesim.runtime.types import (
    RUNTIME_NAME,
    ContainerRecord,
    ListedContainer,
    RuntimePod,
    RuntimePodStatus,
    SandboxNetwork,
    SandboxRecord,
    bare_id,
    container_id,
)
from kubesim.values import replace

_ID = attrgetter("id")
_CREATED_AT = attrgetter("created_at")

Grouped = dict[str, tuple[list[SandboxInfo], list[ContainerInfo]]]


def group_by_pod(sandboxes: Iterable[SandboxInfo], containers: Iterable[ContainerInfo]) -> Grouped:
    grouped: Grouped = {}
    for sandbox in sandboxes:
        found = grouped.get(sandbox.pod_uid)
        if found is None:
            found = grouped[sandbox.pod_uid] = ([], [])
        found[0].append(sandbox)
    for container in containers:
        found = grouped.get(container.pod_uid)
        if found is None:
            found = grouped[container.pod_uid] = ([], [])
        found[1].append(container)
    return grouped


def runtime_pod(
    uid: str, sandboxes: list[SandboxInfo], containers: list[ContainerInfo], runtime_name: str = RUNTIME_NAME
) -> RuntimePod:
    """A listed pod; newest first, then by id. The latest attempt is the newest sandbox."""
    if len(sandboxes) > 1:
        sandboxes = sorted(sandboxes, key=lambda s: (-s.attempt, -s.created_at, s.id))
    if len(containers) > 1:
        containers = sorted(sorted(containers, key=_ID), key=_CREATED_AT, reverse=True)
    labels = containers[0].labels if containers else {}
    return RuntimePod(
        uid=uid,
        name=sandboxes[0].pod_name if sandboxes else labels.get(POD_NAME, ""),
        namespace=sandboxes[0].pod_namespace if sandboxes else labels.get(POD_NAMESPACE, ""),
        created_at=sandboxes[-1].created_at if sandboxes else 0,
        containers=tuple(
            [
                ListedContainer(container_id(c.id, runtime_name), c.name, c.state, _hash(c), c.sandbox_id)
                for c in containers
            ]
        ),
        sandboxes=tuple(
            [
                ListedContainer(container_id(s.id, runtime_name), "", "running" if s.ready else "exited")
                for s in sandboxes
            ]
        ),
    )


def sandbox_ips(network: SandboxNetwork | None) -> tuple[str, ...]:
    """The pod's addresses; empty if any of them is invalid (determinePodSandboxIPs)."""
    if network is None:
        return ()
    ips = ((network.ip,) if network.ip else ()) + network.additional_ips
    for ip in ips:
        if parse_ip_sloppy(ip) is None:
            return ()
    return ips


def sandbox_record(info: SandboxInfo) -> SandboxRecord:
    return SandboxRecord(info.id, info.attempt, info.ready, info.created_at, info.network_namespace, info.network)


def container_record(
    info: ContainerInfo, active: bool, actuated: ResourceRequirements | None, runtime_name: str = RUNTIME_NAME
) -> ContainerRecord:
    exited = info.state == "exited"
    return ContainerRecord(
        id=container_id(info.id, runtime_name),
        name=info.name,
        state=info.state,
        hash=_hash(info),
        restart_count=info.attempt,
        created_at=info.created_at,
        started_at=info.started_at if info.state != "created" else None,
        finished_at=info.finished_at if exited else None,
        exit_code=info.exit_code if exited else 0,
        reason=info.reason if exited else "",
        message=info.message if exited else "",
        image=info.image,
        image_id=info.image_id or info.image_ref,
        image_ref=info.image_ref,
        active=active,
        resources=with_actuated(info.resources, actuated),
        stop_signal=info.stop_signal,
        user=info.user,
    )


def runtime_pod_status(
    pod: RuntimePod,
    sandboxes: list[SandboxInfo],
    containers: list[ContainerInfo],
    actuated: Mapping[str, ResourceRequirements],
    runtime_name: str = RUNTIME_NAME,
) -> RuntimePodStatus:
    """The status of one pod. `actuated`, by container name, are the last applied resources. Only the newest listed
    sandbox provides addresses, while it is ready; objects removed since the listing are missing in `sandboxes` and
    `containers`.
    """
    if len(containers) > 1:
        containers = sorted(containers, key=_CREATED_AT, reverse=True)
    newest = sandboxes[0] if sandboxes and sandboxes[0].id == bare_id(pod.sandboxes[0].id) else None
    active = newest.id if newest is not None and newest.ready else None
    return RuntimePodStatus(
        uid=pod.uid,
        name=pod.name,
        namespace=pod.namespace,
        ips=sandbox_ips(newest.network) if newest is not None and active else (),
        sandboxes=tuple([sandbox_record(s) for s in sandboxes]),
        containers=tuple(
            [container_record(c, c.sandbox_id == active, actuated.get(c.name), runtime_name) for c in containers]
        ),
    )


def event_pod_status(event: ContainerEventResponse, actuated: Mapping[str, ResourceRequirements]) -> RuntimePodStatus:
    """The pod status of a container event: one sandbox and only its containers (GeneratePodStatus).

    As upstream, none of them counts as active; relists determine that.
    """
    sandbox = event.sandbox
    assert sandbox is not None  # events without a sandbox are ignored
    containers = sorted(event.containers, key=_CREATED_AT, reverse=True)
    return RuntimePodStatus(
        uid=sandbox.pod_uid,
        name=sandbox.pod_name,
        namespace=sandbox.pod_namespace,
        ips=sandbox_ips(sandbox.network),
        sandboxes=(sandbox_record(sandbox),),
        containers=tuple(container_record(each, False, actuated.get(each.name)) for each in containers),
    )


def running_pod(status: RuntimePodStatus) -> RuntimePod:
    """The parts of a pod to kill: running containers and every sandbox (ConvertPodStatusToRunningPod)."""
    return RuntimePod(
        uid=status.uid,
        name=status.name,
        namespace=status.namespace,
        containers=tuple(
            ListedContainer(c.id, c.name, c.state, c.hash) for c in status.containers if c.state == "running"
        ),
        sandboxes=tuple(
            ListedContainer(container_id(s.id), "", "running" if s.ready else "exited") for s in status.sandboxes
        ),
    )


def api_pod(pod: RuntimePod) -> Pod:
    """A Pod with the few fields of a listing, enough to kill it (Pod.ToAPIPod)."""
    metadata = ObjectMeta(name=pod.name, namespace=pod.namespace, uid=pod.uid)
    return Pod(metadata=metadata, spec=PodSpec(containers=tuple(Container(name=c.name) for c in pod.containers)))


def _hash(info: ContainerInfo) -> int:
    text = info.annotations.get(CONTAINER_HASH, "")
    return int(text, 16) if text else 0


def running_part(pod: RuntimePod) -> RuntimePod | None:
    """The running parts of a listed pod; None if there are none (listOptions.onlyRunningReady)."""
    for part in (*pod.containers, *pod.sandboxes):
        if part.state != "running":
            break
    else:
        return pod
    containers = [container for container in pod.containers if container.state == "running"]
    sandboxes = [sandbox for sandbox in pod.sandboxes if sandbox.state == "running"]
    if not containers and not sandboxes:
        return None
    return replace(pod, containers=tuple(containers), sandboxes=tuple(sandboxes))

"""Nodes and pods in a short notation for scheduler tests, and a cluster with a scheduler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.listers import Listers
from kubesim.cluster.scheduling.framework.plugin import CycleState, Plugin
from kubesim.cluster.scheduling.framework.pod_info import new_pod_info
from kubesim.cluster.scheduling.framework.snapshot import Snapshot
from kubesim.cluster.scheduling.framework.status import Status
from kubesim.cluster.scheduling.scheduler import Scheduler
from kubesim.cluster.store.store import Store
from kubesim.features import DEFAULT_GATES
from tests.support.cluster.controlled import NAMESPACE, ControlledCluster, controlled

T = TypeVar("T")


def node(
    name: str,
    cpu: str = "4",
    memory: str = "8Gi",
    pods: int = 110,
    *,
    labels: Mapping[str, str] | None = None,
    taints: tuple[str, ...] = (),
    **spec: Any,
) -> Node:
    """A node with its host name label; taints are written `key=value:effect` or `key:effect`."""
    resources = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    return Node.from_json(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
            "spec": {"taints": [_taint(text) for text in taints], **spec},
            "status": {"capacity": resources, "allocatable": resources},
        }
    )


def _taint(text: str) -> dict[str, str]:
    named, _, effect = text.partition(":")
    key, _, value = named.partition("=")
    return {"key": key, "value": value, "effect": effect}


def pod(
    name: str,
    cpu: str = "",
    memory: str = "",
    *,
    labels: Mapping[str, str] | None = None,
    namespace: str = NAMESPACE,
    ports: tuple[int, ...] = (),
    claims: tuple[str, ...] = (),
    **spec: Any,
) -> dict[str, Any]:
    """A manifest; other arguments are fields of its spec."""
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
    container: dict[str, Any] = {"name": "main", "image": "busybox", "resources": {"requests": requests}}
    if ports:
        container["ports"] = [{"containerPort": port, "hostPort": port} for port in ports]
    if claims:
        spec["volumes"] = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {"containers": [container], **spec},
    }


def pod_object(manifest: dict[str, Any], node_name: str = "", uid: str = "") -> Pod:
    """The pod of a manifest without an API server, on this node if given."""
    found = Pod.from_json(manifest)
    metadata = found.metadata.changed(uid=uid or found.metadata.name, generation=1)
    return found.changed(metadata=metadata, spec=found.spec.changed(node_name=node_name))


def add_nodes(cluster: ControlledCluster, *nodes: Node) -> None:
    for each in nodes:
        cluster.store.create(each)


def scheduled_cluster(story: Callable[[ControlledCluster], Awaitable[T]], *nodes: Node, seed: int = 0) -> T:
    """Run a test in a cluster with these nodes and a scheduler."""

    async def main(cluster: ControlledCluster) -> T:
        add_nodes(cluster, *nodes)
        Scheduler(cluster.context)
        return await story(cluster)

    return controlled(main, seed)


def cycle_of(
    incoming: Pod, nodes: Sequence[Node], pods: Sequence[Pod] = (), objects: Sequence[ApiObject] = ()
) -> CycleState:
    """The scheduling cycle of a pod with these pods on nodes and these other objects; no scheduler runs."""
    store = Store(lambda: 0, lambda: "uid")
    for each in objects:
        store.create(each)
    snapshot = Snapshot()
    for each in nodes:
        snapshot.set_node(each)
    for number, each in enumerate(pods):
        uid = each.metadata.uid or f"existing-{number}"
        snapshot.set_pod(each.changed(metadata=each.metadata.changed(uid=uid)))
    return CycleState(new_pod_info(incoming, DEFAULT_GATES), snapshot, Listers(store))


REFUSED, UNRESOLVABLE = "refused", "unresolvable"


def answers(plugin: Plugin, cycle: CycleState) -> list[str]:
    """A plugin's result for each node: None, `refused`, or `unresolvable` if deleting pods would not help."""
    if plugin.pre_filter is not None:
        state = plugin.pre_filter(cycle)
        if isinstance(state, Status):
            return [state.message]
        if state is None:
            return [""] * len(cycle.snapshot.nodes)
        cycle.states[plugin.name] = state
    assert plugin.filter is not None
    found = [plugin.filter(cycle, node) for node in cycle.snapshot.nodes.values()]
    return ["" if each is None else UNRESOLVABLE if each.unresolvable else REFUSED for each in found]

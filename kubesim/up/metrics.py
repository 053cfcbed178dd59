"""metrics.k8s.io/v1beta1, for `kubectl top`: the simulated usage of containers and nodes.

The memory of a container is that of its behaviour, or else its request; its CPU is its request. A container without
requests uses a little. A pod is measured once it has a running container.

Mirrors: kubernetes-sigs/metrics-server pkg/api (pod.go, node.go)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.quantity import quantity
from kubesim.api.timestamps import format_time
from kubesim.app import Simulation
from kubesim.cluster.problems import status_of
from kubesim.cluster.served.rest import Request, Response
from kubesim.cluster.store.selectors import SelectorError, parse_label_selector
from kubesim.cluster.store.watches import Selection
from kubesim.errors import ApiError
from kubesim.values import replace

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
_WINDOW = "15s"
_LEAST_CPU_M, _LEAST_MEMORY_KI = 1, 2048  # of a container that requests nothing
_NODE_CPU_M, _NODE_MEMORY_KI = 50, 262_144  # usage of a node besides its pods
_VERBS = ["get", "list"]
_RESOURCES = (("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True))


def with_metrics(simulation: Simulation, request: Request, response: Response) -> Response:
    """The response with the metrics group added to the group list, or the description of the group itself."""
    url = urlsplit(request.path)
    parts = [part for part in url.path.split("/") if part]
    if request.method != "GET" or parts[:1] != ["apis"]:
        return response
    if len(parts) == 1:
        return response if response.body is None else replace(response, body=_with_group(response.body))
    if parts[1] != GROUP:
        return response
    try:
        return Response(200, _answer(simulation, parts[2:], dict(parse_qsl(url.query))))
    except ApiError as error:
        return Response(error.code, status_of(error))


def _with_group(groups: dict[str, Any]) -> dict[str, Any]:
    """Add the group to a plain list, and to aggregated discovery."""
    if groups.get("kind") == "APIGroupList":
        return groups | {"groups": [*groups["groups"], _group()]}
    if groups.get("kind") == "APIGroupDiscoveryList":
        resources = [
            {
                "resource": plural,
                "responseKind": {"group": GROUP, "version": VERSION, "kind": kind},
                "scope": "Namespaced" if namespaced else "Cluster",
                "singularResource": "",
                "verbs": _VERBS,
            }
            for plural, kind, namespaced in _RESOURCES
        ]
        version = {"version": VERSION, "resources": resources, "freshness": "Current"}
        item = {"metadata": {"name": GROUP, "creationTimestamp": None}, "versions": [version]}
        return groups | {"items": [*groups["items"], item]}
    return groups


def _group() -> dict[str, Any]:
    version = {"groupVersion": f"{GROUP}/{VERSION}", "version": VERSION}
    return {"name": GROUP, "versions": [version], "preferredVersion": version}


def _answer(simulation: Simulation, parts: list[str], query: dict[str, str]) -> dict[str, Any]:
    match parts:
        case []:
            return {"kind": "APIGroup", "apiVersion": "v1"} | _group()
        case ["v1beta1"]:
            resources = [
                {"name": plural, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": _VERBS}
                for plural, kind, namespaced in _RESOURCES
            ]
            kind = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{VERSION}"}
            return kind | {"resources": resources}
        case ["v1beta1", "nodes"]:
            return _list("NodeMetricsList", [_of_node(simulation, each) for each in _selected(simulation, query)])
        case ["v1beta1", "nodes", name] if name in simulation.nodes:
            return _of_node(simulation, simulation.store.get("Node", "", name))
        case ["v1beta1", "pods"]:
            return _list("PodMetricsList", list(_of_pods(simulation, None, query)))
        case ["v1beta1", "namespaces", namespace, "pods"]:
            return _list("PodMetricsList", list(_of_pods(simulation, namespace, query)))
        case ["v1beta1", "namespaces", namespace, "pods", name]:
            for metrics in _of_pods(simulation, namespace, {}):
                if metrics["metadata"]["name"] == name:
                    return metrics
            raise ApiError(404, "NotFound", f'podmetrics.{GROUP} "{namespace}/{name}" not found')
    raise ApiError(404, "NotFound", "the server could not find the requested resource")


def _list(kind: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": items}


def _selection(query: dict[str, str]) -> Selection:
    try:
        return Selection(labels=parse_label_selector(query.get("labelSelector", "")))
    except SelectorError as error:
        raise ApiError(400, "BadRequest", str(error)) from None


def _selected(simulation: Simulation, query: dict[str, str]) -> list[ApiObject]:
    found = simulation.store.list("Node", None, _selection(query))
    return [node for node in found if node.metadata.name in simulation.nodes]


def _of_pods(simulation: Simulation, namespace: str | None, query: dict[str, str]) -> Iterator[dict[str, Any]]:
    for pod in simulation.store.list("Pod", namespace, _selection(query)):
        assert isinstance(pod, Pod)
        usages = _usages(simulation, pod)
        if usages:
            containers = [{"name": name, "usage": _usage(cpu, memory)} for name, cpu, memory in usages]
            yield _metrics(simulation, "PodMetrics", pod) | {"containers": containers}


def _of_node(simulation: Simulation, node: ApiObject) -> dict[str, Any]:
    cpu, memory = _NODE_CPU_M, _NODE_MEMORY_KI
    for pod in simulation.store.list("Pod"):
        assert isinstance(pod, Pod)
        if pod.spec.node_name == node.metadata.name:
            for _, of_cpu, of_memory in _usages(simulation, pod):
                cpu, memory = cpu + of_cpu, memory + of_memory
    return _metrics(simulation, "NodeMetrics", node) | {"usage": _usage(cpu, memory)}


def _metrics(simulation: Simulation, kind: str, obj: ApiObject) -> dict[str, Any]:
    now = format_time(simulation.clock.now())
    metadata: dict[str, Any] = {"name": obj.metadata.name, "creationTimestamp": now}
    if obj.metadata.namespace:
        metadata["namespace"] = obj.metadata.namespace
    if obj.metadata.labels:
        metadata["labels"] = dict(obj.metadata.labels)
    shown = {"kind": kind, "apiVersion": f"{GROUP}/{VERSION}", "metadata": metadata}
    return shown | {"timestamp": now, "window": _WINDOW}


def _usage(cpu_m: int, memory_ki: int) -> dict[str, str]:
    return {"cpu": f"{cpu_m}m", "memory": f"{memory_ki}Ki"}


def least_usage(*, node_itself: bool = False) -> tuple[int, int]:
    """Thousandths of a CPU and KiB that a container uses without requests, or a node besides its pods."""
    return (_NODE_CPU_M, _NODE_MEMORY_KI) if node_itself else (_LEAST_CPU_M, _LEAST_MEMORY_KI)


def _usages(simulation: Simulation, pod: Pod) -> list[tuple[str, int, int]]:
    """The usage of each running container: its name, thousandths of a CPU, KiB."""
    node = simulation.nodes.get(pod.spec.node_name)
    if node is None:
        return []
    running = {context.container.name: context.container for context in node.runtime.running(pod.metadata.uid)}
    usage = node.machine.pod_usage(pod.metadata.uid)
    memory = {} if usage is None else {each.name: each.memory or 0 for each in usage.containers}
    return [
        (
            name,
            max(_LEAST_CPU_M, quantity(container.resources.requests.get("cpu", "0")).milli_value()),
            max(_LEAST_MEMORY_KI, memory.get(name, 0) // 1024),
        )
        for name, container in running.items()
    ]

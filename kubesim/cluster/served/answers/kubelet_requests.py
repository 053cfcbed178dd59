"""Requests that an API server forwards to a kubelet: logs, exec, attach, port-forward, proxies.

The in-memory server has no kubelet to forward them to. It validates them as a real one does, then answers with a
refused connection.

Mirrors: pkg/registry/core/pod strategy.go LogLocation, ExecLocation, streamLocation; pkg/registry/core/node strategy.go
ResourceLocation; pkg/apis/core/validation ValidatePodLogOptions
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.validation.field import Errors
from kubesim.cluster.problems import bad_request, internal_error, invalid, not_found
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store
from kubesim.errors import ApiError

CONNECTED = ("log", "exec", "attach", "portforward", "proxy")
_KUBELET_PORT = 10250
_LEAST = {"tailLines": 0, "sinceSeconds": 1, "limitBytes": 1}

Query = Mapping[str, Sequence[str]]


def refuse(store: Store, target: Target, query: Query, headers: Mapping[str, str]) -> ApiError | None:
    """The error of a request that would be forwarded to a kubelet. None if the answer is empty."""
    if target.resource.kind == "Node" or target.subresource == "proxy":
        store.get(target.resource.kind, target.namespace, target.name)
        return bad_request("address not allowed")
    pod = store.get("Pod", target.namespace, target.name)
    assert isinstance(pod, Pod)
    if target.subresource == "log":
        return _refuse_log(store, pod, query)
    if target.subresource != "portforward":
        _container(pod, query)
    if not pod.spec.node_name:
        return bad_request(f"pod {pod.metadata.name} does not have a host assigned")
    if "upgrade" not in headers.get("connection", "").lower():
        return bad_request("Upgrade request required")
    return _unreachable(store, pod, f"{target.subresource}/{pod.metadata.namespace}/{pod.metadata.name}")


def _refuse_log(store: Store, pod: Pod, query: Query) -> ApiError | None:
    errors = Errors()
    for name, least in _LEAST.items():
        text = query.get(name, [""])[0]
        if not text:
            continue
        if not text.lstrip("+-").isdigit():
            return bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
        if int(text) < least:
            errors.invalid(name, int(text), "must be greater than " + ("0" if least else "or equal to 0"))
    if errors:
        return invalid("", "PodLogOptions", pod.metadata.name, errors)
    container = _container(pod, query)
    if not pod.spec.node_name:
        return None
    path = f"containerLogs/{pod.metadata.namespace}/{pod.metadata.name}/{container}"
    return _unreachable(store, pod, path)


def _container(pod: Pod, query: Query) -> str:
    """The requested container, or the pod's only container."""
    name, wanted = pod.metadata.name, query.get("container", [""])[0]
    names = [each.name for each in pod.spec.containers]
    initial = [each.name for each in pod.spec.init_containers]
    if not wanted:
        if len(names) == 1:
            return names[0]
        choice = f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]"
        also = f" or one of the init containers: [{' '.join(initial)}]" if initial else ""
        raise bad_request(choice + also)
    if wanted not in (*names, *initial, *(each.name for each in pod.spec.ephemeral_containers)):
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    return wanted


def _unreachable(store: Store, pod: Pod, path: str) -> ApiError:
    node = store.find("Node", "", pod.spec.node_name)
    if not isinstance(node, Node):
        return not_found(RESOURCES["Pod"], pod.spec.node_name)
    addresses = {each.type: each.address for each in reversed(node.status.addresses)}
    host = addresses.get("InternalIP") or addresses.get("Hostname") or node.metadata.name
    endpoint = (node.to_json().get("status") or {}).get("daemonEndpoints") or {}
    port = (endpoint.get("kubeletEndpoint") or {}).get("Port") or _KUBELET_PORT
    where = f"{host}:{port}"
    return internal_error(f'Get "https://{where}/{path}": dial tcp {where}: connect: connection refused')

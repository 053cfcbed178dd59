"""Requests to a kubelet's port: the meaning of a path, and the permissions that it needs.

Mirrors: pkg/kubelet/server/server.go InstallAuthRequiredHandlers; auth.go GetRequestAttributes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, unquote, urlsplit

from kubesim.cluster.served.access import Attributes
from kubesim.values import value_object

_VERBS = {"POST": "create", "GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_STREAMS = ("exec", "attach")
# Names of the streams in a request to the API server, by those in a request to the kubelet.
_STREAM_NAMES = {"input": "stdin", "output": "stdout", "error": "stderr"}
# Path prefixes with a right of their own; the others need `proxy`. A fine-grained right is an alternative to it.
_OWN = {
    "stats": "stats",
    "metrics": "metrics",
    "logs": "log",
    "checkpoint": "checkpoint",
    "statusz": "statusz",
    "flagz": "configz",
}
_FINE = {"pods": "pods", "healthz": "healthz", "configz": "configz", "runningpods": "pods"}


@value_object
class KubeletRequest:
    """`kind` is the first part of the path; `uid` is empty if the path has none."""

    kind: str
    rest: tuple[str, ...] = ()
    namespace: str = ""
    pod: str = ""
    uid: str = ""
    container: str = ""


def parse_path(target: str) -> KubeletRequest:
    """Parse a request target."""
    kind, *rest = [unquote(part) for part in urlsplit(target).path.strip("/").split("/")]
    match rest:
        case [namespace, pod, container] if kind in (*_STREAMS, "containerLogs"):
            return KubeletRequest(kind, tuple(rest), namespace, pod, container=container)
        case [namespace, pod, uid, container] if kind in _STREAMS:
            return KubeletRequest(kind, tuple(rest), namespace, pod, uid, container)
        case [namespace, pod] if kind == "portForward":
            return KubeletRequest(kind, tuple(rest), namespace, pod)
        case [namespace, pod, uid] if kind == "portForward":
            return KubeletRequest(kind, tuple(rest), namespace, pod, uid)
    return KubeletRequest(kind, tuple(rest))


def query_of(target: str, container: str) -> Mapping[str, Sequence[str]]:
    """The query with the names that the API server uses, and the container of the path."""
    query: dict[str, list[str]] = {"container": [container]}
    for key, value in parse_qsl(urlsplit(target).query, keep_blank_values=True):
        if key != "container":
            query.setdefault(_STREAM_NAMES.get(key, key), []).append(value)
    return query


def attributes_of(method: str, kind: str, node: str) -> list[Attributes]:
    """The rights of which the user needs one."""
    fine = [_FINE[kind]] if kind in _FINE else []
    return [
        Attributes(_VERBS.get(method, ""), resource="nodes", subresource=subresource, name=node)
        for subresource in (*fine, _OWN.get(kind, "proxy"))
    ]

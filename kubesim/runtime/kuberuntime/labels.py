"""Labels and annotations that the kubelet stores on sandboxes and containers, and reads back.

After a restart, or for a container of an unknown pod, the kubelet has only these.

Mirrors: kuberuntime/labels.go, kuberuntime_container.go restoreSpecsFromContainerLabels.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import Container, ContainerPort, Lifecycle, LifecycleHandler, Pod, PodSpec
from kubesim.features.rules import DEFAULT_RULES, Rules
from kubesim.golang.json import dumps_in_order
from kubesim.runtime.kuberuntime.container_hash import hash_container

POD_NAME = "io.kubernetes.pod.name"
POD_NAMESPACE = "io.kubernetes.pod.namespace"
POD_UID = "io.kubernetes.pod.uid"
CONTAINER_NAME = "io.kubernetes.container.name"

POD_DELETION_GRACE_PERIOD = "io.kubernetes.pod.deletionGracePeriod"
POD_TERMINATION_GRACE_PERIOD = "io.kubernetes.pod.terminationGracePeriod"
CONTAINER_HASH = "io.kubernetes.container.hash"
CONTAINER_RESTART_COUNT = "io.kubernetes.container.restartCount"
CONTAINER_TERMINATION_MESSAGE_PATH = "io.kubernetes.container.terminationMessagePath"
CONTAINER_TERMINATION_MESSAGE_POLICY = "io.kubernetes.container.terminationMessagePolicy"
CONTAINER_PRE_STOP_HANDLER = "io.kubernetes.container.preStopHandler"
CONTAINER_PORTS = "io.kubernetes.container.ports"


def new_pod_labels(pod: Pod) -> dict[str, str]:
    """The labels of a sandbox, including the pod's own labels."""
    return {**pod.metadata.labels, **_identity(pod)}


def new_pod_annotations(pod: Pod) -> Mapping[str, str]:
    return pod.metadata.annotations


def new_container_labels(container: Container, pod: Pod) -> dict[str, str]:
    return {**_identity(pod), CONTAINER_NAME: container.name}


def _identity(pod: Pod) -> dict[str, str]:
    meta = pod.metadata
    return {POD_NAME: meta.name, POD_NAMESPACE: meta.namespace, POD_UID: meta.uid}


def new_container_annotations(
    container: Container, pod: Pod, restart_count: int, rules: Rules = DEFAULT_RULES
) -> dict[str, str]:
    annotations = {
        CONTAINER_HASH: f"{hash_container(container, rules):x}",
        CONTAINER_RESTART_COUNT: str(restart_count),
        CONTAINER_TERMINATION_MESSAGE_PATH: container.termination_message_path,
        CONTAINER_TERMINATION_MESSAGE_POLICY: container.termination_message_policy,
    }
    if pod.metadata.deletion_grace_period_seconds is not None:
        annotations[POD_DELETION_GRACE_PERIOD] = str(pod.metadata.deletion_grace_period_seconds)
    if pod.spec.termination_grace_period_seconds is not None:
        annotations[POD_TERMINATION_GRACE_PERIOD] = str(pod.spec.termination_grace_period_seconds)
    if container.lifecycle is not None and container.lifecycle.pre_stop is not None:
        annotations[CONTAINER_PRE_STOP_HANDLER] = dumps_in_order(_handler_json(container.lifecycle.pre_stop))
    if container.ports:
        annotations[CONTAINER_PORTS] = dumps_in_order([_port_json(port) for port in container.ports])
    return annotations


# Go writes fields in struct order and omits empty ones marked `omitempty`; fields unknown to the kubelet's types are
# not written.


def _handler_json(handler: LifecycleHandler) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if handler.exec is not None:
        out["exec"] = {"command": list(handler.exec.command)} if handler.exec.command else {}
    if (get := handler.http_get) is not None:
        headers = [{"name": header.name, "value": header.value} for header in get.http_headers]
        out["httpGet"] = {
            **_unless_empty(path=get.path),
            "port": get.port,
            **_unless_empty(host=get.host, scheme=get.scheme, httpHeaders=headers),
        }
    if (tcp := handler.tcp_socket) is not None:
        out["tcpSocket"] = {"port": tcp.port, **_unless_empty(host=tcp.host)}
    if handler.sleep is not None:
        out["sleep"] = {"seconds": handler.sleep.seconds}
    return out


def _port_json(port: ContainerPort) -> dict[str, Any]:
    return {
        **_unless_empty(name=port.name, hostPort=port.host_port),
        "containerPort": port.container_port,
        **_unless_empty(protocol=port.protocol, hostIP=port.host_ip),
    }


def _unless_empty(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def restore_specs(labels: Mapping[str, str], annotations: Mapping[str, str]) -> tuple[Pod, Container]:
    """The parts of a pod and container that are needed to stop a container of an unknown pod."""
    pod = Pod(
        metadata=ObjectMeta(
            uid=labels.get(POD_UID, ""),
            name=labels.get(POD_NAME, ""),
            namespace=labels.get(POD_NAMESPACE, ""),
            deletion_grace_period_seconds=_read(int, annotations, POD_DELETION_GRACE_PERIOD),
        ),
        spec=PodSpec(termination_grace_period_seconds=_read(int, annotations, POD_TERMINATION_GRACE_PERIOD)),
    )
    pre_stop = _read(json.loads, annotations, CONTAINER_PRE_STOP_HANDLER)
    ports = _read(json.loads, annotations, CONTAINER_PORTS)
    container = Container(
        name=labels.get(CONTAINER_NAME, ""),
        ports=tuple(ContainerPort.from_json(port) for port in ports) if isinstance(ports, list) else (),
        termination_message_path=annotations.get(CONTAINER_TERMINATION_MESSAGE_PATH, ""),
        lifecycle=Lifecycle(pre_stop=LifecycleHandler.from_json(pre_stop)) if isinstance(pre_stop, dict) else None,
    )
    return pod, container


def _read(read: Callable[[str], Any], annotations: Mapping[str, str], name: str) -> Any:
    """The value of an annotation; None if it is missing or invalid."""
    try:
        return read(annotations[name])
    except (KeyError, ValueError):
        return None

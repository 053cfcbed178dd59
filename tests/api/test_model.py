"""API types: lossless round trips, Go's zero values, and copies that share unchanged parts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesim.api.model import json_name
from kubesim.api.node import Node
from kubesim.api.pod import ContainerStateTerminated, ContainerStatus, Pod, PodStatus
from kubesim.api.schema.codec import DecodeError

MANIFEST: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "creationTimestamp": None,
        "labels": {"app": "web"},
        "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:metadata": {}}}],
        "someFutureField": {"nested": [1, 2, {"deep": None}]},
    },
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "nginx:1.27",
                "ports": [{"containerPort": 80, "hostIP": "127.0.0.1"}],
                "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
                "resources": {"limits": {"cpu": "500m", "memory": 134217728, "example.com/gpu": 1}},
                "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 3, "unknownKnob": True},
                "securityContext": {"runAsUser": 1000},
                "unknownContainerField": ["kept"],
            }
        ],
        "hostNetwork": True,
        "terminationGracePeriodSeconds": 0,
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone"}],
        "dnsConfig": {"options": [{"name": "ndots", "value": "5"}]},
    },
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "podIPs": [{"ip": "10.0.0.1"}],
        "qosClass": "Burstable",
        "conditions": [{"type": "Ready", "status": "True", "lastProbeTime": None}],
        "containerStatuses": [
            {"name": "main", "ready": True, "restartCount": 0, "image": "nginx:1.27", "imageID": "", "lastState": {},
             "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, "containerID": "containerd://abc"}
        ],
        "someFutureStatus": {"x": 1},
    },
    "topLevelSurprise": "kept too",
}  # fmt: skip


def test_unknown_fields_of_a_pod_survive_a_round_trip() -> None:
    assert Pod.from_json(MANIFEST).to_json() == MANIFEST
    assert Pod.from_json(json.loads(json.dumps(MANIFEST))).to_json() == MANIFEST


def test_containers_of_any_kind_are_found_by_name() -> None:
    kinds = {"containers": [{"name": "a"}], "initContainers": [{"name": "b"}], "ephemeralContainers": [{"name": "c"}]}
    spec = Pod.from_json({"spec": kinds}).spec
    found = [spec.find_container(name) for name in "abcd"]
    assert [container and container.name for container in found] == ["a", "b", "c", None]


def test_an_absent_field_is_gos_zero_value() -> None:
    pod = Pod.from_json({"metadata": {"name": "x"}})
    assert pod.spec.containers == ()
    assert pod.spec.restart_policy == ""
    assert pod.spec.termination_grace_period_seconds is None
    assert pod.status.phase == ""


def test_an_absent_struct_without_a_class_is_an_empty_object() -> None:
    status = Node.from_json({"kind": "Node", "status": {}}).status
    assert (status.node_info, status.daemon_endpoints, status.config) == ({}, {}, None)
    assert status.to_json() == {}


def test_null_where_there_is_no_pointer_is_an_absent_field() -> None:
    pod = Pod.from_json({"metadata": {"name": "x", "labels": None}, "spec": {"nodeName": None, "containers": None}})
    assert pod.spec.node_name == ""
    assert pod.spec.containers == ()
    assert pod.to_json() == {"metadata": {"name": "x"}, "spec": {}}


def test_null_for_an_int_or_string() -> None:
    probe, resources = {"tcpSocket": {"port": None}}, {"limits": {"cpu": None, "memory": 1}}
    container = {"name": "c", "livenessProbe": probe, "resources": resources, "args": ["x"]}
    (found,) = Pod.from_json({"spec": {"containers": [container]}}).spec.containers
    assert found.liveness_probe is not None
    assert found.liveness_probe.tcp_socket is not None
    assert found.liveness_probe.tcp_socket.port == 0
    assert found.resources.limits == {"memory": 1}


def test_null_in_a_list_is_a_zero_value() -> None:
    containers = [{"name": "a", "image": None}, None, {"name": "b", "args": ["x"]}]
    pod = Pod.from_json({"metadata": {}, "spec": {"containers": containers}})
    assert [(container.name, container.image) for container in pod.spec.containers] == [("a", ""), ("", ""), ("b", "")]


def test_a_wrong_type_is_an_error() -> None:
    with pytest.raises(DecodeError, match=r"PodSpec.spec.containers of type \[\]v1.Container"):
        Pod.from_json({"spec": {"containers": "all of them"}})


def test_null_is_not_an_object() -> None:
    with pytest.raises(AttributeError):
        Pod.from_json(None)  # type: ignore[arg-type]


def test_copies_share_unchanged_parts() -> None:
    pod = Pod.from_json(MANIFEST)
    other = pod.changed(status=PodStatus(phase="Failed"))
    assert other.status.phase == "Failed"
    assert pod.status.phase == "Running"
    assert other.spec is pod.spec
    assert other.to_json() == {**MANIFEST, "status": {"phase": "Failed"}}
    assert other != pod
    assert other.changed(status=pod.status) == pod


def test_objects_are_encoded_as_in_go() -> None:
    """Zero values are omitted, except those of fields without omitempty."""
    terminated = ContainerStateTerminated(exit_code=0, reason="", signal=0, finished_at="2026-01-01T00:00:00Z")
    assert terminated.to_json() == {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}
    status = ContainerStatus(name="main", ready=False, restart_count=0, image="x", image_id="", container_id="")
    assert status.to_json() == {"name": "main", "ready": False, "restartCount": 0, "image": "x", "imageID": ""}
    assert ContainerStatus(started=False).to_json() == {"started": False}  # targets of pointers are written
    assert Pod.from_json({"spec": {"hostNetwork": False, "nodeSelector": {}}}).to_json() == {"spec": {}}


def test_objects_are_immutable_and_unhashable() -> None:
    status = PodStatus(phase="Running")
    with pytest.raises(AttributeError, match=r"cannot be changed: use changed\(phase=...\)"):
        status.phase = "Failed"  # type: ignore[misc]
    with pytest.raises(TypeError, match="unhashable"):
        hash(status)


def test_an_absent_field_equals_a_zero_value() -> None:
    assert PodStatus(phase="Running", reason="") == PodStatus(phase="Running", pod_ips=())
    assert PodStatus(phase="Running", reason="x") != PodStatus(phase="Running", pod_ips=())


@pytest.mark.parametrize(
    ("field", "name"),
    [("pod_ip", "podIP"), ("pod_ips", "podIPs"), ("container_id", "containerID"), ("host_pid", "hostPID"),
     ("restart_policy", "restartPolicy"), ("uid", "uid"), ("pod_cidrs", "podCIDRs"), ("dns_policy", "dnsPolicy")],
)  # fmt: skip
def test_names_have_kubernetes_spelling(field: str, name: str) -> None:
    assert json_name(field) == name


def test_repr_is_readable() -> None:
    assert repr(PodStatus(phase="Running")) == "PodStatus({'phase': 'Running'})"

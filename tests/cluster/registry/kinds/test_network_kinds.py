"""Ingresses, network policies, Endpoints, roles and autoscalers: defaults and the API server's words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.cluster.rest import body_of, new_store, send

NETWORK = "/apis/networking.k8s.io/v1"
POLICIES, INGRESSES = f"{NETWORK}/namespaces/orc/networkpolicies", f"{NETWORK}/namespaces/orc/ingresses"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/orc"
AUTOSCALERS = "/apis/autoscaling/v{}/namespaces/orc/horizontalpodautoscalers"
MERGE = "application/merge-patch+json"
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def causes(path: str, body: dict[str, Any]) -> list[str]:
    answer = send(new_store(), "POST", path, {"metadata": {"name": "m"}, **body})
    assert answer.status == 422, answer.body
    return [f"{cause['field']}: {cause['message']}" for cause in body_of(answer)["details"]["causes"]]


def test_a_network_policy_gets_defaults() -> None:
    spec = {"egress": [{"ports": [{"port": 53}]}]}
    made = body_of(send(new_store(), "POST", POLICIES, {"metadata": {"name": "m"}, "spec": spec}))
    assert made["spec"] == {
        "podSelector": {},
        "egress": [{"ports": [{"protocol": "TCP", "port": 53}]}],
        "policyTypes": ["Ingress", "Egress"],
    }
    assert made["metadata"]["generation"] == 1


def test_an_invalid_network_policy_is_rejected() -> None:
    peers = [
        {},
        {"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}},
        {"ipBlock": {"cidr": "10.0.0.1/8"}},
        {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8", "x"]}},
    ]
    ports = [{"port": 80, "endPort": 79}, {"endPort": 5}, {"port": "Bad"}, {"protocol": "X"}]
    spec = {"ingress": [{"from": peers, "ports": ports}], "policyTypes": ["Frob"]}
    letters = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    beyond = "must not have bits set beyond the prefix length"
    no_network = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
    assert causes(POLICIES, {"spec": spec}) == [
        "spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`",
        "spec.ingress[0].ports[1].endPort: Invalid value: 5: may not be specified when `port` is not specified",
        f'spec.ingress[0].ports[2].port: Invalid value: "Bad": {letters}',
        'spec.ingress[0].ports[3].protocol: Unsupported value: "X": supported values: "TCP", "UDP", "SCTP"',
        "spec.ingress[0].from[0]: Required value: must specify a peer",
        "spec.ingress[0].from[1]: Forbidden: may not specify both ipBlock and another peer",
        f'spec.ingress[0].from[2].ipBlock.cidr: Invalid value: "10.0.0.1/8": {beyond}',
        'spec.ingress[0].from[3].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
        f'spec.ingress[0].from[3].ipBlock.except[1]: Invalid value: "x": {no_network}',
        'spec.policyTypes[0]: Unsupported value: "Frob": supported values: "Ingress", "Egress"',
    ]


def test_an_invalid_ingress_is_rejected() -> None:
    paths = [
        {"path": "/a", "backend": {}},
        {"path": "a", "pathType": "Prefix", "backend": {}},
        {"path": "/a//b", "pathType": "Exact", "backend": {"service": {"name": "s"}}},
        {"path": "/", "pathType": "Frob", "backend": {"service": {"name": "s", "port": {"name": "x", "number": 1}}}},
    ]
    rules = [{"host": "A_b"}, {"host": "10.0.0.1"}, {"host": "a.*", "http": {"paths": paths}}]
    found = causes(INGRESSES, {"spec": {"rules": rules, "ingressClassName": "x y"}})
    where = "spec.rules[2].http.paths"
    path_types = 'supported values: "Exact", "ImplementationSpecific", "Prefix"'
    assert [each for each in found if "wildcard" not in each] == [
        f'spec.rules[0].host: Invalid value: "A_b": {SUBDOMAIN}',
        'spec.rules[1].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
        f"{where}[0].pathType: Required value: pathType must be specified",
        f'{where}[1].path: Invalid value: "a": must be an absolute path',
        f'{where}[1].backend: Invalid value: "": resource or service backend is required',
        f"{where}[2].path: Invalid value: \"/a//b\": must not contain '//'",
        f"{where}[2].backend: Required value: port name or number is required",
        f'{where}[3].pathType: Unsupported value: "Frob": {path_types}',
        f'{where}[3].backend: Invalid value: "": cannot set both port name & port number',
        f'spec.ingressClassName: Invalid value: "x y": {SUBDOMAIN}',
    ]
    either = "either `defaultBackend` or `rules` must be specified"
    assert causes(INGRESSES, {"spec": {}}) == [f"spec: Invalid value: null: {either}"]


def test_the_controller_of_an_ingress_class_is_immutable() -> None:
    store, path = new_store(), f"{NETWORK}/ingressclasses"
    body = {"metadata": {"name": "m"}, "spec": {"controller": "a.b/c", "parameters": {"kind": "K", "name": "n"}}}
    assert body_of(send(store, "POST", path, body))["spec"]["parameters"]["scope"] == "Cluster"
    refused = send(store, "PATCH", f"{path}/m", {"spec": {"controller": "a.b/d"}}, MERGE)
    assert body_of(refused)["message"].endswith('spec.controller: Invalid value: "a.b/d": field is immutable')


def test_invalid_roles_and_bindings_are_rejected() -> None:
    rules = [{"verbs": []}, {"verbs": ["get"], "nonResourceURLs": ["/a"]}]
    assert causes(f"{ROLES}/roles", {"rules": rules}) == [
        "rules[0].verbs: Required value: verbs must contain at least one value",
        "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
        "rules[0].resources: Required value: resource rules must supply at least one resource",
        'rules[1].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs',
    ]
    subjects = [
        {"kind": "Frob", "name": "x"},
        {"kind": "User"},
        {"kind": "ServiceAccount", "name": "a", "apiGroup": "g"},
    ]
    kinds = 'supported values: "ServiceAccount", "User", "Group"'
    assert causes(f"{ROLES}/rolebindings", {"roleRef": {"kind": "Pod"}, "subjects": subjects}) == [
        'roleRef.kind: Unsupported value: "Pod": supported values: "Role", "ClusterRole"',
        "roleRef.name: Required value",
        f'subjects[0].kind: Unsupported value: "Frob": {kinds}',
        "subjects[1].name: Required value",
        'subjects[2].apiGroup: Unsupported value: "g": supported values: ""',
    ]
    store, binding = new_store(), {"metadata": {"name": "m"}, "roleRef": {"kind": "Role", "name": "r"}}
    assert send(store, "POST", f"{ROLES}/rolebindings", binding).status == 201
    changed = send(store, "PATCH", f"{ROLES}/rolebindings/m", {"roleRef": {"name": "other"}}, MERGE)
    assert body_of(changed)["message"].endswith("cannot change roleRef")


def test_the_name_of_a_role_can_be_any_segment_of_a_path() -> None:
    for name, status in (("system:a", 201), ("A_b", 201), ("a%b", 422)):
        assert send(new_store(), "POST", f"{ROLES}/roles", {"metadata": {"name": name}}).status == status


def test_the_addresses_of_a_load_balancer_are_checked() -> None:
    store, path = new_store(), "/api/v1/namespaces/orc/services"
    for name, kind in (("lb", "LoadBalancer"), ("plain", "ClusterIP")):
        body = {"metadata": {"name": name}, "spec": {"type": kind, "ports": [{"port": 80}]}}
        assert send(store, "POST", path, body).status == 201

    def write(name: str, *ingress: dict[str, Any]) -> dict[str, Any]:
        status = {"status": {"loadBalancer": {"ingress": list(ingress)}}}
        return body_of(send(store, "PATCH", f"{path}/{name}/status", status, MERGE))

    kept = write("lb", {"ip": "10.0.0.1"})["status"]["loadBalancer"]["ingress"]
    assert kept == [{"ip": "10.0.0.1", "ipMode": "VIP"}]
    where = "status.loadBalancer.ingress"
    assert write("plain", {"ip": "10.0.0.1"})["message"].endswith(
        f"{where}: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"
    )
    assert [cause["field"] for cause in write("lb", {"ip": "x"}, {"hostname": "10.0.0.1"})["details"]["causes"]] == [
        f"{where}[0].ip", f"{where}[1].hostname"
    ]  # fmt: skip


def test_an_autoscaler_gets_defaults() -> None:
    spec = {"maxReplicas": 3, "scaleTargetRef": TARGET, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 5}}}
    made = body_of(send(new_store(), "POST", AUTOSCALERS.format(2), {"metadata": {"name": "m"}, "spec": spec}))["spec"]
    assert made["minReplicas"] == 1
    target = {"type": "Utilization", "averageUtilization": 80}
    assert made["metrics"] == [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    assert made["behavior"]["scaleDown"]["policies"] == [{"type": "Percent", "value": 100, "periodSeconds": 15}]
    assert made["behavior"]["scaleUp"]["stabilizationWindowSeconds"] == 0


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"maxReplicas": 0}, "spec.maxReplicas: Required value: must be set and greater than 0"),
        ({"minReplicas": 0}, "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"),
        ({"minReplicas": 9}, "spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"),
        (
            {"scaleTargetRef": {"kind": "Deployment", "name": "d"}},
            'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
        ),
        (
            {"metrics": [{"type": "Pods"}]},
            "spec.metrics[0].pods: Required value: must populate information for the given metric source",
        ),
        (
            {"behavior": {"scaleUp": {"selectPolicy": "X"}}},
            'spec.behavior.scaleUp.selectPolicy: Unsupported value: "X": supported values: "Disabled", "Max", "Min"',
        ),
    ],
)
def test_an_invalid_autoscaler_is_rejected(spec: dict[str, Any], problem: str) -> None:
    whole = {"maxReplicas": 3, "scaleTargetRef": TARGET, **spec}
    assert problem in causes(AUTOSCALERS.format(2), {"spec": whole})


def test_an_autoscaler_has_two_versions() -> None:
    store, old, new = new_store(), AUTOSCALERS.format(1), AUTOSCALERS.format(2)
    spec = {"maxReplicas": 3, "scaleTargetRef": TARGET, "targetCPUUtilizationPercentage": 50}
    made = body_of(send(store, "POST", old, {"metadata": {"name": "m"}, "spec": spec}))
    assert made["apiVersion"] == "autoscaling/v1"
    assert made["spec"]["targetCPUUtilizationPercentage"] == 50
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    shown = body_of(send(store, "GET", f"{new}/m"))
    assert shown["spec"]["metrics"] == [{"type": "Resource", "resource": cpu}]
    metric = {
        "type": "Pods",
        "pods": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "5"}},
    }
    assert send(store, "PATCH", f"{new}/m", {"spec": {"metrics": [metric]}}, MERGE).status == 200
    shown = body_of(send(store, "GET", f"{old}/m"))
    assert "targetCPUUtilizationPercentage" not in shown["spec"]
    [text] = shown["metadata"]["annotations"].values()
    assert json.loads(text) == [{"type": "Pods", "pods": {"metricName": "q", "targetAverageValue": "5"}}]
    assert send(store, "PATCH", f"{old}/m", {"spec": {"maxReplicas": 9}}, MERGE).status == 200
    assert body_of(send(store, "GET", f"{new}/m"))["spec"]["metrics"] == [metric]
    assert body_of(send(store, "GET", f"{old}"))["items"][0]["spec"]["maxReplicas"] == 9

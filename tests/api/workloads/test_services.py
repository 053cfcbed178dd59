"""Services as stored by an API server: defaults, addresses, and validation errors."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster.wire import object_to_json
from kubesim.errors import ApiError
from tests.support.cluster.controlled import ControlledCluster, controlled

PORTS = [{"port": 80}]


def create(cluster: ControlledCluster, name: str = "s", **spec: Any) -> dict[str, Any]:
    made = cluster.create({"kind": "Service", "metadata": {"name": name}, "spec": spec})
    stored: dict[str, Any] = object_to_json(made)["spec"]
    return stored


def created(**spec: Any) -> dict[str, Any]:
    async def story(cluster: ControlledCluster) -> dict[str, Any]:
        return create(cluster, **spec)

    return controlled(story)


def complaint(**spec: Any) -> str:
    with pytest.raises(ApiError) as refused:
        created(**spec)
    assert refused.value.code == 422
    return str(refused.value).removeprefix('Service "s" is invalid: ')


def test_defaults_of_a_service() -> None:
    spec = created(selector={"a": "b"}, ports=PORTS)
    address = spec.pop("clusterIP")
    assert address.startswith("10.")
    assert spec == {
        "ports": [{"protocol": "TCP", "port": 80, "targetPort": 80}],
        "selector": {"a": "b"},
        "clusterIPs": [address],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
    }


def test_an_external_name_has_no_address() -> None:
    assert created(type="ExternalName", externalName="example.com") == {
        "type": "ExternalName",
        "sessionAffinity": "None",
        "externalName": "example.com",
    }


@pytest.mark.parametrize(
    ("spec", "families", "policy"),
    [
        ({"selector": {"a": "b"}}, ["IPv4"], "SingleStack"),
        ({}, ["IPv4", "IPv6"], "RequireDualStack"),
        ({"selector": {"a": "b"}, "ipFamilyPolicy": "PreferDualStack"}, ["IPv4"], "PreferDualStack"),
    ],
)
def test_headless(spec: dict[str, Any], families: list[str], policy: str) -> None:
    stored = created(clusterIP="None", **spec)
    assert (stored["clusterIPs"], stored["ipFamilies"], stored["ipFamilyPolicy"]) == (["None"], families, policy)


def test_node_ports() -> None:
    spec = created(type="NodePort", ports=[{"name": "t", "port": 80}, {"name": "u", "port": 80, "protocol": "UDP"}])
    first, second = (port["nodePort"] for port in spec["ports"])
    assert first == second, "two protocols of one port share it"
    assert 30086 <= first <= 32767
    assert spec["externalTrafficPolicy"] == "Cluster"
    local = created(type="LoadBalancer", ports=PORTS, externalTrafficPolicy="Local")
    assert local["allocateLoadBalancerNodePorts"] is True
    assert local["healthCheckNodePort"] != local["ports"][0]["nodePort"]
    none = created(type="LoadBalancer", ports=PORTS, allocateLoadBalancerNodePorts=False)
    assert "nodePort" not in none["ports"][0]


def test_addresses_and_ports_are_unique_and_stay() -> None:
    async def story(cluster: ControlledCluster) -> None:
        first = create(cluster, "one", type="NodePort", ports=PORTS)
        second = create(cluster, "two", type="NodePort", ports=PORTS)
        assert first["clusterIP"] != second["clusterIP"]
        assert first["ports"][0]["nodePort"] != second["ports"][0]["nodePort"]
        changed = cluster.patch("Service", "one", {"spec": {"selector": {"x": "y"}}})
        assert object_to_json(changed)["spec"] == {**first, "selector": {"x": "y"}}
        with pytest.raises(ApiError, match="provided IP is already allocated"):
            create(cluster, "three", clusterIP=first["clusterIP"], ports=PORTS)
        port = first["ports"][0]["nodePort"]
        with pytest.raises(ApiError, match=f"Invalid value: {port}: provided port is already allocated"):
            create(cluster, "three", type="NodePort", ports=[{"port": 1, "nodePort": port}])

    controlled(story)


def test_a_type_change_allocates_and_releases() -> None:
    async def story(cluster: ControlledCluster) -> None:
        create(cluster, type="LoadBalancer", ports=PORTS, externalTrafficPolicy="Local")
        plain = object_to_json(cluster.patch("Service", "s", {"spec": {"type": "ClusterIP"}}))["spec"]
        assert "nodePort" not in plain["ports"][0]
        for name in ("externalTrafficPolicy", "healthCheckNodePort", "allocateLoadBalancerNodePorts"):
            assert name not in plain
        patch = {"type": "ExternalName", "externalName": "example.com"}
        external = object_to_json(cluster.patch("Service", "s", {"spec": patch}))["spec"]
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            assert name not in external
        again = object_to_json(cluster.patch("Service", "s", {"spec": {"type": "NodePort", "externalName": None}}))
        assert again["spec"]["clusterIP"]
        assert again["spec"]["ports"][0]["nodePort"]

    controlled(story)


def test_the_cluster_ip_is_immutable() -> None:
    async def story(cluster: ControlledCluster) -> None:
        create(cluster, ports=PORTS)
        with pytest.raises(
            ApiError, match=r'spec.clusterIPs\[0\]: Invalid value: \["10.96.0.9"\]: may not change once'
        ):
            cluster.patch("Service", "s", {"spec": {"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"]}})

    controlled(story)


BAD_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, "spec.ports: Required value"),
        ({"ports": [{"port": 70000}]},
         ("[spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive, "
         "spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive]")),
        ({"ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "a"}]},
         'spec.ports[1].name: Duplicate value: "a"'),
        ({"ports": [{"port": 1}, {"port": 2, "name": "b"}]}, "spec.ports[0].name: Required value"),
        ({"ports": [{"port": 1, "name": "A"}]}, f'spec.ports[0].name: Invalid value: "A": {BAD_LABEL}'),
        ({"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]},
         ('spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,"TargetPort":0,'
         '"NodePort":0}')),
        ({"ports": [{"port": 1, "protocol": "IP"}]},
         'spec.ports[0].protocol: Unsupported value: "IP": supported values: "SCTP", "TCP", "UDP"'),
        ({"ports": [{"port": 1, "nodePort": 30100}]},
         "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"),
        ({"type": "NodePort", "ports": [{"port": 1, "nodePort": 80}]},
         ("spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid "
          "ports is 30000-32767")),
        ({"type": "Nonsense", "ports": PORTS},
         ('spec.type: Unsupported value: "Nonsense": supported values: "ClusterIP", "ExternalName", "LoadBalancer", '
         '"NodePort"')),
        ({"type": "ExternalName"}, "spec.externalName: Required value"),
        ({"type": "ExternalName", "externalName": "a", "clusterIP": "None"},
         "spec.clusterIPs: Forbidden: may not be set for ExternalName services"),
        ({"type": "NodePort", "clusterIP": "None", "ports": PORTS},
         "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"),
        ({"sessionAffinity": "Cookie", "ports": PORTS},
         'spec.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None"'),
        ({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}, "ports": PORTS},
         ("spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than "
         "86400")),
        ({"externalTrafficPolicy": "Local", "ports": PORTS},
         'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'),
        ({"ipFamilyPolicy": "RequireDualStack", "ports": PORTS},
         ('spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack '
          "services")),
        ({"ipFamilies": ["IPv6"], "ports": PORTS},
         'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'),
        ({"clusterIP": "1.2.3.4", "ports": PORTS},
         ('spec.clusterIPs: Invalid value: ["1.2.3.4"]: failed to allocate IP 1.2.3.4: the provided IP (1.2.3.4) is '
          "not in the valid range. The range of valid IPs is 10.96.0.0/12")),
        ({"externalIPs": ["127.0.0.1"], "ports": PORTS},
         'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)'),
        ({"loadBalancerClass": "example.com/x", "ports": PORTS},
         "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"),
    ],
)  # fmt: skip
def test_validation_errors(spec: dict[str, Any], expected: str) -> None:
    assert complaint(**spec) == expected


def test_a_name_with_a_dot_is_rejected() -> None:
    async def story(cluster: ControlledCluster) -> None:
        with pytest.raises(ApiError, match="must not contain dots"):
            create(cluster, "a.b", ports=PORTS)

    controlled(story)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": -1}, "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"),
        ({"maxUnavailable": "120%"}, 'spec.maxUnavailable: Invalid value: "120%": must not be greater than 100%'),
        ({"minAvailable": "many"},
         ("spec.minAvailable: Invalid value: \"many\": a valid percent string must be a numeric string followed by an "
         "ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')")),
        ({"minAvailable": 1, "maxUnavailable": 1}, "minAvailable and maxUnavailable cannot be both set"),
        ({"unhealthyPodEvictionPolicy": "Sometimes"},
         ('spec.unhealthyPodEvictionPolicy: Unsupported value: "Sometimes": supported values: "AlwaysAllow", '
         '"IfHealthyBudget"')),
    ],
)  # fmt: skip
def test_validation_errors_of_budgets(spec: dict[str, Any], expected: str) -> None:
    async def story(cluster: ControlledCluster) -> None:
        with pytest.raises(ApiError) as refused:
            cluster.create({"kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": spec})
        assert expected in str(refused.value)

    controlled(story)

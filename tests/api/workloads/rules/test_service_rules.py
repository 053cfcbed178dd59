"""Validation of Services and EndpointSlices; each row has a change and its errors.

Adapted from upstream's tables: pkg/apis/core/validation/validation_test.go TestValidateServiceCreate,
TestValidateServiceUpdate; pkg/apis/discovery/validation/validation_test.go TestValidateEndpointSlice.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kubesim.api.validation.field import Errors
from kubesim.api.workloads.rules.network_kinds.services import RULES

Json = dict[str, Any]
SERVICE = RULES["Service"]
SLICE = RULES["EndpointSlice"]
BALANCER: Json = {"type": "LoadBalancer", "externalTrafficPolicy": "Cluster", "internalTrafficPolicy": "Cluster"}
LOCAL: Json = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 31000}
ONLY = "may only be used when `type` is 'LoadBalancer'"
ONCE = "may not change once set"


def service(**spec: Any) -> Json:
    whole: Json = {
        "metadata": {"name": "s"},
        "spec": {"ports": [{"port": 80}], "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"]},
    }
    whole["spec"].update(deepcopy(spec))
    SERVICE.default(whole)
    return whole


def external(**spec: Any) -> Json:
    return {"type": "ExternalName", "clusterIP": "", "clusterIPs": [], "ipFamilies": [], **spec}


def complaints(obj: Json) -> list[str]:
    errors = Errors()
    SERVICE.validate(errors, obj)
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [], id="valid"),
        pytest.param(
            {"ports": []},
            ["spec.ports: Required value"],
            id="no ports",
        ),
        pytest.param(
            {"type": "NodePort", "clusterIP": "None", "clusterIPs": ["None"]},
            ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
            id="a headless node port",
        ),
        pytest.param(
            external(clusterIPs=["10.0.0.1"], ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack", externalName="a.b"),
            [
                "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
                "spec.ipFamilies: Forbidden: may not be set for ExternalName services",
                "spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services",
            ],
            id="an external name with addresses",
        ),
        pytest.param(external(), ["spec.externalName: Required value"], id="an external name without a name"),
        pytest.param(
            {"ports": [{"name": "a", "port": 80}, {"name": "a", "port": 81}]},
            ['spec.ports[1].name: Duplicate value: "a"'],
            id="two ports of one name",
        ),
        pytest.param({"ports": [{"port": 80, "appProtocol": "kubernetes.io/h2c"}]}, [], id="an application protocol"),
        pytest.param(
            {"clusterIPs": []},
            ["spec.clusterIPs: Required value"],
            id="the first address alone",
        ),
        pytest.param(
            {"clusterIP": "10.0.0.2"},
            ['spec.clusterIPs: Invalid value: ["10.0.0.1"]: first value must match `clusterIP`'],
            id="two first addresses",
        ),
        pytest.param(
            {"clusterIP": ""},
            ['spec.clusterIPs: Invalid value: ["10.0.0.1"]: must be empty when `clusterIP` is not specified'],
            id="addresses without the first",
        ),
        pytest.param(
            {"ipFamilies": ["IPv4", "IPv4"]},
            ['spec.ipFamilies[1]: Duplicate value: "IPv4"'],
            id="a family twice",
        ),
        pytest.param(
            {"clusterIP": "None", "clusterIPs": ["None", "10.0.0.1"]},
            [
                'spec.clusterIPs: Invalid value: ["None","10.0.0.1"]: \'None\' must be the first and only value',
            ],
            id="None and an address",
        ),
        pytest.param(
            {"clusterIPs": ["10.0.0.1", "fd00::1", "10.0.0.2"]},
            [
                'spec.clusterIPs: Invalid value: ["10.0.0.1","fd00::1","10.0.0.2"]: may only hold up to 2 values',
                (
                    'spec.clusterIPs: Invalid value: ["10.0.0.1","fd00::1","10.0.0.2"]: '
                    "may specify no more than one IP for each IP family"
                ),
            ],
            id="three addresses",
        ),
        pytest.param(
            {"ipFamilies": ["IPv6"]},
            [
                'spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`',
            ],
            id="an address of another family",
        ),
        pytest.param(
            {"externalIPs": ["0.0.0.0", "127.0.0.1", "169.254.1.1", "224.0.0.1", "10.1.1.1"]},
            [
                'spec.externalIPs[0]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)',
                (
                    'spec.externalIPs[1]: Invalid value: "127.0.0.1": '
                    "may not be in the loopback range (127.0.0.0/8, ::1/128)"
                ),
                (
                    'spec.externalIPs[2]: Invalid value: "169.254.1.1": '
                    "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
                ),
                (
                    'spec.externalIPs[3]: Invalid value: "224.0.0.1": '
                    "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
                ),
            ],
            id="external addresses",
        ),
        pytest.param(
            {"type": "NodePort", "ports": [{"name": n, "port": p, "nodePort": 30000} for n, p in (("a", 1), ("b", 2))]},
            ["spec.ports[1].nodePort: Duplicate value: 30000"],
            id="a node port twice",
        ),
        pytest.param(
            {"ports": [{"port": 80, "nodePort": 30000}]},
            ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
            id="a node port of a cluster address",
        ),
        pytest.param(
            {"ports": [{"name": name, "port": 80} for name in ("a", "b")]},
            [
                (
                    'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,'
                    '"TargetPort":0,"NodePort":0}'
                )
            ],
            id="a port twice",
        ),
        pytest.param(
            {
                "loadBalancerSourceRanges": ["10.0.0.0/8"],
                "allocateLoadBalancerNodePorts": True,
                "loadBalancerClass": "a/b",
            },
            [
                f"spec.LoadBalancerSourceRanges: Forbidden: {ONLY}",
                f"spec.allocateLoadBalancerNodePorts: Forbidden: {ONLY}",
                f"spec.loadBalancerClass: Forbidden: {ONLY}",
            ],
            id="what only a load balancer has",
        ),
        pytest.param(
            {**BALANCER, "loadBalancerSourceRanges": ["10.0.0.0/8", "10.0.0.0/33"], "loadBalancerClass": "a/b"},
            [
                (
                    'spec.LoadBalancerSourceRanges[1]: Invalid value: "10.0.0.0/33": '
                    "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
                ),
            ],
            id="a range that is none",
        ),
        pytest.param(
            {"externalTrafficPolicy": "Local"},
            [
                (
                    'spec.externalTrafficPolicy: Invalid value: "Local": '
                    "may only be set for externally-accessible services"
                ),
            ],
            id="an external policy inside",
        ),
        pytest.param(LOCAL, [], id="a health check port"),
        pytest.param(
            {**LOCAL, "healthCheckNodePort": 0},
            ["spec.healthCheckNodePort: Required value"],
            id="no health check port",
        ),
        pytest.param(
            {**BALANCER, "healthCheckNodePort": 31000},
            [
                (
                    "spec.healthCheckNodePort: Invalid value: 31000: may only be set when `type` is 'LoadBalancer' "
                    "and `externalTrafficPolicy` is 'Local'"
                ),
            ],
            id="a health check port without need",
        ),
        pytest.param(
            {"trafficDistribution": "Random"},
            [
                (
                    'spec.trafficDistribution: Unsupported value: "Random": supported values: "PreferClose", '
                    '"PreferSameZone", "PreferSameNode"'
                ),
            ],
            id="an unknown distribution",
        ),
    ],
)
def test_a_service(spec: Json, expected: list[str]) -> None:
    assert complaints(service(**spec)) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({}, {"selector": {"a": "b"}}, [], id="another selector"),
        pytest.param(
            {},
            {"clusterIP": "", "clusterIPs": []},
            ["spec.clusterIPs[0]: Invalid value: []: primary clusterIP can not be unset"],
            id="no address any more",
        ),
        pytest.param(
            {},
            {"ipFamilies": ["IPv6"]},
            [f'spec.ipFamilies[0]: Invalid value: ["IPv6"]: {ONCE}'],
            id="another family",
        ),
        pytest.param(
            {**BALANCER, "loadBalancerClass": "a/b"},
            {**BALANCER, "loadBalancerClass": "a/c"},
            [f'spec.loadBalancerClass: Invalid value: "a/c": {ONCE}'],
            id="another class of load balancer",
        ),
        pytest.param(
            LOCAL,
            {**LOCAL, "healthCheckNodePort": 31001},
            ["spec.healthCheckNodePort: Forbidden: field is immutable"],
            id="another health check port",
        ),
    ],
)
def test_an_update_of_a_service(old: Json, new: Json, expected: list[str]) -> None:
    errors = Errors()
    SERVICE.validate_update(errors, service(**new), service(**old))
    assert [str(error) for error in errors] == expected


def test_topology_annotations_must_agree() -> None:
    noted = service()
    noted["metadata"]["annotations"] = {
        "service.kubernetes.io/topology-aware-hints": "auto",
        "service.kubernetes.io/topology-mode": "disabled",
    }
    assert complaints(noted) == [
        (
            'metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "disabled": '
            "must match annotations[service.kubernetes.io/topology-aware-hints] when both are specified"
        )
    ]


def test_obsolete_fields_are_cleared_unless_the_client_changed_them() -> None:
    old = service(**LOCAL, loadBalancerClass="a/b", allocateLoadBalancerNodePorts=False)
    old["spec"]["ports"][0]["nodePort"] = 30000
    new = deepcopy(old)
    new["spec"].update(type="ClusterIP", loadBalancerClass="a/c")
    SERVICE.prepare_update(new, old)
    assert new["spec"].keys().isdisjoint({"healthCheckNodePort", "allocateLoadBalancerNodePorts"})
    assert "nodePort" not in new["spec"]["ports"][0]
    assert new["spec"]["loadBalancerClass"] == "a/c", "the client changed it, so validation refuses it"
    external_name = deepcopy(old)
    external_name["spec"].update(type="ExternalName", externalName="a.b", ipFamilies=["IPv6"], clusterIP="10.0.0.9")
    SERVICE.prepare_update(external_name, old)
    assert external_name["spec"]["clusterIP"] == "10.0.0.9", "changed by the client"
    assert external_name["spec"]["ipFamilies"] == ["IPv6"]


@pytest.mark.parametrize(
    ("endpoint_slice", "expected"),
    [
        pytest.param({"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"], "hostname": "a"}]}, [], id="ok"),
        pytest.param({"endpoints": []}, ["addressType: Required value"], id="no address type"),
        pytest.param(
            {"addressType": "IPv4", "endpoints": [{"addresses": []}]},
            ["endpoints[0].addresses: Required value: must contain at least 1 address"],
            id="no address",
        ),
        pytest.param(
            {"addressType": "FQDN", "endpoints": [{"addresses": [f"a{n}.b" for n in range(101)]}]},
            ["endpoints[0].addresses: Too many: 101: must have at most 100 items"],
            id="too many addresses",
        ),
        pytest.param(
            {"addressType": "IPv4", "endpoints": [{"addresses": ["fd00::1"]}]},
            ['endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address'],
            id="an address of another family",
        ),
    ],
)
def test_an_endpoint_slice(endpoint_slice: Json, expected: list[str]) -> None:
    errors = Errors()
    SLICE.validate(errors, endpoint_slice)
    assert [str(error) for error in errors] == expected


def test_the_address_type_of_a_slice_is_immutable() -> None:
    errors = Errors()
    SLICE.validate_update(errors, {"addressType": "IPv6"}, {"addressType": "IPv4"})
    assert [str(error) for error in errors] == ['addressType: Invalid value: "IPv6": field is immutable']

"""Names and networks of a pod: DNS, host aliases, the host's network and users, host names.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidatePodDNSConfig, TestValidateDNSPolicy,
TestValidatePodDNSConfigWithRelaxedSearchDomain, TestValidatePodSpec, TestValidateHostUsers, TestValidatePodHostName
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.validation import PodValidationOptions
from tests.support.validation.pods import JsonObject, about_spec, gates
from tests.support.validation.texts import IP, LABEL, SUBDOMAIN, SUBDOMAIN_UNDERSCORE

ONE_DNS = "must provide at least one DNS nameserver when `dnsPolicy` is None"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["10.0.0.1", "fd00::1"]}}, []),
        ({"dnsPolicy": "Default", "dnsConfig": {}}, []),
        (
            {"dnsPolicy": "Nope"},
            [
                'dnsPolicy: Unsupported value: "Nope": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
            ],
        ),
        ({"dnsPolicy": "None"}, ["dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"]),
        (
            {"dnsPolicy": "None", "dnsConfig": {"options": [{}]}},
            [f"dnsConfig.nameservers: Required value: {ONE_DNS}"],
        ),
        (
            {"dnsConfig": {"nameservers": ["1.1.1.1", "2.2.2.2", "3.3.3.3", "4"], "options": [{"value": "x"}]}},
            [
                'dnsConfig.nameservers: Invalid value: ["1.1.1.1","2.2.2.2","3.3.3.3","4"]: must not have more than 3 nameservers',
                f'dnsConfig.nameservers[3]: Invalid value: "4": {IP}',
                "dnsConfig.options[0]: Required value: must not be empty",
            ],
        ),
        ({"dnsConfig": {"searches": [".", "svc.local.", "_sip._tcp.a_b"], "options": [{"name": "ndots"}]}}, []),
        (
            {"dnsConfig": {"searches": ["A.local.", ""]}},
            [
                f'dnsConfig.searches[0]: Invalid value: "A.local": {SUBDOMAIN_UNDERSCORE}',
                f'dnsConfig.searches[1]: Invalid value: "": {SUBDOMAIN_UNDERSCORE}',
            ],
        ),
    ],
)
def test_dns(spec: JsonObject, expected: list[str]) -> None:
    assert about_spec(spec) == expected


def test_search_lists_are_limited() -> None:
    searches = [f"{n:02}{'a' * 61}" for n in range(32)]
    assert about_spec({"dnsConfig": {"searches": searches}}) == []  # 32 of them, 2047 characters
    shown = "[" + ",".join(f'"{search}"' for search in ("x", *searches)) + "]"
    assert about_spec({"dnsConfig": {"searches": ["x", *searches]}}) == [
        f"dnsConfig.searches: Invalid value: {shown}: must not have more than 32 search paths",
        f"dnsConfig.searches: Invalid value: {shown}: must not have more than 2048 characters (including spaces) in the search list",
    ]


def test_a_search_path_must_be_a_domain() -> None:
    long = ".".join(["a" * 63] * 4)
    assert about_spec({"dnsConfig": {"searches": [long]}}) == [
        f'dnsConfig.searches[0]: Invalid value: "{long}": must be no more than 253 characters'
    ]


@pytest.mark.parametrize(
    ("ip", "strictly", "sloppily"),
    [
        ("12.34.56.78", [], []),
        ("2001:DB8::ffff", [], []),
        ("::1.2.3.4", [], []),
        ("", [IP], [IP]),
        ("999.9.9.9", [IP], [IP]),
        ("1.2.3", [IP], [IP]),
        ("fe80::1%eth0", [IP], [IP]),
        ("::12345", [IP], [IP]),
        ("010.0.0.001", ["must not have leading 0s"], []),
        ("::ffff:01.2.3.4", ["must not have leading 0s"], []),
        ("00001::1", ["must not have leading 0s"], []),
        ("1::000001", ["must not have leading 0s"], []),
        ("::ffff:1.2.3.4", ["must not be an IPv4-mapped IPv6 address"], []),
    ],
)
def test_addresses(ip: str, strictly: list[str], sloppily: list[str]) -> None:
    spec = {"hostAliases": [{"ip": ip}]}
    assert about_spec(spec) == [f'hostAliases[0].ip: Invalid value: "{ip}": {error}' for error in strictly]
    found = about_spec(spec, gates(StrictIPCIDRValidation=False))
    assert found == [f'hostAliases[0].ip: Invalid value: "{ip}": {error}' for error in sloppily]


def test_host_aliases() -> None:
    assert about_spec({"hostAliases": [{"ip": "12.34.56.78", "hostnames": ["host1", "a.b"]}]}) == []
    assert about_spec({"hostAliases": [{"hostnames": ["a", "@#"]}]}) == [
        f'hostAliases[0].ip: Invalid value: "": {IP}',
        f'hostAliases[0].hostnames[1]: Invalid value: "@#": {SUBDOMAIN}',
    ]


class TestHostNetwork:
    def about(self, port: JsonObject, options: PodValidationOptions) -> list[str]:
        container = {"name": "c", "image": "i", "ports": [port]}
        found = about_spec({"hostNetwork": True, "containers": [container]}, options)
        return [error.removeprefix("containers[0].ports[0].") for error in found]

    @pytest.mark.parametrize("options", [PodValidationOptions(), PodValidationOptions(resource_is_pod=True)])
    def test_with_host_network_a_container_port_is_a_host_port(self, options: PodValidationOptions) -> None:
        assert self.about({"containerPort": 80}, options) == []
        assert self.about({"containerPort": 80, "hostPort": 80}, options) == []
        assert self.about({"containerPort": 80, "hostPort": 81}, options) == [
            "hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"
        ]


class TestHostUsers:
    CLAIM = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    DEVICE = {"name": "v", "devicePath": "/dev/x"}

    def about(self, options: PodValidationOptions | None = None, **spec: Any) -> list[str]:
        return about_spec({"hostUsers": False, **spec}, options)

    def test_user_namespaces_exclude_host_namespaces(self) -> None:
        assert self.about() == []
        assert self.about(hostUsers=True, hostNetwork=True, hostPID=True, hostIPC=True) == []
        assert self.about(hostNetwork=True, hostPID=True, hostIPC=True) == [
            "hostNetwork: Forbidden: when `hostUsers` is false",
            "HostPID: Forbidden: when `hostUsers` is false",
            "HostIPC: Forbidden: when `hostUsers` is false",
        ]

    def test_user_namespaces_with_host_network_need_a_gate(self) -> None:
        options = gates(UserNamespacesHostNetworkSupport=True)
        assert self.about(options, hostNetwork=True, hostPID=True) == ["HostPID: Forbidden: when `hostUsers` is false"]

    def test_user_namespaces_exclude_block_devices(self) -> None:
        containers = [{"name": "c", "image": "i", "volumeDevices": [self.DEVICE]}]
        init = [{"name": "i", "image": "i", "volumeDevices": [self.DEVICE]}]
        assert self.about(volumes=[self.CLAIM], containers=containers, initContainers=init) == [
            "initContainers[0].volumeDevices: Forbidden: when `hostUsers` is false",
            "containers[0].volumeDevices: Forbidden: when `hostUsers` is false",
        ]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"hostnameOverride": "a.b", "setHostnameAsFQDN": False}, []),
        (
            {"hostnameOverride": "a", "setHostnameAsFQDN": True, "hostNetwork": True},
            [
                "hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
                "hostnameOverride: Forbidden: may not be specified when hostNetwork is true",
            ],
        ),
        ({"hostnameOverride": "a" * 65}, ["hostnameOverride: Too long: may not be more than 64 bytes"]),
        ({"hostnameOverride": ""}, [f'hostnameOverride: Invalid value: "": {SUBDOMAIN}']),
        ({"hostname": "H", "subdomain": "a.b"}, [
            f'hostname: Invalid value: "H": {LABEL}',
            'subdomain: Invalid value: "a.b": must not contain dots',
        ]),
    ],
)  # fmt: skip
def test_host_names(spec: JsonObject, expected: list[str]) -> None:
    assert about_spec(spec) == expected

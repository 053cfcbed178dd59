"""Regular containers: names, images, ports.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidateContainers, TestValidatePorts,
TestValidatePullPolicy, TestValidatePodSpec
"""

from __future__ import annotations

import pytest

from tests.support.validation.pods import JsonObject, about_container, about_spec
from tests.support.validation.texts import LABEL

PORT = "must be between 1 and 65535, inclusive"


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({"name": "123-ctr", "terminationMessagePolicy": "FallbackToLogsOnError", "imagePullPolicy": "Never"}, []),
        ({"name": ""}, ["name: Required value"]),
        ({"name": "a.b"}, ['name: Invalid value: "a.b": must not contain dots']),
        ({"name": "C"}, [f'name: Invalid value: "C": {LABEL}']),
        ({"image": ""}, ["image: Required value"]),
        # Upstream checks the first only in pods, not in templates, so it comes at the end.
        (
            {"image": " img\n", "imagePullPolicy": "Maybe"},
            [
                'imagePullPolicy: Unsupported value: "Maybe": supported values: "Always", "IfNotPresent", "Never"',
                'image: Invalid value: " img\\n": must not have leading or trailing whitespace',
            ],
        ),
        (
            {"terminationMessagePolicy": "Shout"},
            ['terminationMessagePolicy: Unsupported value: "Shout": supported values: "File", "FallbackToLogsOnError"'],
        ),
    ],
)
def test_containers(container: JsonObject, expected: list[str]) -> None:
    assert about_container(container) == expected


def test_at_least_one_container_is_required() -> None:
    assert about_spec({"containers": []}) == ["containers: Required value"]


def test_container_names_are_unique() -> None:
    containers = [{"name": "c", "image": "i"}, {"name": "c", "image": "i"}]
    assert about_spec({"containers": containers}) == ['containers[1].name: Duplicate value: "c"']


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        ({"containerPort": 65535, "name": "do-re-me", "protocol": "SCTP", "hostPort": 1}, []),
        ({}, ["containerPort: Required value"]),
        ({"containerPort": 65536}, [f"containerPort: Invalid value: 65536: {PORT}"]),
        ({"containerPort": 1, "hostPort": -1}, [f"hostPort: Invalid value: -1: {PORT}"]),
        (
            {"containerPort": 1, "protocol": "tcp"},
            ['protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"'],
        ),
        (
            {"containerPort": 1, "name": "a" * 16},
            [f'name: Invalid value: "{"a" * 16}": must be no more than 15 characters'],
        ),
        (
            {"containerPort": 1, "name": "A"},
            [
                'name: Invalid value: "A": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
                'name: Invalid value: "A": must contain at least one letter (a-z)',
            ],
        ),
        (
            {"containerPort": 1, "name": "a--b-"},
            [
                'name: Invalid value: "a--b-": must not contain consecutive hyphens',
                'name: Invalid value: "a--b-": must not begin or end with a hyphen',
            ],
        ),
    ],
)
def test_ports(port: JsonObject, expected: list[str]) -> None:
    assert about_container({"ports": [port]}) == [f"ports[0].{error}" for error in expected]


def test_port_names_are_unique_in_a_container() -> None:
    ports = [{"name": name, "containerPort": 80} for name in ("web", "web", "1", "1")]
    assert about_container({"ports": ports}) == [
        'ports[1].name: Duplicate value: "web"',
        'ports[2].name: Invalid value: "1": must contain at least one letter (a-z)',
        'ports[3].name: Invalid value: "1": must contain at least one letter (a-z)',
    ]


def test_host_ports_are_unique_in_a_pod() -> None:
    udp = {"containerPort": 53, "hostPort": 53, "protocol": "UDP"}
    ports = [[{"containerPort": 53, "hostPort": 53}, udp], [{**udp, "hostIP": "10.0.0.1"}, udp, {"containerPort": 53}]]
    containers = [{"name": f"c{n}", "image": "i", "ports": given} for n, given in enumerate(ports)]
    assert about_spec({"containers": containers}) == [
        'containers[1].ports[1].hostPort: Duplicate value: "UDP//53"',
    ]

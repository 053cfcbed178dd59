"""Probes, lifecycle hooks and stop signals.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidateProbe, Test_validateProbe, TestValidateHandler,
TestValidateSleepAction, TestValidateStopSignal
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

import pytest

from tests.support.validation.pods import JsonObject, about_container
from tests.support.validation.texts import HEADER

PORT = "must be between 1 and 65535, inclusive"
EXEC = {"exec": {"command": ["echo"]}}
ONE = "Forbidden: may not specify more than 1 handler type"


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        (EXEC, []),
        ({"httpGet": {"port": "http", "scheme": "HTTPS", "httpHeaders": [{"name": "X-A", "value": ""}]}}, []),
        ({"tcpSocket": {"port": 1}}, []),
        ({}, [": Required value: must specify a handler type"]),
        ({"exec": {"command": []}}, [".exec.command: Required value"]),
        ({"httpGet": {}}, [f".httpGet.port: Invalid value: 0: {PORT}"]),
        (
            {"httpGet": {"port": "", "scheme": "FTP", "httpHeaders": [{"name": "X A"}]}},
            [
                '.httpGet.port: Invalid value: "": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
                '.httpGet.port: Invalid value: "": must contain at least one letter (a-z)',
                '.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"',
                f'.httpGet.httpHeaders: Invalid value: "X A": {HEADER}',
            ],
        ),
        ({"httpGet": {"port": 80, "protocol": "HTTP1"}}, []),
        ({"httpGet": {"port": 80, "protocol": "HTTP2"}}, []),
        (
            {"httpGet": {"port": 80, "protocol": "H3"}},
            ['.httpGet.protocol: Unsupported value: "H3": supported values: "HTTP1", "HTTP2"'],
        ),
        (
            {"httpGet": {"port": 80, "protocol": "HTTP2", "scheme": "HTTPS"}},
            ['.httpGet.protocol: Invalid value: "HTTP2": is only supported with HTTP (H2C)'],
        ),
        (
            {"httpGet": {"port": 80, "protocol": "HTTP2", "host": "a"}},
            ['.httpGet.host: Invalid value: "a": must be empty when `protocol` is "HTTP2"'],
        ),
        ({"tcpSocket": {"port": 65536}}, [f".tcpSocket.port: Invalid value: 65536: {PORT}"]),
        # Only the first is validated.
        (
            {"exec": {}, "httpGet": {}, "tcpSocket": {}},
            [".exec.command: Required value", f".httpGet: {ONE}", f".tcpSocket: {ONE}"],
        ),
    ],
)
@pytest.mark.parametrize("where", ["readinessProbe", "lifecycle.postStart"])
def test_handlers(where: str, handler: JsonObject, expected: list[str]) -> None:
    container = {"lifecycle": {"postStart": handler}} if "." in where else {where: handler}
    assert about_container(container) == [where + error for error in expected]


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        ({"grpc": {"port": 1, "mode": "TLS"}}, []),
        (
            {"grpc": {"port": 1, "mode": "x"}},
            ['.grpc.mode: Unsupported value: "x": supported values: "Plaintext", "TLS"'],
        ),
        ({"grpc": {}}, [f".grpc.port: Invalid value: 0: {PORT}"]),
    ],
)
def test_only_probes_support_grpc(handler: JsonObject, expected: list[str]) -> None:
    assert about_container({"startupProbe": handler}) == [f"startupProbe{error}" for error in expected]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"initialDelaySeconds": 1, "terminationGracePeriodSeconds": 1}, []),
        (
            {
                "initialDelaySeconds": -1,
                "timeoutSeconds": -1,
                "periodSeconds": -1,
                "failureThreshold": -1,
                "terminationGracePeriodSeconds": 0,
            },
            [
                "initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0",
                "timeoutSeconds: Invalid value: -1: must be greater than or equal to 0",
                "periodSeconds: Invalid value: -1: must be greater than or equal to 0",
                "failureThreshold: Invalid value: -1: must be greater than or equal to 0",
                "terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0",
            ],
        ),
        (
            {"successThreshold": -1},
            [
                "successThreshold: Invalid value: -1: must be greater than or equal to 0",
                "successThreshold: Invalid value: -1: must be 1",
            ],
        ),
        ({"successThreshold": 2}, ["successThreshold: Invalid value: 2: must be 1"]),
    ],
)
@pytest.mark.parametrize("kind", ["livenessProbe", "startupProbe"])
def test_liveness_and_startup_probes(kind: str, more: JsonObject, expected: list[str]) -> None:
    assert about_container({kind: {**EXEC, **more}}) == [f"{kind}.{error}" for error in expected]


def test_readiness_probes_allow_a_success_threshold_but_no_grace_period() -> None:
    assert about_container({"readinessProbe": {**EXEC, "successThreshold": 2}}) == []
    assert about_container({"readinessProbe": {**EXEC, "terminationGracePeriodSeconds": 10}}) == [
        "readinessProbe.terminationGracePeriodSeconds: Invalid value: 10: must not be set for readinessProbes"
    ]


@pytest.mark.parametrize(
    ("seconds", "grace", "expected"),
    [
        (5, 30, []),
        (0, 30, []),
        (30, 30, []),
        (31, 30, ["Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)"]),
        (-1, 30, ["Invalid value: -1: must be non-negative and less than terminationGracePeriodSeconds (30)"]),
        (1, 0, ["Invalid value: 1: must be non-negative and less than terminationGracePeriodSeconds (0)"]),
    ],
)
def test_sleep_must_be_shorter_than_the_grace_period(seconds: int, grace: int, expected: list[str]) -> None:
    container = {"lifecycle": {"preStop": {"sleep": {"seconds": seconds}}}}
    found = about_container(container, {"terminationGracePeriodSeconds": grace})
    assert found == [f"lifecycle.preStop.sleep: {error}" for error in expected]


@pytest.mark.parametrize(
    ("os", "signal", "expected"),
    [
        ({"name": "linux"}, "SIGRTMIN+15", []),
        ({"name": "windows"}, "SIGKILL", []),
        (None, "SIGTERM", ["Forbidden: may not be set for containers with empty `spec.os.name`"]),
        (
            {"name": "windows"},
            "SIGINT",
            ['Unsupported value: "SIGINT": supported values: "SIGKILL", "SIGTERM"'],
        ),
    ],
)
def test_stop_signals(os: JsonObject | None, signal: str, expected: list[str]) -> None:
    found = about_container({"lifecycle": {"stopSignal": signal}}, {"os": os})
    assert found == [f"lifecycle.stopSignal: {error}" for error in expected]


def test_linux_signals_are_listed_alphabetically() -> None:
    (error,) = about_container({"lifecycle": {"stopSignal": "SIGRTMIN+16"}}, {"os": {"name": "linux"}})
    begin = 'lifecycle.stopSignal: Unsupported value: "SIGRTMIN+16": supported values: '
    listed = error.removeprefix(begin).split(", ")
    assert len(listed) == 65
    assert listed[:2] == ['"SIGABRT"', '"SIGALRM"']
    assert listed[24:28] == ['"SIGRTMAX-14"', '"SIGRTMAX-2"', '"SIGRTMAX-3"', '"SIGRTMAX-4"']
    assert listed == sorted(listed)


def test_an_unknown_os_has_no_valid_signals() -> None:
    assert about_container({"lifecycle": {"stopSignal": "SIGX"}}, {"os": {"name": "plan9"}}) == [
        'spec.os: Unsupported value: "plan9": supported values: "linux", "windows"'
    ]

"""Windows: user names, credentials, host-process pods, and fields that exist on only one of both systems.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidateWindowsSecurityContextOptions,
TestValidateWindowsHostProcessPod, TestValidateOS, TestValidateOSFields, TestValidateWindowsPodSecurityContext,
TestValidateLinuxPodSecurityContext
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.validation import PodValidationOptions
from tests.support.validation.pods import JsonObject, about_container, about_spec
from tests.support.validation.texts import SUBDOMAIN

NOT_ON_WINDOWS = "Forbidden: cannot be set for a windows pod"
NOT_ON_LINUX = "Forbidden: windows options cannot be set for a linux pod"
CHARACTERS = "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"


def options(**values: Any) -> JsonObject:
    return {"securityContext": {"windowsOptions": values}}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dummy", []),
        ("test.user", []),
        (".user", []),
        ("domain\\user", []),
        ("a-b.c\\user", []),
        (f"{'a.' * 127}a\\user", []),
        ("", ["runAsUserName cannot be an empty string"]),
        ("Container\tUser", ["runAsUserName cannot contain control characters"]),
        ("a\\b\\c", ["runAsUserName cannot contain more than one backslash"]),
        ("\\user", ["runAsUserName's Domain doesn't match the NetBios nor the DNS format"]),
        (".net\\user", ["runAsUserName's Domain doesn't match the NetBios nor the DNS format"]),
        ("more-than-fifteen_\\user", ["runAsUserName's Domain doesn't match the NetBios nor the DNS format"]),
        (
            f"{'a' * 256}\\user",
            [
                "runAsUserName's Domain length must be under 256 characters",
                "runAsUserName's Domain doesn't match the NetBios nor the DNS format",
            ],
        ),
        ("domain\\", ["runAsUserName's User cannot be empty"]),
        ("u" * 104, []),
        ("u" * 105, ["runAsUserName's User length must not be longer than 104 characters"]),
        ("... ...", ["runAsUserName's User cannot contain only periods or spaces"]),
        ("a@b", [CHARACTERS]),
    ],
)
def test_user_names(name: str, expected: list[str]) -> None:
    shown = name.replace("\\", "\\\\").replace("\t", "\\t")
    found = about_container(options(runAsUserName=name))
    where = "securityContext.windowsOptions.runAsUserName"
    assert found == [f'{where}: Invalid value: "{shown}": {error}' for error in expected]


def test_credentials() -> None:
    where = "securityContext.windowsOptions"
    assert about_spec(options(gmsaCredentialSpecName="dc.example", gmsaCredentialSpec="x" * 65536)) == []
    assert about_spec(options(gmsaCredentialSpecName="_", gmsaCredentialSpec="")) == [
        f'{where}.gmsaCredentialSpecName: Invalid value: "_": {SUBDOMAIN}',
        f'{where}.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string',
    ]
    long = "x" * 65537
    assert about_spec(options(gmsaCredentialSpec=long)) == [
        f'{where}.gmsaCredentialSpec: Invalid value: "{long}": gmsaCredentialSpec size must be under 64 KiB'
    ]


class TestHostProcesses:
    ALL = (
        'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess '
        "containers"
    )
    NETWORK = "hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers"

    def about(
        self, pod: bool | None, *containers: bool | None, network: bool = True, allowed: bool = True
    ) -> list[str]:
        def context(value: bool | None) -> JsonObject:
            return {} if value is None else options(hostProcess=value)

        spec = {
            "hostNetwork": network,
            "containers": [{"name": f"c{n}", "image": "i", **context(own)} for n, own in enumerate(containers)],
            **context(pod),
        }
        return about_spec(spec, PodValidationOptions(allow_privileged=allowed))

    def test_all_containers_or_none_are_host_process(self) -> None:
        assert self.about(None, None, network=False) == []
        assert self.about(False, False, network=False) == []
        assert self.about(None, True, True) == []
        assert self.about(True, None, True) == []
        assert self.about(None, True, None) == [self.ALL]

    def test_host_process_needs_the_hosts_network(self) -> None:
        assert self.about(True, None, network=False) == [self.NETWORK]

    def test_pod_and_container_must_agree(self) -> None:
        where = "containers[0].securityContext.windowsOptions.hostProcess"
        detail = "pod hostProcess value must be identical if both are specified, was"
        assert self.about(False, True) == [f"{where}: Invalid value: true: {detail} false"]
        assert self.about(True, False, None) == [f"{where}: Invalid value: false: {detail} true", self.ALL]

    def test_host_process_needs_privileged_pods(self) -> None:
        assert self.about(True, None, allowed=False) == [
            "spec: Forbidden: hostProcess containers are disallowed by cluster policy"
        ]


@pytest.mark.parametrize(
    ("os", "expected"),
    [
        ({"name": "linux"}, []),
        ({"name": "windows"}, []),
        ({}, ["os.name: Required value"]),
        ({"name": "mac"}, ['os: Unsupported value: "mac": supported values: "linux", "windows"']),
    ],
)
def test_operating_systems(os: JsonObject, expected: list[str]) -> None:
    assert about_spec({"os": os}) == expected


def test_a_linux_pod_has_no_windows_options() -> None:
    where = "securityContext.windowsOptions"
    spec = {"os": {"name": "linux"}, "initContainers": [{"name": "i", "image": "i", **options()}], **options()}
    assert about_spec(spec) == [f"{where}: {NOT_ON_LINUX}", f"initContainers[0].{where}: {NOT_ON_LINUX}"]


def test_forbidden_fields_of_a_windows_pod() -> None:
    context = {
        "appArmorProfile": {"type": "Unconfined"},
        "seLinuxOptions": {},
        "seccompProfile": {"type": "Unconfined"},
        "fsGroup": 1,
        "fsGroupChangePolicy": "Always",
        "sysctls": [{"name": "a"}],
        "runAsUser": 1,
        "runAsGroup": 1,
        "supplementalGroups": [],
        "supplementalGroupsPolicy": "Merge",
        "seLinuxChangePolicy": "Recursive",
    }
    namespaces = {"hostUsers": True, "hostPID": True, "hostIPC": True, "shareProcessNamespace": False}
    assert about_spec({"os": {"name": "windows"}, "securityContext": context, **namespaces}) == [
        f"{name}: {NOT_ON_WINDOWS}"
        for name in (
            "securityContext.appArmorProfile",
            "securityContext.seLinuxOptions",
            "hostUsers",
            "hostPID",
            "hostIPC",
            "securityContext.seccompProfile",
            "securityContext.fsGroup",
            "securityContext.fsGroupChangePolicy",
            "securityContext.sysctls",
            "shareProcessNamespace",
            "securityContext.runAsUser",
            "securityContext.runAsGroup",
            "securityContext.supplementalGroups",
            "securityContext.supplementalGroupsPolicy",
            "securityContext.seLinuxChangePolicy",
        )
    ]


def test_empty_fields_are_not_reported() -> None:
    spec = {"os": {"name": "windows"}, "hostPID": False, "hostIPC": False, "securityContext": {"sysctls": []}}
    assert about_spec(spec) == []


def test_forbidden_fields_of_a_windows_container() -> None:
    context = {
        "appArmorProfile": {"type": "Unconfined"},
        "seLinuxOptions": {},
        "seccompProfile": {"type": "Unconfined"},
        "capabilities": {},
        "readOnlyRootFilesystem": False,
        "privileged": False,
        "allowPrivilegeEscalation": True,
        "procMount": "Default",
        "runAsUser": 1,
        "runAsGroup": 1,
        "runAsNonRoot": True,
    }
    found = about_container({"securityContext": context}, {"os": {"name": "windows"}})
    refused = [name for name in context if name != "runAsNonRoot"]
    assert found == [f"securityContext.{name}: {NOT_ON_WINDOWS}" for name in refused]

"""Security contexts of containers and pods.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidateSecurityContext, TestValidateLinuxSecurityContext,
TestValidatePodSpec, TestValidateSELinuxChangePolicy, TestValidateSysctls, TestIsValidSysctlName
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.validation import PodValidationOptions
from tests.support.validation.pods import JsonObject, about_container, about_spec, gates
from tests.support.validation.texts import UNIX_ID

SYSCTL = (
    "must have at most 253 characters and match regex "
    r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
)


def shown(**values: str) -> str:
    """A security context in the format of Go's %+v, with all fields."""
    names = (
        "Capabilities Privileged SELinuxOptions WindowsOptions RunAsUser RunAsGroup RunAsNonRoot "
        "ReadOnlyRootFilesystem AllowPrivilegeEscalation ProcMount SeccompProfile AppArmorProfile"
    )
    return "{" + ",".join(f'"{name}":{values.get(name, "null")}' for name in names.split()) + "}"


class TestContainers:
    def about(
        self, options: PodValidationOptions | None = None, spec: JsonObject | None = None, **context: Any
    ) -> list[str]:
        found = about_container({"securityContext": context}, spec, options)
        return [error.removeprefix("securityContext") for error in found]

    def test_privileged_containers_can_be_disabled_in_the_cluster(self) -> None:
        assert self.about(privileged=True) == []
        assert self.about(PodValidationOptions(allow_privileged=False), privileged=False) == []
        assert self.about(PodValidationOptions(allow_privileged=False), privileged=True) == [
            ".privileged: Forbidden: disallowed by cluster policy"
        ]

    def test_users_and_groups(self) -> None:
        assert self.about(runAsUser=0, runAsGroup=2147483647) == []
        assert self.about(runAsUser=-1, runAsGroup=2147483648) == [
            f".runAsUser: Invalid value: -1: {UNIX_ID}",
            f".runAsGroup: Invalid value: 2147483648: {UNIX_ID}",
        ]

    def test_proc_mounts(self) -> None:
        assert self.about(procMount="Default") == []
        assert self.about(procMount="Bare") == [
            '.procMount: Unsupported value: "Bare": supported values: "Default", "Unmasked"'
        ]
        assert self.about(procMount="Unmasked", spec={"hostUsers": False}) == []
        assert self.about(procMount="Unmasked") == [
            '.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`'
        ]

    def test_privileged_needs_privilege_escalation(self) -> None:
        assert self.about(allowPrivilegeEscalation=False, privileged=False) == []
        context = shown(
            Privileged="true",
            AllowPrivilegeEscalation="false",
            SeccompProfile='{"Type":"Unconfined","LocalhostProfile":null}',
        )
        seccomp = {"type": "Unconfined"}
        assert self.about(allowPrivilegeEscalation=False, privileged=True, seccompProfile=seccomp) == [
            f": Invalid value: {context}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        ]

    def test_sys_admin_needs_privilege_escalation(self) -> None:
        capabilities = {"add": ["NET_ADMIN", "CAP_SYS_ADMIN"]}
        assert self.about(capabilities=capabilities) == []
        context = shown(
            Capabilities='{"Add":["NET_ADMIN","CAP_SYS_ADMIN"],"Drop":null}', AllowPrivilegeEscalation="false"
        )
        assert self.about(allowPrivilegeEscalation=False, capabilities=capabilities) == [
            f": Invalid value: {context}: cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
        ]


class TestPods:
    def about(self, options: PodValidationOptions | None = None, **context: Any) -> list[str]:
        found = about_spec({"securityContext": context}, options)
        return [error.removeprefix("securityContext.") for error in found]

    def test_users_and_groups(self) -> None:
        assert self.about(fsGroup=1, runAsUser=0, runAsGroup=2, supplementalGroups=[3]) == []
        assert self.about(fsGroup=-1, runAsUser=-1, runAsGroup=-1, supplementalGroups=[0, -1]) == [
            f"fsGroup: Invalid value: -1: {UNIX_ID}",
            f"runAsUser: Invalid value: -1: {UNIX_ID}",
            f"runAsGroup: Invalid value: -1: {UNIX_ID}",
            f"supplementalGroups[1]: Invalid value: -1: {UNIX_ID}",
        ]

    def test_policies(self) -> None:
        assert self.about(fsGroupChangePolicy="Always", supplementalGroupsPolicy="Merge") == []
        assert self.about(fsGroupChangePolicy="", supplementalGroupsPolicy="Some", seLinuxChangePolicy="All") == [
            'fsGroupChangePolicy: Unsupported value: "": supported values: "Always", "OnRootMismatch"',
            'supplementalGroupsPolicy: Unsupported value: "Some": supported values: "Merge", "Strict"',
            'seLinuxChangePolicy: Unsupported value: "All": supported values: "Recursive"',
        ]

    def test_se_linux_mount_options_need_their_gate(self) -> None:
        assert self.about(seLinuxChangePolicy="Recursive") == []
        assert self.about(seLinuxChangePolicy="MountOption") == [
            'seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"'
        ]
        assert self.about(gates(SELinuxMount=True), seLinuxChangePolicy="MountOption") == []
        assert self.about(gates(SELinuxMount=True), seLinuxChangePolicy="All") == [
            'seLinuxChangePolicy: Unsupported value: "All": supported values: "MountOption", "Recursive"'
        ]

    def test_shared_and_host_pid_exclude_each_other(self) -> None:
        assert about_spec({"hostPID": True, "shareProcessNamespace": False}) == []
        assert about_spec({"hostPID": True, "shareProcessNamespace": True}) == [
            "securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled",
        ]


class TestSysctls:
    def about(self, *names: str, **spec: Any) -> list[str]:
        sysctls = [{"name": name, "value": "1"} for name in names]
        found = about_spec({"securityContext": {"sysctls": sysctls}, **spec})
        return [error.removeprefix("securityContext.sysctls") for error in found]

    @pytest.mark.parametrize("name", ["a", "a.b-c", "a_b", "kernel.shm", "net/ipv4/conf/eno2.100/rp_filter"])
    def test_names(self, name: str) -> None:
        assert self.about(name) == []

    @pytest.mark.parametrize("name", ["*", "_a", "a.", "Abc", "a b", "a" * 254])
    def test_invalid_names(self, name: str) -> None:
        assert self.about(name) == [f'[0].name: Invalid value: "{name}": {SYSCTL}']

    def test_a_name_is_required_and_unique(self) -> None:
        assert self.about("") == ["[0].name: Required value"]
        assert self.about("a.b", "a.b") == ['[1].name: Duplicate value: "a.b"']
        assert self.about("", "") == ["[0].name: Required value", "[1].name: Required value"]

    @pytest.mark.parametrize("name", ["net.ipv4.ip_forward", "net/ipv4/ip_forward"])
    def test_network_sysctls_are_forbidden_with_the_hosts_network(self, name: str) -> None:
        assert self.about(name, hostIPC=True) == []
        assert self.about(name, hostNetwork=True) == [
            f"[0].name: Invalid value: \"{name}\": may not be specified when 'hostNetwork' is true"
        ]

    @pytest.mark.parametrize("name", ["kernel.shm_rmid_forced", "kernel.msg", "fs.mqueue.msg_max", "fs/mqueue/x"])
    def test_ipc_sysctls_are_forbidden_with_the_hosts_ipc(self, name: str) -> None:
        assert self.about(name, hostNetwork=True) == []
        assert self.about(name, hostIPC=True) == [
            f"[0].name: Invalid value: \"{name}\": may not be specified when 'hostIPC' is true"
        ]

    def test_a_pattern_is_an_invalid_name_in_a_namespace(self) -> None:
        assert self.about("kernel.shm*", hostIPC=True) == [
            f'[0].name: Invalid value: "kernel.shm*": {SYSCTL}',
            "[0].name: Invalid value: \"kernel.shm*\": may not be specified when 'hostIPC' is true",
        ]

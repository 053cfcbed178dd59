"""Kernel parameters that a pod may set, and those for which it is rejected. Cases from sysctl/allowlist_test.go."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.errors import InputError
from kubesim.kubelet.admission.sysctls import SysctlAllowlist
from kubesim.scenario.load.loader import parse_scenario
from tests.support.played import Played, pod

ALLOWED = SysctlAllowlist(("kernel.msg*", "kernel.sem", "net.b.*"))


def refusal(name: str, **spec: Any) -> str:
    made = Pod.from_json({"spec": {"securityContext": {"sysctls": [{"name": name, "value": "1"}]}, **spec}})
    return ALLOWED.admit(made)[1].removeprefix("forbidden sysctl: ")


@pytest.mark.parametrize(
    "name",
    [
        "kernel.shm_rmid_forced",
        "kernel/shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "kernel.msgmax",
        "kernel.sem",
        "net.b.c",
        "net/b/c",
    ],
)
def test_allowed(name: str) -> None:
    assert refusal(name) == ""


@pytest.mark.parametrize("name", ["net.ipv4.ip_local_port_rangea", "kernel.shmmax", "kernel.shm", "net.a", "fs.x", ""])
def test_not_allowed(name: str) -> None:
    assert refusal(name) == f'"{name}" not allowlisted'


def test_not_allowed_with_host_namespaces() -> None:
    assert refusal("kernel.sem", hostIPC=True) == '"kernel.sem" not allowed with host IPC enabled'
    assert refusal("net.b.c", hostNetwork=True) == '"net.b.c" not allowed with host Net enabled'
    assert refusal("net.b.c", hostIPC=True) == ""


def test_a_pod_is_rejected_unless_the_node_allows_it() -> None:
    manifest = pod("tuned", securityContext={"sysctls": [{"name": "net.core.somaxconn", "value": "1024"}]})
    step = {"at": "0s", "apply": manifest}
    assert "SysctlForbidden" in Played(step).events("tuned")
    configuration = {"allowedUnsafeSysctls": ["net.core.*"]}
    assert "Started" in Played(step, kubeletConfiguration=configuration).events("tuned")


def test_a_sysctl_without_a_namespace_cannot_be_allowed() -> None:
    text = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec: {kubeletConfiguration: {allowedUnsafeSysctls: [vm.swappiness]}}
"""
    with pytest.raises(InputError, match=r"vm\.swappiness are not known to be namespaced"):
        parse_scenario(text, "s.yaml")

"""Admission by AppArmor.

Adapted from pkg/security/apparmor/validate_test.go TestValidateBadHost (3 rows) and TestValidateValidHost (7 rows and
the pod with several containers); and of pkg/kubelet/lifecycle/handlers.go that only pending pods are checked.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.kubelet.admission.apparmor import AppArmorAdmission, validate

PREFIX = "container.apparmor.security.beta.kubernetes.io/"


def pod(profile: str = "", *, phase: str = "Pending", **spec: Any) -> Pod:
    annotations = {f"{PREFIX}test": profile} if profile else {"foo": "bar"}
    return Pod.from_json(
        {
            "metadata": {"name": "p", "annotations": annotations},
            "spec": {"containers": [{"name": "test"}], **spec},
            "status": {"phase": phase},
        }
    )


@pytest.mark.parametrize(
    ("profile", "valid"), [("", True), ("runtime/default", False), ("localhost/docker-default", False)]
)
def test_a_host_without_app_armor(profile: str, valid: bool) -> None:
    assert validate(pod(profile), "expected host error") == ("" if valid else "expected host error")


@pytest.mark.parametrize(
    ("profile", "problem"),
    [
        ("", ""),
        ("runtime/default", ""),
        ("localhost/docker-default", ""),
        ("localhost/foo-container", ""),
        ("localhost//usr/sbin/ntpd", ""),
        ("localhost/", "&AppArmorProfile{Type:Localhost,LocalhostProfile:*,}"),
        ("localhost/ ", "&AppArmorProfile{Type:Localhost,LocalhostProfile:* ,}"),
    ],
)
def test_a_host_with_app_armor(profile: str, problem: str) -> None:
    expected = f'invalid empty AppArmor profile name: "{problem}"' if problem else ""
    assert validate(pod(profile)) == expected


def test_several_containers() -> None:
    annotations = {
        f"{PREFIX}init": "localhost/foo-container",
        f"{PREFIX}test1": "runtime/default",
        f"{PREFIX}test2": "localhost/docker-default",
    }
    containers = [{"name": "test1"}, {"name": "test2"}, {"name": "no-profile"}]
    spec = {"initContainers": [{"name": "init"}], "containers": containers}
    assert validate(Pod.from_json({"metadata": {"annotations": annotations}, "spec": spec})) == ""


def test_a_profile_field_without_a_name() -> None:
    made = pod(securityContext={"appArmorProfile": {"type": "Localhost"}})
    text = "&AppArmorProfile{Type:Localhost,LocalhostProfile:nil,}"
    assert validate(made) == f'invalid empty AppArmor profile name: "{text}"'


@pytest.mark.parametrize(
    ("context", "rejected"),
    [
        ({"type": "RuntimeDefault"}, True),
        ({"type": "Localhost", "localhostProfile": "x"}, True),
        ({"type": "Unconfined"}, False),
    ],
)
def test_required_profiles(context: dict[str, str], rejected: bool) -> None:
    refusal = ("AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host")
    handler = AppArmorAdmission(enabled=False)
    assert handler.admit(pod(securityContext={"appArmorProfile": context})) == (refusal if rejected else ("", ""))
    of_container = [{"name": "test", "securityContext": {"appArmorProfile": context}}]
    assert handler.admit(pod(containers=of_container)) == (refusal if rejected else ("", ""))


def test_a_running_pod_is_not_checked() -> None:
    assert AppArmorAdmission(enabled=False).admit(pod("runtime/default", phase="Running")) == ("", "")


def test_a_profile_name_is_not_resolved() -> None:
    assert AppArmorAdmission().admit(pod("localhost/no-such-profile")) == ("", "")

"""The seccomp and AppArmor profile of a container.

Adapted from pkg/kubelet/kuberuntime/helpers_linux_test.go TestGetSeccompProfile (11 rows), helpers_test.go
TestGetAppArmorProfile (6) and pkg/security/apparmor/helpers_test.go TestGetProfile (10). Not here:
TestGetSeccompProfileDefaultSeccomp, because seccompDefault has no visible effect.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.runtime.helper import ContainerConfigError
from kubesim.runtime.kuberuntime.decide.security_profiles import (
    RUNTIME_DEFAULT,
    UNCONFINED,
    app_armor_profile,
    get_app_armor_profile,
    seccomp_profile,
    security_context_of,
)
from kubesim.runtime.protocol import SecurityProfile

PREFIX = "container.apparmor.security.beta.kubernetes.io/"
Profile = dict[str, str]
DEFAULT: Profile = {"type": "RuntimeDefault"}
NONE: Profile = {"type": "Unconfined"}


def localhost(name: str) -> Profile:
    return {"type": "Localhost", "localhostProfile": name}


def pod(field: str, of_pod: Profile | None, of_container: Profile | None, annotation: str = "") -> Pod:
    container: dict[str, Any] = {"name": "foo"}
    spec: dict[str, Any] = {"containers": [container]}
    if of_container is not None:
        container["securityContext"] = {field: of_container}
    if of_pod is not None:
        spec["securityContext"] = {field: of_pod}
    annotations = {"unrelated": "baz", f"{PREFIX}other": "runtime/default"}
    if annotation:
        annotations[f"{PREFIX}foo"] = annotation
    return Pod.from_json({"metadata": {"name": "bar", "annotations": annotations}, "spec": spec})


def at(name: str) -> SecurityProfile:
    return SecurityProfile("Localhost", f"/var/lib/kubelet/seccomp/{name}")


@pytest.mark.parametrize(
    ("of_pod", "of_container", "expected"),
    [
        pytest.param(None, None, UNCONFINED, id="no seccomp should return unconfined"),
        pytest.param(NONE, None, UNCONFINED, id="pod seccomp profile set to unconfined returns unconfined"),
        pytest.param(None, NONE, UNCONFINED, id="container seccomp profile set to unconfined returns unconfined"),
        pytest.param(DEFAULT, None, RUNTIME_DEFAULT, id="pod RuntimeDefault returns runtime/default"),
        pytest.param(None, DEFAULT, RUNTIME_DEFAULT, id="container RuntimeDefault returns runtime/default"),
        pytest.param(localhost("filename"), None, at("filename"), id="pod Localhost"),
        pytest.param(None, localhost("filename2"), at("filename2"), id="container Localhost"),
        pytest.param(NONE, DEFAULT, RUNTIME_DEFAULT, id="prioritise container field over pod field"),
        pytest.param(
            localhost("field-pod-profile.json"),
            localhost("field-cont-profile.json"),
            at("field-cont-profile.json"),
            id="prioritise container field over pod field (Localhost)",
        ),
        pytest.param(None, localhost("a/../b.json"), at("b.json"), id="the path is cleaned"),
    ],
)
def test_seccomp_profile(of_pod: Profile | None, of_container: Profile | None, expected: SecurityProfile) -> None:
    made = pod("seccompProfile", of_pod, of_container)
    assert seccomp_profile(made, made.spec.containers[0]) == expected


@pytest.mark.parametrize(("of_pod", "of_container"), [({"type": "Localhost"}, None), (None, {"type": "Localhost"})])
def test_a_localhost_seccomp_profile_needs_a_name(of_pod: Profile | None, of_container: Profile | None) -> None:
    made = pod("seccompProfile", of_pod, of_container)
    with pytest.raises(ContainerConfigError) as error:
        seccomp_profile(made, made.spec.containers[0])
    assert str(error.value) == "localhostProfile must be set if seccompProfile type is Localhost."


@pytest.mark.parametrize(
    ("of_pod", "expected"),
    [
        pytest.param(None, None, id="no appArmor"),
        pytest.param(DEFAULT, RUNTIME_DEFAULT, id="runtime default"),
        pytest.param(NONE, UNCONFINED, id="unconfined"),
        pytest.param(localhost("test"), SecurityProfile("Localhost", "test"), id="localhost"),
        pytest.param({"type": "Localhost"}, "missing localhost apparmor profile name", id="invalid localhost"),
        pytest.param({"type": "foo"}, 'unknown apparmor profile type: "foo"', id="invalid type"),
    ],
)
def test_app_armor_profile_for_the_runtime(of_pod: Profile | None, expected: SecurityProfile | str | None) -> None:
    made = pod("appArmorProfile", of_pod, None)
    if not isinstance(expected, str):
        assert app_armor_profile(made, made.spec.containers[0]) == expected
        return
    with pytest.raises(ContainerConfigError) as error:
        app_armor_profile(made, made.spec.containers[0])
    assert str(error.value) == expected


@pytest.mark.parametrize(
    ("annotation", "of_container", "of_pod", "expected"),
    [
        pytest.param("", None, None, None, id="no appArmor"),
        pytest.param("", None, DEFAULT, DEFAULT, id="pod profile"),
        pytest.param("", NONE, None, NONE, id="container profile"),
        pytest.param("localhost/test", None, None, localhost("test"), id="annotation profile"),
        pytest.param("invalid", None, None, None, id="invalid annotation"),
        pytest.param("invalid", None, DEFAULT, DEFAULT, id="invalid annotation with pod field"),
        pytest.param("unconfined", DEFAULT, None, DEFAULT, id="container field before annotation"),
        pytest.param("", DEFAULT, NONE, DEFAULT, id="container field before pod field"),
        pytest.param("unconfined", None, DEFAULT, NONE, id="annotation before pod field"),
        pytest.param("runtime/default", localhost("test"), NONE, localhost("test"), id="all profiles"),
    ],
)
def test_the_app_armor_profile_that_is_used(
    annotation: str, of_container: Profile | None, of_pod: Profile | None, expected: Profile | None
) -> None:
    made = pod("appArmorProfile", of_pod, of_container, annotation)
    assert get_app_armor_profile(made, made.spec.containers[0]) == expected


def test_a_container_without_a_profile_requests_none() -> None:
    made = Pod.from_json(
        {"metadata": {"name": "plain"}, "spec": {"securityContext": {}, "containers": [{"name": "c"}]}}
    )
    assert security_context_of(made, made.spec.containers[0]) is None

"""Reports of fields without effect."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.effects.findings import Findings, object_named
from kubesim.api.effects.scan import fields_without_effect


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "main"}], **spec}}


def of_container(**fields: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "main", **fields}])


NAMED = {
    "a field": (pod(hostIPC=True), ["spec.hostIPC"]),
    "a field inside a struct": (
        of_container(securityContext={"seLinuxOptions": {"level": "s0"}, "runAsUser": 1}),
        ["spec.containers[0].securityContext.seLinuxOptions"],
    ),
    "a field of an init container": (
        pod(initContainers=[{"securityContext": {"privileged": True}}]),
        ["spec.initContainers[0].securityContext.privileged"],
    ),
    "a field of an ephemeral container": (
        pod(ephemeralContainers=[{"securityContext": {"privileged": True}}]),
        ["spec.ephemeralContainers[0].securityContext.privileged"],
    ),
    "false, where true is the default": (
        of_container(securityContext={"allowPrivilegeEscalation": False}),
        ["spec.containers[0].securityContext.allowPrivilegeEscalation"],
    ),
    "several": (
        pod(hostIPC=True, volumes=[{"name": "v", "secret": {"defaultMode": 0o400, "items": [{"mode": 0o400}]}}]),
        ["spec.hostIPC", "spec.volumes[0].secret.defaultMode", "spec.volumes[0].secret.items[0].mode"],
    ),
}


@pytest.mark.parametrize(("manifest", "expected"), NAMED.values(), ids=NAMED)
def test_reported_fields(manifest: dict[str, Any], expected: list[str]) -> None:
    assert fields_without_effect("Pod", manifest) == expected


SILENT = {
    "a plain pod": pod(),
    "false": pod(hostIPC=False),
    "null": pod(hostIPC=None),
    "an empty object": of_container(securityContext={"capabilities": {}}),
    "true, which is the default": of_container(securityContext={"allowPrivilegeEscalation": True}),
    "a default of the API server": pod(volumes=[{"name": "v", "configMap": {"defaultMode": 0o644}}]),
    "a mode that is usual": of_container(securityContext={"procMount": "Default"}),
    "a status": {**pod(), "status": {"phase": "Running"}},
}


@pytest.mark.parametrize("manifest", SILENT.values(), ids=SILENT)
def test_values_that_request_nothing(manifest: dict[str, Any]) -> None:
    assert fields_without_effect("Pod", manifest) == []


def test_a_template_has_the_fields_of_a_pod() -> None:
    manifest = {"spec": {"jobTemplate": {"spec": {"template": pod(hostIPC=True)}}}}
    assert fields_without_effect("CronJob", manifest) == ["spec.jobTemplate.spec.template.spec.hostIPC"]


def test_one_line_per_path_names_the_first_object() -> None:
    findings = Findings()
    two = pod(containers=[{"securityContext": {"privileged": True}}, {"securityContext": {"privileged": True}}])
    for name in ("a", "b", "c", "a"):
        findings.add(fields_without_effect("Pod", two), object_named("Pod", "default", name))
    findings.add(fields_without_effect("Node", {"spec": {"providerID": "x"}}), object_named("Node", "", "far"))
    assert findings.lines() == [
        "without effect here: spec.containers[0].securityContext.privileged (pod default/a and 2 more)",
        "without effect here: spec.providerID (Node far)",
    ]
    assert findings.patterns() == ["spec.containers[].securityContext.privileged", "spec.providerID"]


def test_known_patterns_are_not_reported() -> None:
    findings = Findings(known={"spec.containers[].securityContext.privileged"})
    findings.add(
        fields_without_effect("Pod", pod(containers=[{}, {"securityContext": {"privileged": True}}], hostIPC=True)),
        "pod default/a",
    )
    assert findings.lines() == ["without effect here: spec.hostIPC (pod default/a)"]


def test_lists_and_maps_of_scalars_are_skipped() -> None:
    assert fields_without_effect("Pod", of_container(command=["sh"], env=["text"], resources=None)) == []
    assert fields_without_effect("Pod", {**pod(), "spec": "text"}) == []

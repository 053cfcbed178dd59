"""ConfigMaps and Secrets that pods refer to: their existence is checked on request, and only their metadata is read."""

from __future__ import annotations

import pytest

from kubesim.api.meta import ApiObject, ObjectMeta
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.attach.reading.reference_polls import wanted
from kubesim.attach.reading.references import references
from kubesim.clock.clock import VIRTUAL_START
from kubesim.cluster.remote.transport import METADATA_ONLY, Call, check_reads_only
from kubesim.errors import ReadOnlyError
from kubesim.scenario.load.loader import parse_scenario
from tests.support.attach.pods import cause, event, pod, running, waiting
from tests.support.attach.watching import Watching, watched

VALUE = "aHVudGVyMg=="
SPEC = {
    "imagePullSecrets": [{"name": "registry"}],
    "volumes": [
        {"name": "cfg", "configMap": {"name": "settings"}},
        {"name": "both", "projected": {"sources": [{"secret": {"name": "cert"}}, {"downwardAPI": {}}]}},
        {"name": "extra", "secret": {"secretName": "extra", "optional": True}},
    ],
    "containers": [
        {
            "name": "main",
            "image": "nginx:1.27",
            "envFrom": [{"configMapRef": {"name": "flags"}}],
            "env": [{"name": "P", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}],
        }
    ],
}


def named(pod: Pod) -> set[tuple[str, str, str, bool]]:
    return {(ref.key[0], ref.key[2], ref.purpose, ref.optional) for ref in references(pod)}


def test_references_of_a_pod() -> None:
    assert named(pod(waiting("ContainerCreating"), spec=SPEC)) == {
        ("Secret", "registry", "pull", False),
        ("ConfigMap", "settings", "volume", False),
        ("Secret", "cert", "volume", False),
        ("Secret", "extra", "volume", True),
        ("ConfigMap", "flags", "environment", False),
        ("Secret", "db", "environment", False),
    }


def test_only_waiting_pods_are_checked() -> None:
    assert wanted([pod(running(), spec=SPEC)]) == {}
    assert len(wanted([pod(waiting("ContainerCreating"), spec=SPEC)])) == 6


def test_a_volume_whose_object_is_missing_is_reported_before_any_event() -> None:
    waits = pod(waiting("ContainerCreating"), spec=SPEC, sandbox=False)
    unknown = cause(waits)
    assert unknown.code == "SandboxNotReady"
    known = cause(waits, objects={("ConfigMap", "shop", "settings"): False})
    assert known.code == "FailedMount"
    assert "ConfigMap shop/settings not found" in known.says
    assert "create ConfigMap shop/settings" in known.remedies[0]
    optional = cause(waits, objects={("Secret", "shop", "extra"): False})
    assert optional.code == "SandboxNotReady"


def test_a_volume_event_agrees_with_the_missing_object() -> None:
    waits = pod(waiting("ContainerCreating"), spec=SPEC, sandbox=False)
    failed = event("FailedMount", 'MountVolume.SetUp failed for volume "cfg" : configmap "settings" not found', 4, 2)
    found = cause(waits, failed, objects={("ConfigMap", "shop", "settings"): False})
    assert found.steps[0].window is not None
    assert ("spec.volumes[cfg]", "ConfigMap shop/settings not found") in {(f.field, f.value) for f in found.facts}


@pytest.mark.parametrize("reason", ["ContainerCreating", "CreateContainerConfigError"])
def test_a_variable_whose_object_is_missing(reason: str) -> None:
    waits = pod(waiting(reason), spec=SPEC)
    found = cause(waits, objects={("Secret", "shop", "db"): False})
    assert found.code == "CreateContainerConfigError"
    assert "create Secret shop/db" in found.remedies[0]


def test_a_pull_secret_that_is_missing_explains_a_refused_pull() -> None:
    waits = pod(waiting("ImagePullBackOff"), spec=SPEC)
    found = cause(waits, objects={("Secret", "shop", "registry"): False})
    assert "create Secret shop/registry" in found.remedies[0]


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/shop/secrets/db",
        "/api/v1/namespaces/shop/configmaps/settings",
        "/api/v1/secrets",
        "/api/v1/watch/namespaces/shop/secrets/db",
    ],
)
def test_the_transport_allows_only_requests_for_metadata(path: str) -> None:
    for accept in ("application/json", "*/*", f"{METADATA_ONLY},application/json"):
        with pytest.raises(ReadOnlyError, match="reads only metadata"):
            check_reads_only(Call("get", path, accept=accept))
    check_reads_only(Call("get", path, accept=METADATA_ONLY))


SCENARIO = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  volumes: [{name: cfg, secret: {secretName: db}}]
  containers: [{name: main, image: nginx, volumeMounts: [{name: cfg, mountPath: /cfg}]}]
"""


def watch_secret(with_references: bool) -> tuple[Watching, list[str]]:
    """The Secret is created after 17 s."""
    said: list[str] = []

    async def create(watching: Watching) -> None:
        clock, store = watching.simulation.clock, watching.simulation.store
        for moment in (10, 17):
            await clock.sleep_until(VIRTUAL_START + moment * SECOND)
            (uid,) = watching.agent.shadow.pods
            said.append(str(watching.agent.shadow.statement(uid, clock.now())))
        applied = {"kubectl.kubernetes.io/last-applied-configuration": VALUE}
        meta = ObjectMeta(name="db", namespace="default", annotations=applied)
        store.create(ApiObject.from_json({"kind": "Secret", "data": {"password": VALUE}}).changed(metadata=meta))
        await clock.sleep(12 * SECOND)
        said.append(str(watching.agent.shadow.objects))

    played = parse_scenario(SCENARIO, "web.yaml")
    return watched(played, during=create, until=60 * SECOND, with_references=with_references), said


def test_an_attached_agent_notices_when_it_is_created() -> None:
    watching, said = watch_secret(True)
    assert "Secret default/db not found" in said[0]
    assert str({("Secret", "default", "db"): True})[:-1] in said[2]
    assert watching.agent.shadow.objects == {}  # the pod is ready, so its references are not checked any more
    calls = [call for call in watching.direct.calls if "/secrets" in call.path]
    assert {(call.verb, call.path, call.accept) for call in calls} == {
        ("get", "/api/v1/namespaces/default/secrets/db", METADATA_ONLY)
    }
    assert 3 <= len(calls) <= 7
    assert VALUE not in "".join(str(report) for report in watching.notes.reports)


def test_without_the_flag_nothing_is_requested() -> None:
    watching, _ = watch_secret(False)
    assert not any("secrets" in call.path or "configmaps" in call.path for call in watching.direct.calls)

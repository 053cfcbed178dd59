"""Grace periods, and who waits for whom."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Pod
from kubesim.runtime.termination import termination_grace_period, termination_waits_for


def pod(metadata: dict[str, Any] | None = None, **spec: Any) -> Pod:
    web = {"name": "web", "livenessProbe": {"terminationGracePeriodSeconds": 7}, "startupProbe": {}}
    return Pod.from_json({"metadata": metadata or {}, "spec": {"containers": [web], **spec}})


def test_a_probes_own_period_counts_for_its_own_kills() -> None:
    given = pod(terminationGracePeriodSeconds=30)
    web = given.spec.containers[0]
    assert termination_grace_period(given, web, "LivenessProbe") == 7
    assert termination_grace_period(given, web, "StartupProbe") == 30
    assert termination_grace_period(given, web, "Unknown") == 30


def test_a_deletion_beats_everything() -> None:
    given = pod({"deletionGracePeriodSeconds": 0}, terminationGracePeriodSeconds=30)
    assert termination_grace_period(given, given.spec.containers[0], "LivenessProbe") == 0


def test_a_pod_without_a_period_gets_the_minimum_even_for_a_probe() -> None:
    given = pod()
    assert termination_grace_period(given, given.spec.containers[0], "LivenessProbe") == 2


def sidecars(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "restartPolicy": "Always"} for name in names]


def test_sidecars_go_in_reverse_order_after_the_regular_containers() -> None:
    given = pod(initContainers=[*sidecars("a", "b"), {"name": "plain"}, *sidecars("c")])
    assert termination_waits_for(given, {"web", "a", "b", "c", "plain"}) == {
        "c": ("web",),
        "b": ("web", "c"),
        "a": ("web", "b"),
    }


def test_a_sidecar_that_does_not_run_breaks_the_chain() -> None:
    given = pod(initContainers=sidecars("a", "b", "c"))
    assert termination_waits_for(given, {"a", "c"}) == {"c": (), "b": ("c",), "a": ()}


def test_without_sidecars_nobody_waits() -> None:
    assert termination_waits_for(pod(initContainers=[{"name": "plain"}]), {"web", "plain"}) == {}

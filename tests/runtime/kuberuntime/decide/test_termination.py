"""Grace periods, and the order of terminations."""

from __future__ import annotations

import asyncio
from typing import Any

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.runtime.kuberuntime.act.container_kill import TerminationOrdering
from kubesim.runtime.kuberuntime.decide.termination import termination_grace_period, termination_waits_for


def pod(metadata: dict[str, Any] | None = None, **spec: Any) -> Pod:
    web = {"name": "web", "livenessProbe": {"terminationGracePeriodSeconds": 7}, "startupProbe": {}}
    return Pod.from_json({"metadata": metadata or {}, "spec": {"containers": [web], **spec}})


def test_a_probes_own_grace_period_applies_to_its_kills() -> None:
    given = pod(terminationGracePeriodSeconds=30)
    web = given.spec.containers[0]
    assert termination_grace_period(given, web, "LivenessProbe") == 7
    assert termination_grace_period(given, web, "StartupProbe") == 30
    assert termination_grace_period(given, web, "Unknown") == 30


def test_a_deletion_overrides_everything() -> None:
    given = pod({"deletionGracePeriodSeconds": 0}, terminationGracePeriodSeconds=30)
    assert termination_grace_period(given, given.spec.containers[0], "LivenessProbe") == 0


def test_a_pod_without_a_grace_period_gets_the_minimum_even_for_a_probe() -> None:
    given = pod()
    assert termination_grace_period(given, given.spec.containers[0], "LivenessProbe") == 2


def sidecars(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "restartPolicy": "Always"} for name in names]


def test_sidecars_are_stopped_in_reverse_order_after_the_regular_containers() -> None:
    given = pod(initContainers=[*sidecars("a", "b"), {"name": "plain"}, *sidecars("c")])
    assert termination_waits_for(given, {"web", "a", "b", "c", "plain"}) == {
        "c": ("web",),
        "b": ("web", "c"),
        "a": ("web", "b"),
    }


def test_a_stopped_sidecar_breaks_the_chain() -> None:
    given = pod(initContainers=sidecars("a", "b", "c"))
    assert termination_waits_for(given, {"a", "c"}) == {"c": (), "b": ("c",), "a": ()}


def test_without_sidecars_there_is_no_waiting() -> None:
    assert termination_waits_for(pod(initContainers=[{"name": "plain"}]), {"web", "plain"}) == {}


# -- kuberuntime_termination_order.go waitForTurn, containerTerminated -----------------------------------------------


def turn(*ends: tuple[int, str], grace_s: int = 10) -> tuple[int, list[str]]:
    """The whole seconds for which a sidecar waits for `web` and `db`, with the order of their exits."""
    reported: list[str] = []

    async def main() -> int:
        clock = LoopClock()
        ordering = TerminationOrdering(clock, {"sidecar": ("web", "db")})

        def end(name: str) -> None:
            reported.append(name)
            ordering.container_terminated(name)

        for at_s, name in ends:
            clock.call_at(clock.now() + at_s * SECOND, asyncio.get_running_loop().call_soon, end, name)
        waited = await ordering.wait_for_turn("sidecar", grace_s)
        reported.append("sidecar")
        return waited

    return run_virtual(main), reported


def test_a_sidecar_waits_for_all_others_in_any_order() -> None:
    assert turn((3, "web"), (5, "db")) == (5, ["web", "db", "sidecar"])
    assert turn((5, "web"), (3, "db")) == (5, ["db", "web", "sidecar"])


def test_a_sidecar_waits_no_longer_than_its_grace_period() -> None:
    assert turn((3, "web"), (15, "db")) == (10, ["web", "sidecar"])
    assert turn() == (10, ["sidecar"])


def test_a_container_that_exits_as_the_grace_period_ends_has_exited_before_the_sidecars() -> None:
    assert turn((10, "web"), (10, "db")) == (10, ["web", "db", "sidecar"])

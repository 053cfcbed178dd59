"""The step removeContainer: what a kubelet knows of a container that has ended is gone."""

from __future__ import annotations

from kubesim.trace.records import CriCall
from tests.support.played import Played, container, pod


def test_the_records_of_a_container_that_has_ended_are_removed() -> None:
    web = pod("web", initContainers=[container("init", "true")])
    step = {"at": "20s", "removeContainer": {"pod": "web", "container": "init"}}
    played = Played(step, {"at": "30s", "restart": "kubelet"}, objects=[web])
    assert "its record is removed from the runtime" in played.notes()
    assert len(played.when(CriCall, "web", call="StartContainer")) == 2


def test_a_container_that_runs_is_not_touched() -> None:
    played = Played({"at": "20s", "removeContainer": {"pod": "web", "container": "main"}}, objects=[pod("web")])
    assert "container main of pod default/web has not ended" in played.result.expectations_failed[0]
    assert len(played.starts("web")) == 1

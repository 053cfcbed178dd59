"""The step removeContainer removes the records of a terminated container."""

from __future__ import annotations

from kubesim.trace.records import CriCall
from tests.support.played import Played, container, pod


def test_the_records_of_a_terminated_container_are_removed() -> None:
    web = pod("web", initContainers=[container("init", "true")])
    step = {"at": "20s", "removeContainer": {"pod": "web", "container": "init"}}
    played = Played(step, {"at": "30s", "restart": "kubelet"}, objects=[web])
    assert "its record is removed from the runtime" in played.notes()
    assert len(played.when(CriCall, "web", call="StartContainer")) == 2


def test_a_running_container_is_kept() -> None:
    played = Played({"at": "20s", "removeContainer": {"pod": "web", "container": "main"}}, objects=[pod("web")])
    assert "container main of pod default/web has not ended" in played.result.expectations_failed[0]
    assert len(played.starts("web")) == 1

"""Lifecycles of pods with kubelets whose workers have no states: profiles v1.12 and v1.6."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import PodStatus
from kubesim.kubelet.status.terminate import with_empty_states
from kubesim.trace.records import ApiWrite, CriCall, SyncBegin
from tests.support.played import Played, pod

DEAF = ["sh", "-c", "trap '' TERM; while true; do sleep 1; done"]
OLD = pytest.mark.parametrize("profile", ["v1.12", "v1.6"])


def delete(at: str, name: str = "web", **fields: Any) -> dict[str, Any]:
    return {"at": at, "delete": {"pod": name, **fields}}


@OLD
def test_a_deletion_causes_syncs_and_the_phase_stays_running(profile: str) -> None:
    played = Played(delete("10s"), objects=[pod("web")], profile=profile)
    assert set(played.syncs("web")) == {"SyncPod"}
    assert {status["phase"] for status in played.statuses("web") if "phase" in status} == {"Pending", "Running"}
    assert len(played.when(ApiWrite, "web", verb="delete", by="kubelet")) == 1


@OLD
def test_a_shorter_grace_period_does_not_shorten_a_stop(profile: str) -> None:
    steps = delete("10s", gracePeriodSeconds=20), delete("13s", gracePeriodSeconds=1)
    played = Played(*steps, objects=[pod("web", command=DEAF)], profile=profile)
    assert len(played.stops("web")) == 1
    (gone,) = played.when(ApiWrite, "web", verb="delete", by="kubelet")
    assert 30 < gone < 45


def test_v1_12_waits_for_container_records_and_v1_6_does_not() -> None:
    steps = [delete("30s")]
    for profile, records_first in (("v1.12", True), ("v1.6", False)):
        played = Played(*steps, objects=[pod("web")], profile=profile, duration="120s")
        (removed,) = played.when(CriCall, "web", call="RemoveContainer")
        (gone,) = played.when(ApiWrite, "web", verb="delete", by="kubelet")
        assert (removed < gone) == records_first
        assert gone < 42


@OLD
def test_readiness_changes_without_a_sync(profile: str) -> None:
    probe = {"exec": {"command": ["cat", "/tmp/ok"]}, "periodSeconds": 1, "failureThreshold": 1}
    web = pod("web", command=["sh", "-c", "touch /tmp/ok; sleep 20; rm /tmp/ok; sleep 1000"])
    web["spec"]["containers"][0]["readinessProbe"] = probe
    played = Played(objects=[web], profile=profile, duration="40s")
    ready = [status["conditions"]["Ready"] for status in played.statuses("web")]
    assert [each[:5] for each in ready][-2:] == ["True", "False"]
    assert not [moment for moment in played.when(SyncBegin, "web") if 15 < moment < 40]


@OLD
def test_a_finished_pod_is_stopped_once_and_then_ignored(profile: str) -> None:
    web = pod("job", command=["sh", "-c", "sleep 3"], restartPolicy="Never")
    played = Played(objects=[web], profile=profile)
    assert played.statuses("job")[-1]["phase"] == "Succeeded"
    assert played.calls("job")[-1] == "StopPodSandbox"
    assert max(played.when(SyncBegin, "job")) < 10


@OLD
def test_idle_ticks_change_nothing(profile: str) -> None:
    objects = [pod("web"), pod("deaf", command=DEAF), pod("job", command=["sh", "-c", "exit 1"], restartPolicy="Never")]
    skipped, executed = (
        [
            r.to_json()
            for r in Played(
                delete("20s", "deaf"), delete("31s"), objects=objects, profile=profile, duration="5m", every_tick=every
            ).records
        ]
        for every in (False, True)
    )
    assert skipped == executed


def test_an_older_kubelet_forgets_how_containers_exited() -> None:
    status = PodStatus.from_json(
        {
            "phase": "Running",
            "containerStatuses": [{"name": "a", "state": {"terminated": {"exitCode": 137, "reason": "Error"}}}],
            "initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "PodInitializing"}}}],
        }
    )
    emptied = with_empty_states(status)
    assert emptied.phase == "Running"
    for each in (*emptied.container_statuses, *emptied.init_container_statuses):
        assert each.state.waiting is None
        assert each.state.terminated is not None
        assert (each.state.terminated.exit_code, each.state.terminated.reason) == (0, "")

"""Restarts of the kubelet, the runtime or the whole node: no pod is lost, no container runs twice."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.trace.records import CriCall, EventRecorded, ProbeOutcome
from tests.support.played import SERVER, Played, pod

RESTART: dict[str, Any] = {"at": "20s", "restart": "kubelet"}


def test_a_running_pod_is_not_affected_by_a_new_kubelet() -> None:
    story = Played(RESTART, objects=[pod("web")])
    assert story.calls(after=15) == []
    assert story.writes(after=15) == []
    assert story.events(after=15) == ["Starting"]  # the kubelet's own, about its Node


def test_a_pod_that_was_being_created_is_completed_by_the_next_kubelet() -> None:
    story = Played({"at": "350ms", "restart": "kubelet"}, objects=[pod("web")])
    assert story.calls().count("RunPodSandbox") == 2  # the first one was interrupted
    assert story.calls().count("StartContainer") == 1
    assert story.result.phases == {"default/web": "Running"}


def test_restart_counts_continue_and_the_back_off_starts_over() -> None:
    story = Played({"at": "50s", "restart": "kubelet"}, objects=[pod("crash", command=["false"])], duration="70s")
    attempts = [r.args["attempt"] for r in story.records if isinstance(r, CriCall) and r.call == "CreateContainer"]
    assert attempts == sorted(set(attempts))
    waits = [r.message for r in story.records if isinstance(r, EventRecorded) and r.reason == "BackOff"]
    assert waits
    restarted = [moment for moment in story.when(CriCall, "crash", call="StartContainer") if moment > 52]
    assert restarted[0] < 54  # its back-off of 40 s is lost


def test_a_deletion_while_the_kubelet_is_down_is_executed_with_its_grace_period() -> None:
    story = Played(
        {"at": "20s", "stop": "kubelet"},
        {"at": "21s", "delete": {"pod": "web"}},
        {"at": "30s", "start": "kubelet"},
        objects=[pod("web")],
        expect=[{"pod": "web", "gone": True, "by": "40s"}, {"pod": "web", "gone": True, "by": "30s", "never": True}],
    )
    assert story.result.ok
    (stop,) = (r for r in story.records if isinstance(r, CriCall) and r.call == "StopContainer")
    assert stop.args["timeout"] == 5


def test_a_stop_in_progress_is_resumed() -> None:
    deaf = pod("deaf", command=["sh", "-c", "trap '' TERM; sleep 100000"])
    story = Played(
        {"at": "20s", "delete": {"pod": "deaf"}},
        {"at": "22s", "restart": "kubelet"},
        objects=[deaf],
        expect=[{"pod": "deaf", "gone": True, "by": "40s"}],
    )
    assert story.result.ok
    assert story.calls("deaf").count("StopContainer") == 2


def test_a_ready_pod_stays_ready_until_its_next_probe_result() -> None:
    probed = pod("web")
    probed["spec"]["containers"][0]["readinessProbe"] = {"exec": {"command": ["true"]}, "periodSeconds": 10}
    story = Played({"at": "30s", "restart": "kubelet"}, objects=[probed])
    assert story.writes(after=25) == []
    (again,) = [moment for moment in story.when(ProbeOutcome, "web", probe="readiness") if moment > 30]
    assert 32 < again < 45  # a recently started kubelet spreads its first probes over their period


def test_a_pod_that_was_not_ready_does_not_become_ready_by_a_restart() -> None:
    sick = pod("sick")
    sick["spec"]["containers"][0]["readinessProbe"] = {"exec": {"command": ["false"]}, "periodSeconds": 10}
    story = Played(
        {"at": "30s", "restart": "kubelet"},
        objects=[sick],
        expect=[{"pod": "sick", "condition": "Ready", "never": True}],
    )
    assert story.result.ok


def test_a_container_that_exited_while_the_kubelet_was_down_is_restarted() -> None:
    story = Played(
        {"at": "20s", "stop": "kubelet"},
        {"at": "22s", "kill": {"pod": "web"}},
        {"at": "25s", "start": "kubelet"},
        objects=[pod("web")],
        expect=[{"pod": "web", "restartCount": 1, "by": "30s"}],
    )
    assert story.result.ok


def test_static_pods_are_read_again() -> None:
    story = Played(
        {"at": "5s", "writeStaticPod": {"file": "web.yaml", "manifest": pod("web")}},
        {"at": "20s", "stop": "kubelet"},
        {"at": "22s", "removeStaticPod": {"file": "web.yaml"}},
        {"at": "23s", "writeStaticPod": {"file": "other.yaml", "manifest": pod("other")}},
        {"at": "25s", "start": "kubelet"},
        expect=[
            {"pod": "web-node-1", "gone": True, "by": "40s"},
            {"pod": "other-node-1", "phase": "Running", "by": "40s"},
        ],
    )
    assert story.result.ok


def test_while_the_runtime_is_down_calls_fail_and_afterwards_pods_continue() -> None:
    story = Played(
        {"at": "19900ms", "apply": pod("new")},
        {"at": "20s", "restart": {"what": "runtime", "downFor": "10s"}},
        objects=[pod("web")],
    )
    assert "FailedCreatePodSandBox" in story.events("new")
    assert story.calls("web", after=15) == []
    assert story.result.phases == {"default/web": "Running", "default/new": "Running"}


def test_a_runtime_that_lost_everything_gets_its_pods_again_and_the_logs_show_the_count() -> None:
    story = Played(
        {"at": "20s", "restart": {"what": "runtime", "containers": "gone"}},
        objects=[pod("web")],
        expect=[{"pod": "web", "restartCount": 1, "by": "40s"}],
    )
    assert story.result.ok
    made = [r.args["attempt"] for r in story.records if isinstance(r, CriCall) and r.call == "CreateContainer"]
    assert made == [0, 1]


def test_after_a_reboot_all_containers_have_exited_with_unknown_codes() -> None:
    story = Played(
        {"at": "20s", "reboot": {"downFor": "15s"}},
        objects=[pod("web"), pod("once", restartPolicy="Never")],
        expect=[
            {"pod": "web", "restartCount": 1, "by": "45s"},
            {"pod": "once", "phase": "Failed", "by": "45s"},
        ],
    )
    assert story.result.ok
    assert story.calls("web", after=30)[-3:] == ["RunPodSandbox", "CreateContainer", "StartContainer"]


def test_a_kubelet_that_does_not_run_cannot_be_stopped() -> None:
    story = Played({"at": "5s", "start": "kubelet"}, {"at": "6s", "stop": "runtime"}, {"at": "7s", "stop": "runtime"})
    assert len(story.result.expectations_failed) == 2


@pytest.mark.parametrize("seed", range(3))
def test_ticks_skipped_before_a_restart_have_no_effect(seed: int) -> None:
    steps: list[dict[str, Any]] = [
        {"at": "3s", "writeStaticPod": {"file": "a.yaml", "manifest": pod("static")}},
        {"at": "10s", "restart": "kubelet"},
        {"at": "20s", "restart": {"what": "runtime", "downFor": "40s"}},
        {"at": "90s", "reboot": "node"},
    ]
    objects = [pod("web"), pod("crash", command=["false"])]
    records = [
        [r.to_json() for r in Played(*steps, objects=objects, duration="200s", seed=seed, every_tick=every).records]
        for every in (False, True)
    ]
    assert records[0] == records[1]


def test_the_command_of_a_server_ends_at_sigterm() -> None:
    """Preconditions of the tests above."""
    story = Played({"at": "10s", "delete": {"pod": "web"}}, objects=[pod("web", command=SERVER)])
    assert story.result.phases == {"default/web": "Succeeded"}

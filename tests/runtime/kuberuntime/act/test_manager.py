"""The runtime manager: which containers it starts, restarts and stops, in which order, and when.

One rule of kuberuntime_manager.go (SyncPod, computePodActions, killPodWithSyncResult) per test, each seen in the calls
that a whole node makes to its container runtime in virtual time.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.trace.records import CriCall
from tests.support.played import Played, container, pod

EXIT_0 = ["sh", "-c", "sleep 1"]
EXIT_1 = ["sh", "-c", "sleep 1; exit 1"]
NEVER_READY = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1}


def played(*steps: dict[str, Any], scenario: dict[str, Any] | None = None, **spec: Any) -> Played:
    """A minute of the pod `web`."""
    return Played(*steps, objects=[pod("web", **spec)], **(scenario or {}))


def stopped_at(story: Played) -> dict[str, float]:
    """When each container of the pod gets its stop request."""
    calls = [r for r in story.records if isinstance(r, CriCall) and r.call == "StopContainer"]
    return {r.container: r.t / 1_000_000 for r in calls}


# -- a new pod -------------------------------------------------------------------------------------------------------


def test_a_new_pod_gets_a_sandbox_and_then_its_containers_in_the_order_of_the_spec() -> None:
    story = played(containers=[container("b"), container("a")])
    assert story.sequence("web") == [
        "RunPodSandbox", "CreateContainer b", "StartContainer b", "CreateContainer a", "StartContainer a",
    ]  # fmt: skip


def test_without_a_sandbox_no_container_is_created() -> None:
    story = played(scenario={"nodes": [{"name": "node-1", "sandboxErrors": ["no room"]}]})
    assert story.sequence("web")[:3] == ["RunPodSandbox", "RunPodSandbox", "CreateContainer main"]
    assert story.messages("FailedCreatePodSandBox", "web") == ["Failed to create pod sandbox: no room"]


def test_a_container_that_cannot_start_does_not_block_the_next_one() -> None:
    story = played(
        scenario={"images": [{"name": "absent", "missing": True}, {"name": "*", "present": True}]},
        containers=[container("broken", image="absent"), container("fine")],
    )
    assert story.sequence("web") == ["RunPodSandbox", "CreateContainer fine", "StartContainer fine"]
    assert "Failed" in story.events("web")


def test_an_unchanged_pod_is_not_affected() -> None:
    assert played().calls("web", after=5) == []


# -- restart policies ------------------------------------------------------------------------------------------------


def test_a_container_that_exited_with_0_is_restarted_under_always() -> None:
    assert len(played(restartPolicy="Always", command=EXIT_0).starts("web")) > 1


def test_a_container_that_exited_with_0_is_not_restarted_under_onfailure() -> None:
    assert len(played(restartPolicy="OnFailure", command=EXIT_0).starts("web")) == 1


def test_a_container_that_exited_with_1_is_restarted_under_onfailure() -> None:
    assert len(played(restartPolicy="OnFailure", command=EXIT_1).starts("web")) > 1


@pytest.mark.parametrize("command", [EXIT_0, EXIT_1])
def test_no_container_is_restarted_under_never(command: list[str]) -> None:
    assert len(played(restartPolicy="Never", command=command).starts("web")) == 1


def test_one_container_that_exits_leaves_the_others_running() -> None:
    story = played(restartPolicy="Never", containers=[container("short", "exit 1"), container("long")])
    assert story.stops("web", "long") == []
    assert story.result.phases == {"default/web": "Running"}


def test_the_first_restart_is_immediate_and_each_later_one_waits_twice_as_long() -> None:
    story = played(command=["false"], scenario={"duration": "3m"})
    first, second, third, fourth, fifth, *_ = story.starts("web")
    assert second - first < 5
    assert 10 <= third - second < 20
    assert 20 <= fourth - third < 30
    assert 40 <= fifth - fourth < 50


def test_a_container_that_waits_for_its_restart_is_in_crashloopbackoff() -> None:
    story = played(command=["false"])
    assert any(s["containers"]["main"]["state"] == "waiting/CrashLoopBackOff" for s in story.statuses("web"))
    assert story.messages("BackOff", "web")[0].startswith("Back-off restarting failed container main in pod web_")


# -- init containers -------------------------------------------------------------------------------------------------


def test_init_containers_run_in_sequence_and_before_the_others() -> None:
    story = played(initContainers=[container("one", "sleep 3"), container("two", "sleep 3")])
    (one,), (two,), (main,) = (story.starts("web", name) for name in ("one", "two", "main"))
    assert two - one >= 3
    assert main - two >= 3


def test_an_init_container_that_fails_is_retried_and_nothing_after_it_starts() -> None:
    story = played(initContainers=[container("one", "exit 1"), container("two", "true")])
    assert len(story.starts("web", "one")) > 1
    assert story.starts("web", "two") + story.starts("web") == []


def test_an_init_container_that_fails_under_never_ends_the_pod() -> None:
    story = played(restartPolicy="Never", initContainers=[container("one", "exit 1")])
    assert len(story.starts("web", "one")) == 1
    assert story.starts("web") == []
    assert story.result.phases == {"default/web": "Failed"}


def test_an_init_container_does_not_run_again_when_the_main_container_restarts() -> None:
    story = played(initContainers=[container("one", "true")], command=EXIT_1)
    assert len(story.starts("web")) > 1
    assert len(story.starts("web", "one")) == 1


def test_a_sidecar_is_awaited_until_it_starts_and_not_until_it_ends() -> None:
    startup = {"exec": {"command": ["test", "-e", "/up"]}, "periodSeconds": 1, "failureThreshold": 30}
    sidecar = container("side", "sleep 8", "touch /up", "sleep 100000", restartPolicy="Always", startupProbe=startup)
    story = played(initContainers=[sidecar])
    (side,), (main,) = story.starts("web", "side"), story.starts("web")
    assert 8 <= main - side < 12


def test_a_sidecar_that_ends_is_restarted_whatever_the_pods_restart_policy() -> None:
    sidecar = container("side", "sleep 1", restartPolicy="Always")
    story = played(restartPolicy="Never", initContainers=[sidecar])
    assert len(story.starts("web", "side")) > 1
    assert len(story.starts("web")) == 1


# -- containers that must not continue
# ----------------------------------------------------------------------------------


def test_a_container_whose_definition_changed_is_stopped_and_restarted() -> None:
    changed = {"spec": {"containers": [{"name": "main", "image": "busybox:2"}]}}
    story = played({"at": "10s", "patch": {"pod": "web", "patch": changed}})
    assert story.sequence("web", after=10) == ["StopContainer main", "CreateContainer main", "StartContainer main"]
    assert story.messages("Killing", "web") == ["Container main definition changed, will be restarted"]


@pytest.mark.parametrize("kind", ["liveness", "startup"])
def test_a_container_that_fails_its_probe_is_stopped_and_restarted(kind: str) -> None:
    story = played(containers=[container("main", **{f"{kind}Probe": NEVER_READY})])
    assert len(story.starts("web")) > 1
    assert story.messages("Killing", "web")[0] == f"Container main failed {kind} probe, will be restarted"


def test_a_container_that_fails_its_liveness_probe_is_not_restarted_under_never() -> None:
    story = played(restartPolicy="Never", containers=[container("main", livenessProbe=NEVER_READY)])
    assert len(story.stops("web")) == 1
    assert len(story.starts("web")) == 1


def test_a_container_that_fails_its_readiness_probe_continues() -> None:
    story = played(containers=[container("main", readinessProbe=NEVER_READY)])
    assert story.stops("web") == []
    assert story.statuses("web")[-1]["conditions"]["Ready"] == "False/ContainersNotReady"


def test_a_container_whose_post_start_hook_fails_is_stopped() -> None:
    failing = container("main", lifecycle={"postStart": {"exec": {"command": ["false"]}}})
    story = played(restartPolicy="Never", containers=[failing])
    assert story.sequence("web")[:4] == [
        "RunPodSandbox", "CreateContainer main", "StartContainer main", "StopContainer main",
    ]  # fmt: skip
    assert story.events("web")[3:5] == ["FailedPostStartHook", "Killing"]


# -- a sandbox that has ended ----------------------------------------------------------------------------------------


def test_a_pod_whose_sandbox_died_is_stopped_and_starts_in_a_new_one() -> None:
    story = played({"at": "10s", "kill": {"pod": "web", "sandbox": True}}, initContainers=[container("init", "true")])
    assert story.sequence("web", after=10) == [
        "StopContainer main", "StopPodSandbox", "RemoveContainer init", "RunPodSandbox",
        "CreateContainer init", "StartContainer init", "CreateContainer main", "StartContainer main",
    ]  # fmt: skip
    assert story.messages("SandboxChanged", "web") == ["Pod sandbox changed, it will be killed and re-created."]


def test_each_new_sandbox_has_the_next_attempt_number() -> None:
    kills = [{"at": f"{second}s", "kill": {"pod": "web", "sandbox": True}} for second in (10, 30)]
    story = played(*kills)
    made = [r.args["attempt"] for r in story.records if isinstance(r, CriCall) and r.call == "RunPodSandbox"]
    assert made == [0, 1, 2]


def test_a_sandbox_that_died_after_all_containers_is_not_replaced_under_never() -> None:
    story = played({"at": "20s", "kill": {"pod": "web", "sandbox": True}}, restartPolicy="Never", command=EXIT_0)
    assert story.calls("web").count("RunPodSandbox") == 1


# -- stopping a pod --------------------------------------------------------------------------------------------------

DELETED = {"at": "10s", "delete": {"pod": "web"}}


def test_a_pod_is_stopped_container_by_container_and_then_its_sandbox() -> None:
    story = played(DELETED, containers=[container("a"), container("b")])
    first, second, third = story.sequence("web", after=10)[:3]
    assert {first, second} == {"StopContainer a", "StopContainer b"}
    assert third == "StopPodSandbox"


def test_containers_are_stopped_concurrently() -> None:
    story = played(DELETED, containers=[container("a", "sleep 100000"), container("b", "sleep 100000")])
    stopped = stopped_at(story)
    assert stopped["a"] == stopped["b"]


def test_sidecars_are_stopped_last_and_in_reverse_order() -> None:
    sidecars = [container(name, "trap 'sleep 1; exit 0' TERM", "sleep 100000 & wait", restartPolicy="Always")
                for name in ("s1", "s2")]  # fmt: skip
    stopped = stopped_at(played(DELETED, initContainers=sidecars))
    assert list(stopped) == ["main", "s2", "s1"]
    assert stopped["s1"] - stopped["s2"] >= 1


def test_a_pre_stop_hook_runs_before_the_stop_and_uses_the_grace_period() -> None:
    hook = {"preStop": {"exec": {"command": ["sleep", "2"]}}}
    story = played(DELETED, containers=[container("main", lifecycle=hook)])
    (stop,) = (r for r in story.records if isinstance(r, CriCall) and r.call == "StopContainer")
    assert stop.t / 1_000_000 == pytest.approx(12, abs=0.5)
    assert stop.args["timeout"] == 3  # of five seconds


def test_the_runtime_gets_the_grace_period_of_the_deletion_if_that_is_shorter() -> None:
    story = played({"at": "10s", "delete": {"pod": "web", "gracePeriodSeconds": 3}}, terminationGracePeriodSeconds=60)
    (stop,) = (r for r in story.records if isinstance(r, CriCall) and r.call == "StopContainer")
    assert stop.args["timeout"] == 3

"""When a worker probes, waits or ends, and how results are counted."""

from __future__ import annotations

import pytest

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import SECOND
from kubesim.features import FeatureGates
from kubesim.kubelet.probes.worker_rules import ProbeWorkerState, Turn, Write, after_probe, before_probe
from kubesim.kubelet.status.generate.inputs import ProbeType
from kubesim.runtime.types import ProbeResult
from tests.support.probes import EXEC, pod, running, status, subject

NOW = 1_000_000 * SECOND
KNOWN = ProbeWorkerState(container_id="containerd://1")


def turn(
    of: Pod, probe_type: ProbeType, state: ProbeWorkerState, seen: PodStatus | None, *, kubelet_age: int = 3600
) -> Turn:
    return before_probe(subject(of, probe_type), state, seen, NOW, NOW - kubelet_age * SECOND)


@pytest.mark.parametrize(
    ("probe_type", "value"), [("readiness", "failure"), ("liveness", "success"), ("startup", "unknown")]
)
def test_a_new_container_starts_with_the_initial_value(probe_type: ProbeType, value: ProbeResult) -> None:
    of = pod(readinessProbe=EXEC, livenessProbe=EXEC, startupProbe=EXEC)
    known = ProbeWorkerState(container_id="containerd://0", on_hold=True, result_run=2)
    first = turn(of, probe_type, known, running(NOW - SECOND, started=probe_type != "startup"))
    assert [(w.container_id, w.result) for w in first.writes] == [("containerd://0", None), ("containerd://1", value)]
    assert first.state == ProbeWorkerState(container_id="containerd://1", result_run=2)
    assert first.next == "probe"


def test_a_container_older_than_the_kubelet_keeps_its_result() -> None:
    of = pod(readinessProbe=EXEC)
    assert turn(of, "readiness", ProbeWorkerState(), running(NOW - 3611 * SECOND)).writes == ()
    assert len(turn(of, "readiness", ProbeWorkerState(), running(NOW - 3610 * SECOND)).writes) == 1
    gates = FeatureGates({"ChangeContainerStatusOnKubeletRestart": True})
    old = running(NOW - 9999 * SECOND)
    changed = before_probe(subject(of, "readiness"), ProbeWorkerState(), old, NOW, NOW - 3600 * SECOND, gates)
    assert [w.result for w in changed.writes] == ["failure"]


def test_a_started_sidecar_is_reported_as_started_first_even_if_the_initial_value_follows() -> None:
    of = pod(sidecar=True, startupProbe=EXEC)

    def seen(age: int) -> PodStatus:
        regular = running(NOW - age * SECOND)
        return regular.changed(init_container_statuses=regular.container_statuses, container_statuses=())

    assert [w.result for w in turn(of, "startup", ProbeWorkerState(), seen(9000)).writes] == ["success"]
    assert [w.result for w in turn(of, "startup", ProbeWorkerState(), seen(5)).writes] == ["success", "unknown"]


def test_before_the_start_and_during_the_initial_delay_nothing_is_probed() -> None:
    of = pod(readinessProbe={**EXEC, "initialDelaySeconds": 5}, startupProbe=EXEC)
    assert turn(of, "readiness", KNOWN, running(NOW - 5 * SECOND + 1)).next == "wait"
    assert turn(of, "readiness", KNOWN, running(NOW - 5 * SECOND)).next == "probe"
    assert turn(of, "readiness", KNOWN, running(NOW - 9 * SECOND, started=False)).next == "wait"
    assert turn(of, "startup", KNOWN, running(NOW - 9 * SECOND, started=False)).next == "probe"
    assert turn(of, "startup", KNOWN, running(NOW - 9 * SECOND)).next == "wait"


def test_without_a_status_or_a_container_the_worker_waits_and_with_a_finished_pod_it_ends() -> None:
    of = pod(readinessProbe=EXEC)
    assert turn(of, "readiness", KNOWN, None) == Turn(KNOWN, "wait")
    assert turn(of, "readiness", KNOWN, running(NOW, container_id="")) == Turn(KNOWN, "wait")
    assert turn(of, "readiness", KNOWN, running(NOW).changed(phase="Succeeded")) == Turn(KNOWN, "end")


def test_an_exited_container_fails_and_is_awaited_only_if_it_may_restart() -> None:
    dead = status({"terminated": {"exitCode": 3}})
    back = turn(pod(livenessProbe=EXEC, restart_policy="OnFailure"), "liveness", KNOWN, dead)
    assert (back.next, [w.result for w in back.writes]) == ("wait", ["failure"])
    assert turn(pod(livenessProbe=EXEC, restart_policy="Never"), "liveness", KNOWN, dead).next == "end"
    assert (
        turn(pod(livenessProbe=EXEC, restart_policy="Never"), "liveness", KNOWN, status({"waiting": {}})).next == "wait"
    )


def test_a_pod_that_restarts_all_containers_is_awaited() -> None:
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    of = Pod.from_json(
        {
            "metadata": {"uid": "u1"},
            "spec": {
                "restartPolicy": "Never",
                "containers": [
                    {"name": "web", "readinessProbe": EXEC},
                    {"name": "boss", "restartPolicy": "Never", "restartPolicyRules": [rule]},
                ],
            },
        }
    )
    dead = status({"terminated": {"exitCode": 0}})
    boss = {"name": "boss", "containerID": "containerd://9", "state": {"terminated": {"exitCode": 42}}}
    both = PodStatus.from_json({**dead.to_json(), "containerStatuses": [*dead.to_json()["containerStatuses"], boss]})
    assert turn(of, "readiness", KNOWN, dead).next == "end"
    assert turn(of, "readiness", KNOWN, both).next == "wait"


def test_a_pod_being_deleted_ends_liveness_and_startup_with_a_success_and_keeps_probing_readiness() -> None:
    of = pod(readinessProbe=EXEC, livenessProbe=EXEC)
    of = of.changed(metadata=of.metadata.changed(deletion_timestamp="2026-01-01T00:00:00Z"))
    quiet = turn(of, "liveness", KNOWN, running(NOW - 60 * SECOND))
    assert (quiet.next, [w.result for w in quiet.writes]) == ("end", ["success"])
    assert turn(of, "readiness", KNOWN, running(NOW - 60 * SECOND)) == Turn(KNOWN, "probe")


def test_results_are_counted_up_to_the_threshold() -> None:
    who = subject(pod(readinessProbe={**EXEC, "successThreshold": 2}), "readiness")
    state = KNOWN
    written = []
    answers: tuple[ProbeResult, ...] = ("failure", "failure", "success", "failure", "failure", "failure", "success")
    for answer in (*answers, "success"):
        counted = after_probe(who, state, answer)
        state = counted.state
        written.append([w.result for w in counted.writes])
    assert written == [[], [], [], [], [], ["failure"], [], ["success"]]


def test_the_reason_of_a_result_is_a_sentence() -> None:
    who = subject(pod(readinessProbe=EXEC), "readiness")
    third = after_probe(who, ProbeWorkerState("containerd://1", "failure", 2), "failure")
    why = "readiness of web failed 3 times in a row (failureThreshold 3)"
    assert third.writes == (Write("containerd://1", "failure", why),)


def test_an_unchanged_result_is_not_written_again() -> None:
    who, twice = subject(pod(readinessProbe=EXEC), "readiness"), ProbeWorkerState("containerd://1", "failure", 2)
    assert after_probe(who, twice, "failure", verdict="failure").writes == ()
    assert after_probe(who, twice, "failure", verdict="success").writes != ()


def test_a_decided_startup_probe_or_a_failed_liveness_probe_pauses_the_worker_until_the_container_changes() -> None:
    of = pod(startupProbe=EXEC, livenessProbe={**EXEC, "failureThreshold": 1}, readinessProbe=EXEC)
    held = ProbeWorkerState("containerd://1", "success", 0, True)
    assert after_probe(subject(of, "startup"), KNOWN, "success").state == held
    assert after_probe(subject(of, "liveness"), KNOWN, "failure").state.on_hold
    assert not after_probe(subject(of, "liveness"), KNOWN, "success").state.on_hold
    assert turn(of, "startup", held, running(NOW - 60 * SECOND, started=False)) == Turn(held, "wait")
    fresh = turn(of, "startup", held, running(NOW - 60 * SECOND, container_id="containerd://2", started=False))
    assert (fresh.next, fresh.state.on_hold) == ("probe", False)


@pytest.mark.parametrize(
    ("gates", "policy", "next_turn"),
    [
        (FeatureGates({"ContainerRestartRules": False}), "Never", "end"),
        (FeatureGates({"ContainerRestartRules": False}), "OnFailure", "wait"),
        (FeatureGates({"RestartAllContainersOnContainerExits": False}), "Never", "end"),
    ],
)
def test_a_worker_ends_with_a_container_that_will_not_restart(gates: FeatureGates, policy: str, next_turn: str) -> None:
    of = pod(restart_policy=policy, readinessProbe=EXEC)
    ended = status({"terminated": {"exitCode": 1}})
    answer = before_probe(subject(of, "readiness"), KNOWN, ended, NOW, NOW - 3600 * SECOND, gates)
    assert answer.next == next_turn


def test_a_container_without_a_start_time_started_long_ago() -> None:
    of = pod(readinessProbe={**EXEC, "initialDelaySeconds": 60})
    assert turn(of, "readiness", KNOWN, status({"running": {}}, started=True)).next == "probe"

"""Behaviour of a real kubelet that looks like a divergence but is none, and similar behaviour that is one."""

from __future__ import annotations

from typing import Any

from kubesim.api.event import Event
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.attach.explain.observation import Memory
from kubesim.attach.shadow.shadow import Shadow
from tests.support.attach.pods import NOW, ago, cause, conditions, end, event, pod, running, terminated, waiting

PROBED: dict[str, Any] = {
    "name": "main",
    "image": "nginx:1.27",
    "livenessProbe": {"exec": {"command": ["x"]}, "periodSeconds": 10, "failureThreshold": 3},
}
BACK_OFF = "back-off 40s restarting failed container=main pod=web_shop(u1)"
KILL = "Container main failed liveness probe, will be restarted"


def says(shadow: Shadow, *seen: Pod | Event, history: bool = False) -> list[str]:
    """The divergences reported for these observations, which are a millisecond apart."""
    found: list[str] = []
    for number, one in enumerate(seen):
        now = NOW + number * 1000
        if isinstance(one, Event):
            report = shadow.observe_event(one, now, history=history)
        else:
            report = shadow.observe_pod(one, now)
        found += [divergence.says for divergence in report.divergences]
    return found


def test_a_kill_in_the_first_list_is_history() -> None:
    early = event("Killing", KILL, 4, container="main")
    alive = pod(running(5), spec={"containers": [PROBED]})
    assert says(Shadow(), alive, early, history=True) == []
    assert "before that can have failed so often" in says(Shadow(), alive, early)[0]


def test_a_kill_of_the_previous_attempt_is_irrelevant() -> None:
    again = running(5, restarts=1) | {"lastState": {"terminated": end(137, finished=6, started=40)}}
    assert says(Shadow(), pod(again, spec={"containers": [PROBED]}), event("Killing", KILL, 7, container="main")) == []


def test_failures_accumulate_over_a_restart_that_was_not_a_kill() -> None:
    again = running(12, restarts=1) | {"lastState": {"terminated": end(1, finished=13, started=40)}}
    alive = pod(again, spec={"containers": [PROBED]})
    assert says(Shadow(), alive, event("Killing", KILL, 1, container="main")) == []
    # The previous attempt was killed for the same probe: the count starts at zero.
    kills = (event("Killing", KILL, 14, container="main"), event("Killing", KILL, 1, 2, container="main"))
    assert len(says(Shadow(), alive, *kills)) == 1


def test_a_skipped_event_count_does_not_prove_a_delay() -> None:
    message = 'Container image "nginx:1.27" is not present with pull policy of Never'
    first = event("ErrImageNeverPull", message, 200, 4, "main")
    waits = pod(waiting("ErrImageNeverPull"))
    assert says(Shadow(), waits, first, event("ErrImageNeverPull", message, 0, 17, "main")) == []
    assert len(says(Shadow(), waits, first, event("ErrImageNeverPull", message, 0, 5, "main"))) == 1


def test_a_known_event_is_not_counted_again() -> None:
    failed = event("Failed", 'Failed to pull image "nginx:1.27": no', 30, 3, "main")
    pulling = event("Pulling", 'Pulling image "nginx:1.27"', 31, 3, "main")
    assert says(Shadow(), pod(waiting("ErrImagePull")), pulling, failed, pulling) == []


def _gated(gate: str, ready: str, reason: str = "") -> Pod:
    reported = conditions(ready=ready == "True", containers=True)
    if reason:
        next(one for one in reported if one["type"] == "Ready").update(
            reason=reason, message='corresponding condition of pod readiness gate "x/y" does not exist.'
        )
    reported += [{"type": "x/y", "status": gate}] if gate else []
    return pod(running(), spec={"readinessGates": [{"conditionType": "x/y"}]}, status={"conditions": reported})


def test_a_readiness_gate_is_written_before_the_kubelets_answer() -> None:
    shadow = Shadow()
    unready = _gated("", "False", "ReadinessGatesNotReady")
    assert says(shadow, unready, _gated("True", "False", "ReadinessGatesNotReady")) == []
    assert says(Shadow(), unready, _gated("", "True")) != []


def test_the_times_of_a_static_pod_restart_with_its_kubelet() -> None:
    mirror = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    moved = {"startTime": ago(1)}
    assert says(Shadow(), pod(running(), metadata=mirror), pod(running(), metadata=mirror, status=moved)) == []
    assert says(Shadow(), pod(running()), pod(running(), status=moved)) == ["startTime changed"]


def _exited(code: int, phase: str, **metadata: Any) -> Pod:
    moved = {"lastTransitionTime": ago(0)}
    reported = [one | (moved if one["status"] == "False" else {}) for one in conditions()]
    status = terminated(code) | {"state": {"terminated": end(code, finished=18, started=60)}}
    return pod(status, metadata=metadata, status={"phase": phase, "conditions": reported})


def test_exits_during_termination_are_reported_at_the_end() -> None:
    asked: dict[str, Any] = {"deletionTimestamp": ago(-10), "deletionGracePeriodSeconds": 30, "generation": 2}
    assert says(Shadow(), pod(running(), metadata=asked), _exited(1, "Failed", **asked)) == []
    late = says(Shadow(), pod(running()), _exited(1, "Running"))
    assert "container main exited is reported 17s after it happened" in late


SIDECAR: dict[str, Any] = {
    "name": "proxy",
    "image": "nginx:1.27",
    "restartPolicy": "Always",
    "startupProbe": {"exec": {"command": ["x"]}},
}


def _beside_sidecar(ready: bool, started: bool, probed: bool = True) -> Pod:
    """A pod whose sidecar has this state, while the container after it is not running yet."""
    reported = conditions(initialized=False)
    waits = "second" if ready else "proxy second"
    for one in reported:
        if one["type"] == "Initialized":
            one.update(reason="ContainersNotInitialized", message=f"containers with incomplete status: [{waits}]")
        elif "message" in one:
            one.update(message=f"containers with unready status: [{waits} main]")
    proxy = SIDECAR if probed else {key: value for key, value in SIDECAR.items() if key != "startupProbe"}
    second = {"name": "second", "image": "nginx:1.27", "restartPolicy": "Always"}
    return pod(
        waiting("PodInitializing"),
        spec={"initContainers": [proxy, second]},
        init=[running(60, ready, started, name="proxy"), waiting("PodInitializing", name="second")],
        status={"conditions": reported},
    )


def test_the_first_result_of_a_startup_probe_resets_started_alone() -> None:
    """SetContainerStartup writes it after a restart of the kubelet; `ready` follows with the next sync."""
    too_soon = "sidecar proxy is ready before it has started"
    assert says(Shadow(), _beside_sidecar(True, True), _beside_sidecar(True, False)) == []
    assert too_soon in says(Shadow(), _beside_sidecar(False, False), _beside_sidecar(True, False))
    unprobed = [_beside_sidecar(True, started, probed=False) for started in (True, False)]
    assert too_soon in says(Shadow(), *unprobed)


def _failed(state: dict[str, Any], last: dict[str, Any] | None = None) -> Pod:
    status = terminated(42) | {"state": {"terminated": state}, "lastState": {"terminated": last} if last else {}}
    return pod(status, spec={"restartPolicy": "OnFailure"}, status={"phase": "Failed", "reason": "DeadlineExceeded"})


def test_the_runtimes_exit_code_may_replace_container_status_unknown() -> None:
    """TerminatePod writes it for a container that waits for its back-off; the next kubelet asks the runtime."""
    differs = ["the end of main is reported differently than before"]
    unknown = {"exitCode": 137, "reason": "ContainerStatusUnknown"}
    known, other = end(42), end(1)
    assert says(Shadow(), _failed(unknown), _failed(known)) == []
    assert says(Shadow(), _failed(unknown, last=known), _failed(known, last=known)) == []
    # lastState already reported the exit of this container.
    assert says(Shadow(), _failed(unknown, last=known), _failed(other, last=known)) == differs
    assert says(Shadow(), _failed(known), _failed(unknown)) == differs
    assert says(Shadow(), _failed(known), _failed(other)) == differs


def _restart_window(found: Pod, **memory: Any) -> tuple[int | None, int | None]:
    window = next(step.window for step in cause(found, memory=Memory(**memory)).steps if step.change == "started")
    assert window is not None
    seconds = [None if one is None else (one - NOW) // SECOND for one in (window.earliest, window.latest)]
    return seconds[0], seconds[1]


def test_a_back_off_reported_by_an_earlier_kubelet_is_only_an_upper_bound() -> None:
    found = pod(waiting("CrashLoopBackOff", BACK_OFF, end(1, finished=10), restarts=3))
    assert _restart_window(found) == (30, 51)
    assert _restart_window(found, kubelet_since=NOW - 5 * SECOND) == (None, 51)
    steps = cause(found, memory=Memory(kubelet_since=NOW)).steps
    assert steps[0].because == "40s after the exit at the latest, plus jitter of the worker"


def _open(shadow: Shadow, found: Pod, due: str) -> int | None:
    shadow.observe_pod(found, NOW)
    return next(p.window.latest for p in shadow.pods["u1"].open.values() if p.due == due)


def test_a_restart_that_may_need_a_pull_has_no_latest_time() -> None:
    crashed = waiting("CrashLoopBackOff", BACK_OFF, end(1), restarts=3)
    same, other = crashed | {"image": "docker.io/library/nginx:1.27"}, crashed | {"image": "docker.io/library/old:1"}
    assert _open(Shadow(), pod(same), "restart") is not None
    assert _open(Shadow(), pod(other), "restart") is None


def test_a_pull_of_a_container_that_ended_before_may_wait_for_its_crash_back_off() -> None:
    """Each sync that passes the crash back-off doubles it, even if the back-off of the pull then blocks it."""
    failed = event("Failed", 'Failed to pull image "nginx:1.27": no', 25, 2, "main")
    held_back = event("BackOff", 'Back-off pulling image "nginx:1.27"', 10, 2, "main")

    def latest(found: Pod, *events: Event) -> int:
        shadow = Shadow()
        says(shadow, found, failed, *events)
        window = shadow.pods["u1"].open["pull", "main"].window
        assert window.latest is not None
        return window.latest

    first = latest(pod(waiting("ErrImagePull")))
    assert first == latest(pod(waiting("ErrImagePull")), held_back) == NOW + (-25 + 20 + 15) * SECOND
    ended = pod(waiting("ErrImagePull", last=end(7, finished=55, started=60)))
    # The sync that pulled was 30 s after the exit: the crash back-off is 40 s, and ends before that of the pull.
    assert latest(ended) <= first
    # Another restart was allowed 45 s after the exit: the crash back-off is 80 s, with jitter.
    assert NOW + 25 * SECOND < latest(ended, held_back) < NOW + 50 * SECOND
    # The maximum is 5 min.
    assert latest(pod(waiting("ErrImagePull", last=end(7, finished=400, started=410))), held_back) == first


def test_a_sidecar_in_its_back_off_blocks_the_containers_after_it() -> None:
    spec = {"initContainers": [{"name": "side", "image": "x:1", "restartPolicy": "Always"}]}
    crashed = waiting("CrashLoopBackOff", BACK_OFF, end(1), restarts=3)
    runs, waits = running(name="side"), crashed | {"name": "side"}
    assert _open(Shadow(), pod(crashed, spec=spec, init=[runs]), "restart") is not None
    held = Shadow()
    held.observe_pod(pod(crashed, spec=spec, init=[waits]), NOW)
    assert held.pods["u1"].open["restart", "main"].window.latest is None


def test_a_second_deletion_may_keep_the_first_grace_period_of_the_containers() -> None:
    asked = {"deletionTimestamp": ago(-2), "deletionGracePeriodSeconds": 4, "generation": 2}
    stopping = pod(running(), metadata=asked, status={"observedGeneration": 2})
    first = event("Killing", "Stopping container main", 30)
    latest = [step.window.latest for step in cause(stopping, first).steps if step.window is not None]
    assert latest == [None]
    at_once = event("Killing", "Stopping container main", 2)
    assert [step.window.latest for step in cause(stopping, at_once).steps if step.window is not None] != [None]


def test_different_errors_of_a_pull_do_not_shorten_its_back_off() -> None:
    pulling = event("Pulling", 'Pulling image "nginx:1.27"', 6, 6, "main")
    failed = event("Failed", 'Failed to pull image "nginx:1.27": port 4711', 5, 1, "main")
    step = cause(pod(waiting("ErrImagePull")), pulling, failed).steps[0]
    assert step.window is not None
    assert step.window.earliest == NOW + 5 * SECOND
    assert step.window.latest == NOW + (300 + 15 - 5) * SECOND


def test_a_restarted_kubelet_does_not_wait_for_an_earlier_pull_or_mount() -> None:
    failed = event("Failed", 'Failed to pull image "nginx:1.27": no', 30, 6, "main")
    mount = event("FailedMount", "MountVolume.SetUp failed for volume x", 30, 6)
    pulls, mounts = pod(waiting("ErrImagePull")), pod(waiting("ContainerCreating"), sandbox=False)
    new = Memory(kubelet_since=NOW - 10 * SECOND)
    assert cause(pulls, failed).steps[0].window is not None
    assert cause(pulls, failed, memory=new).steps[0].window is None
    assert cause(mounts, mount).steps[0].window is not None
    assert cause(mounts, mount, memory=new).steps[0].window is None

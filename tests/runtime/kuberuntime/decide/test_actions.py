"""compute_pod_actions: the corpora cover the breadth; these are the main rules, with their reasons."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Container, Pod, ResourceRequirements
from kubesim.features import FeatureGates
from kubesim.runtime.kuberuntime.container_hash import hash_container
from kubesim.runtime.kuberuntime.decide.action_types import PodActions
from kubesim.runtime.kuberuntime.decide.actions import compute_pod_actions, pod_sandbox_changed
from kubesim.runtime.types import ContainerRecord, RuntimePodStatus, SandboxNetwork, SandboxRecord
from kubesim.values import replace

READY = SandboxRecord("sb", network=SandboxNetwork("10.0.0.1"))
WEB = {"name": "web", "image": "nginx"}
V1_30 = FeatureGates(profile="v1.30")
_INIT_RESIZE = "InPlacePodVerticalScalingInitContainers"


def pod(**spec: Any) -> Pod:
    return Pod.from_json({"metadata": {"uid": "u"}, "spec": {"restartPolicy": "Always", "containers": [WEB], **spec}})


def record(
    name: str, state: Any = "running", exit_code: int = 0, *, image: str = "nginx", reason: str = ""
) -> ContainerRecord:
    definition = Container(name=name, image=image)
    return ContainerRecord(
        f"containerd://{name}", name, state, hash_container(definition), exit_code=exit_code, reason=reason
    )


def status(*records: ContainerRecord, sandbox: SandboxRecord | None = READY) -> RuntimePodStatus:
    return RuntimePodStatus("u", sandboxes=(sandbox,) if sandbox else (), containers=records)


def hashed(found: ContainerRecord, definition: Container) -> ContainerRecord:
    """A record of a container that a v1.30 kubelet started."""
    return replace(found, hash=hash_container(definition, V1_30.rules))


def names(containers: list[Container]) -> list[str]:
    return [container.name for container in containers]


def kills(actions: PodActions) -> dict[str, str]:
    return {kill.name: kill.message for kill in actions.containers_to_kill.values()}


def test_a_new_pod_gets_a_sandbox_and_its_containers() -> None:
    actions = compute_pod_actions(pod(), status(sandbox=None))
    assert (actions.kill_pod, actions.create_sandbox, actions.attempt) == (True, True, 0)
    assert names(actions.containers_to_start) == ["web"]
    assert actions.why == ("no sandbox exists yet, so one is created", "container web starts in the new sandbox")


def test_an_unchanged_pod_is_not_affected() -> None:
    actions = compute_pod_actions(pod(), status(record("web")))
    assert not actions.kill_pod
    assert not actions.containers_to_start
    assert actions.why == ("nothing to do: web is running and unchanged",)


def test_when_a_new_sandbox_is_needed() -> None:
    given = pod()
    assert not pod_sandbox_changed(given, status())[0]
    assert not pod_sandbox_changed(given, status(sandbox=SandboxRecord("sb")))[0]  # irrelevant if missing
    no_ip = SandboxRecord("sb", attempt=3, network=SandboxNetwork())
    assert pod_sandbox_changed(given, status(sandbox=no_ip))[:3] == (True, 4, "sb")
    host = SandboxRecord("sb", attempt=3, network_namespace="NODE")
    assert pod_sandbox_changed(given, status(sandbox=host))[:3] == (True, 4, "")  # the id is not kept
    two = RuntimePodStatus("u", sandboxes=(READY, READY))
    assert pod_sandbox_changed(given, two)[0]


def test_a_run_once_pod_whose_sandbox_died_is_stopped_permanently() -> None:
    gone = SandboxRecord("sb", ready=False)
    actions = compute_pod_actions(pod(restartPolicy="Never"), status(record("web", "exited", 137), sandbox=gone))
    assert (actions.kill_pod, actions.create_sandbox) == (True, False)
    assert "stopped for good" in actions.why[0]


def test_a_crashed_container_is_restarted() -> None:
    actions = compute_pod_actions(pod(), status(record("web", "exited", 1)))
    assert names(actions.containers_to_start) == ["web"]
    assert actions.why == ("container web exited with 1 and restartPolicy is Always, so it is started again",)


def test_a_pod_whose_last_container_is_finished_is_stopped_with_its_sidecars() -> None:
    given = pod(restartPolicy="Never", initContainers=[{"name": "proxy", "image": "nginx", "restartPolicy": "Always"}])
    waiting = compute_pod_actions(given, status(record("web"), record("proxy", "exited", 1)))
    assert names(waiting.init_containers_to_start) == ["proxy"]
    over = compute_pod_actions(given, status(record("web", "exited"), record("proxy")))
    assert over.kill_pod
    assert over.why[-2].endswith("so the whole pod is stopped")


def test_an_image_change_restarts_with_any_policy() -> None:
    actions = compute_pod_actions(pod(restartPolicy="Never"), status(record("web", image="nginx:old")))
    assert kills(actions) == {"web": "Container web definition changed, will be restarted"}
    assert names(actions.containers_to_start) == ["web"]


def test_a_failed_liveness_probe_kills_and_the_policy_decides_the_rest() -> None:
    failed: Any = {"containerd://web": "failure"}
    always = compute_pod_actions(pod(), status(record("web")), liveness=failed)
    assert kills(always) == {"web": "Container web failed liveness probe, will be restarted"}
    never = compute_pod_actions(pod(restartPolicy="Never"), status(record("web")), liveness=failed)
    assert kills(never) == {"web": "Container web failed liveness probe"}
    assert never.kill_pod


def test_a_container_of_unknown_state_is_killed_first() -> None:
    actions = compute_pod_actions(pod(), status(record("web", "unknown")))
    assert kills(actions) == {"web": 'Container is in "unknown" state, try killing it before restart'}
    assert actions.containers_to_kill["containerd://web"].reason == "Unknown"


def init(*names_: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"name": name, "image": "nginx", **fields} for name in names_]


def test_init_containers_run_in_sequence() -> None:
    given = pod(initContainers=init("one", "two"))
    assert names(compute_pod_actions(given, status()).init_containers_to_start) == ["one"]
    running = compute_pod_actions(given, status(record("one")))
    assert running.init_containers_to_start == []
    assert running.why == ("init container one is running, so the rest of the pod waits for it",)
    done = compute_pod_actions(given, status(record("one", "exited")))
    assert names(done.init_containers_to_start) == ["two"]
    all_done = compute_pod_actions(given, status(record("two", "exited")))  # the record of one was removed
    assert names(all_done.containers_to_start) == ["web"]


def test_an_init_container_killed_for_memory_has_failed_even_with_exit_0() -> None:
    given = pod(initContainers=init("one"))
    actions = compute_pod_actions(given, status(record("one", "exited", 0, reason="OOMKilled")))
    assert names(actions.init_containers_to_start) == ["one"]


def test_a_failed_init_container_ends_a_pod_that_never_restarts() -> None:
    actions = compute_pod_actions(
        pod(restartPolicy="Never", initContainers=init("one", "two")), status(record("one", "exited", 1))
    )
    assert actions.kill_pod
    assert actions.init_containers_to_start == []
    assert actions.why == ("init container one failed with 1 and restartPolicy is Never, so the whole pod is stopped",)


def test_a_sidecar_lets_the_next_one_start_after_its_startup_probe() -> None:
    given = pod(initContainers=[*init("proxy", restartPolicy="Always", startupProbe={"exec": {}}), *init("setup")])
    running = status(record("proxy"))
    assert compute_pod_actions(given, running).init_containers_to_start == []
    started = compute_pod_actions(given, running, startup={"containerd://proxy": "success"})
    assert names(started.init_containers_to_start) == ["setup"]


def test_a_changed_sidecar_restarts_before_the_next_one_starts() -> None:
    given = pod(initContainers=[*init("proxy", restartPolicy="Always"), *init("setup")])
    actions = compute_pod_actions(given, status(record("proxy", image="nginx:old")))
    assert names(actions.init_containers_to_start) == ["proxy", "setup"]
    assert kills(actions) == {"proxy": "Init container proxy definition changed"}


def test_restarting_all_containers_removes_the_cause_last() -> None:
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    cause = {"name": "a", "image": "nginx", "restartPolicy": "Never", "restartPolicyRules": [rule]}
    given = pod(containers=[cause, WEB], initContainers=init("setup"))
    present = status(record("web"), record("a", "exited", 42), record("setup", "exited"))
    actions = compute_pod_actions(given, present, restart_all_containers=True)
    assert [(reset.container.name, reset.kill) for reset in actions.containers_to_reset] == [
        ("web", True),
        ("setup", False),
        ("a", False),
    ]
    off = FeatureGates({"RestartAllContainersOnContainerExits": False})
    assert not compute_pod_actions(given, present, restart_all_containers=True, gates=off).containers_to_reset


def resources(cpu: str, memory: str) -> dict[str, Any]:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": cpu, "memory": memory}}


def actuated(**by_name: dict[str, Any]) -> dict[str, ResourceRequirements]:
    return {name: ResourceRequirements.from_json(value) for name, value in by_name.items()}


def test_a_resize_first_decreases_and_then_increases() -> None:
    up = {"name": "up", "image": "nginx", "resources": resources("2", "64Mi")}
    down = {"name": "down", "image": "nginx", "resources": resources("1", "64Mi")}
    before = actuated(up=resources("1", "64Mi"), down=resources("2000m", "65536Ki"))
    actions = compute_pod_actions(pod(containers=[up, down]), status(record("up"), record("down")), actuated=before)
    assert [update.container.name for update in actions.containers_to_update["cpu"]] == ["down", "up"]
    assert "memory" not in actions.containers_to_update  # different notation, but the same amount
    assert actions.why[0] == "the cpu of container up goes up, so it is changed while it runs"
    off = FeatureGates({"InPlacePodVerticalScaling": False})
    given = compute_pod_actions(pod(containers=[up]), status(record("up")), actuated=before, gates=off)
    assert not given.containers_to_update


def test_a_resize_policy_can_ask_for_a_restart() -> None:
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    given = pod(containers=[{**WEB, "resources": resources("1", "128Mi"), "resizePolicy": policy}])
    actions = compute_pod_actions(given, status(record("web")), actuated=actuated(web=resources("1", "64Mi")))
    assert kills(actions) == {"web": "Container web resize requires restart"}
    assert actions.update_pod_resources
    cpu_only = compute_pod_actions(given, status(record("web")), actuated=actuated(web=resources("2", "128Mi")))
    assert list(cpu_only.containers_to_update) == ["cpu"]


def test_a_container_without_limits_has_those_of_the_pod() -> None:
    given = pod(resources={"limits": {"memory": "1Gi"}})
    actions = compute_pod_actions(
        given, status(record("web")), actuated_pod=ResourceRequirements.from_json({"limits": {"memory": "512Mi"}})
    )
    assert actions.update_pod_level_resources
    (update,) = actions.containers_to_update["memory"]
    assert (update.current.memory_limit, update.desired.memory_limit) == (512 << 20, 1 << 30)


def test_an_ephemeral_container_starts_immediately_and_only_once() -> None:
    given = pod(initContainers=init("one"), ephemeralContainers=[{"name": "debug", "image": "busybox"}])
    assert names(compute_pod_actions(given, status(record("one"))).ephemeral_containers_to_start) == ["debug"]
    ended = status(record("one"), record("debug", "exited", 1))
    assert compute_pod_actions(given, ended).ephemeral_containers_to_start == []


def test_nothing_starts_in_a_pod_that_is_being_deleted() -> None:
    given = pod()
    deleted = given.changed(metadata=given.metadata.changed(deletion_timestamp="2026-01-01T00:00:00Z"))
    actions = compute_pod_actions(deleted, status())
    assert actions.kill_pod
    assert actions.containers_to_start == []


def test_without_restart_rules_an_init_container_follows_the_pods_policy() -> None:
    off = FeatureGates({"ContainerRestartRules": False, "RestartAllContainersOnContainerExits": False})
    failed = status(record("a", "exited", 1))
    own = init("a", restartPolicy="OnFailure")
    assert names(compute_pod_actions(pod(initContainers=own, restartPolicy="Never"), failed).init_containers_to_start)
    assert compute_pod_actions(pod(initContainers=own, restartPolicy="Never"), failed, gates=off).kill_pod
    again = compute_pod_actions(pod(initContainers=own), failed, gates=off)
    assert names(again.init_containers_to_start) == ["a"]


def test_without_the_gate_the_pods_limits_are_not_the_containers() -> None:
    given = pod(resources={"limits": {"cpu": "2"}})
    off = FeatureGates({"InPlacePodLevelResourcesVerticalScaling": False})
    assert compute_pod_actions(given, status(record("web"))).containers_to_update
    assert not compute_pod_actions(given, status(record("web")), gates=off).containers_to_update


def test_the_same_amount_in_another_notation_is_not_a_resize() -> None:
    given = pod(containers=[{**WEB, "resources": {"requests": {"cpu": "1000m"}}}], resources={"limits": {"cpu": "2"}})
    applied = {"web": ResourceRequirements(requests={"cpu": "1"})}
    same = ResourceRequirements(limits={"cpu": "2000m"})
    actions = compute_pod_actions(given, status(), actuated=applied, actuated_pod=same)
    assert names(actions.containers_to_start) == ["web"]
    assert not actions.update_pod_resources
    other = {"web": ResourceRequirements(requests={"cpu": "2"})}
    assert compute_pod_actions(given, status(), actuated=other, actuated_pod=same).update_pod_resources


def test_init_containers_are_resized_only_with_their_gate() -> None:
    init = {"name": "init", "image": "nginx", "resources": {"requests": {"cpu": "2"}}}
    applied = {"init": ResourceRequirements(requests={"cpu": "1"})}
    given = pod(initContainers=[init])
    definition = Container.from_json(init)
    running = ContainerRecord("containerd://init", "init", "running", hash_container(definition))
    for gates, resized in ((FeatureGates(), ["cpu"]), (FeatureGates({_INIT_RESIZE: False}), [])):
        actions = compute_pod_actions(given, status(running), actuated=applied, gates=gates)
        assert [name for name, updates in actions.containers_to_update.items() if updates] == resized


def test_a_sidecar_with_another_image_keeps_running_in_v1_30() -> None:
    given = pod(initContainers=[{"name": "proxy", "image": "envoy:2", "restartPolicy": "Always"}])
    web, proxy = record("web"), record("proxy", image="envoy:1")
    actions = compute_pod_actions(given, status(web, proxy))
    assert kills(actions) == {"proxy": "Init container proxy definition changed"}
    assert names(actions.init_containers_to_start) == ["proxy"]
    actions = compute_pod_actions(given, status(hashed(web, given.spec.containers[0]), proxy), gates=V1_30)
    assert not actions.containers_to_kill
    assert not actions.init_containers_to_start


def test_a_created_init_container_is_awaited_in_v1_30() -> None:
    given, found = pod(initContainers=[{"name": "one"}]), status(record("one", "created"))
    assert names(compute_pod_actions(given, found).init_containers_to_start) == ["one"]
    actions = compute_pod_actions(given, found, gates=V1_30)
    assert actions.init_containers_to_start == []
    assert actions.why == ("init container one was created but did not start, and the kubelet waits for it",)


def test_any_change_of_a_container_restarts_it_in_v1_30() -> None:
    given = pod()
    running = hashed(record("web"), given.spec.containers[0])
    assert kills(compute_pod_actions(given, status(running), gates=V1_30)) == {}
    changed = pod(containers=[{**WEB, "env": [{"name": "A", "value": "b"}]}])
    actions = compute_pod_actions(changed, status(running), gates=V1_30)
    assert kills(actions) == {"web": "Container web definition changed, will be restarted"}
    assert actions.why == ("the definition of container web changed, so it is killed and started again",)


@pytest.mark.parametrize(
    ("records", "policy", "started", "killed", "why"),
    [
        ((), "Always", ["one"], False, "no init container has run yet, so one is started"),
        ((("one", "running", 0),), "Always", [], False, "init container one is running, so the rest of the pod waits"),
        ((("one", "exited", 0),), "Always", ["two"], False, "init container one is done, so two is started"),
        ((("two", "exited", 0),), "Always", [], False, "container web has not run yet, so it is started"),
        ((("one", "exited", 1),), "Always", ["one"], False, "init container one failed with 1, so one is started"),
        (
            (("one", "exited", 1), ("two", "exited", 2)),
            "OnFailure",
            ["two"],
            False,
            "init container two failed with 2, so two is started",
        ),
        (
            (("one", "exited", 1),),
            "Never",
            [],
            True,
            "init container one failed with 1 and restartPolicy is Never, so the whole pod is stopped",
        ),
        (
            (("one", "unknown", 0),),
            "Always",
            ["one"],
            False,
            "init container one is in unknown state, so one is started",
        ),
        ((("one", "created", 0),), "Always", ["one"], False, "no init container has run yet, so one is started"),
        ((("web", "running", 0),), "Always", [], False, "nothing to do: web is running and unchanged"),
    ],
)
def test_one_init_container_at_a_time_without_the_gate_of_sidecars(
    records: tuple[tuple[str, str, int], ...], policy: str, started: list[str], killed: bool, why: str
) -> None:
    given = pod(initContainers=[{"name": "one"}, {"name": "two"}], restartPolicy=policy)
    gates = FeatureGates({"SidecarContainers": False}, "v1.30")
    found = [hashed(record(*each), given.spec.containers[0]) for each in records]
    actions = compute_pod_actions(given, status(*found), gates=gates)
    assert (names(actions.init_containers_to_start), actions.kill_pod, actions.why) == (started, killed, (why,))
    assert [kill.name for kill in actions.containers_to_kill.values()] == [n for n, s, _ in records if s == "unknown"]


def test_an_initialized_pod_that_succeeded_gets_no_new_sandbox_without_the_gate_of_sidecars() -> None:
    given = pod(initContainers=[{"name": "one"}], restartPolicy="OnFailure")
    gates = FeatureGates({"SidecarContainers": False}, "v1.30")
    dead = SandboxRecord("sb", ready=False)
    done, fresh = record("web", "exited"), record("one", "exited")
    assert not compute_pod_actions(given, status(done, fresh, sandbox=dead), gates=gates).create_sandbox
    assert compute_pod_actions(given, status(done, sandbox=dead), gates=gates).create_sandbox


def test_records_of_an_old_sandbox_prove_no_initialization_in_v1_37() -> None:
    """After a reboot the first init container ran again; web was created before it and never started."""
    given = pod(initContainers=[{"name": "fetch", "image": "nginx"}, {"name": "migrate", "image": "nginx"}])
    found = status(record("fetch", "exited"), replace(record("web", "created"), active=False))
    assert names(compute_pod_actions(given, found).containers_to_start) == ["web"]
    newer = compute_pod_actions(given, found, gates=FeatureGates(profile="v1.37"))
    assert names(newer.init_containers_to_start) == ["migrate"]
    assert not newer.containers_to_start


def test_a_container_in_the_current_sandbox_proves_initialization_in_v1_37() -> None:
    """Even an exited one: the records of init containers may have been removed."""
    given = pod(initContainers=[{"name": "fetch", "image": "nginx"}])
    newer = compute_pod_actions(given, status(record("web", "exited", 1)), gates=FeatureGates(profile="v1.37"))
    assert not newer.init_containers_to_start
    assert names(newer.containers_to_start) == ["web"]
    assert names(compute_pod_actions(given, status(record("web", "exited", 1))).init_containers_to_start) == ["fetch"]


def test_a_v1_6_kubelet_does_not_repeat_init_containers_in_a_new_sandbox() -> None:
    gates = FeatureGates(profile="v1.6")
    two = pod(initContainers=[{"name": "one"}, {"name": "two"}])
    dead = replace(READY, ready=False)
    done = status(record("one", "exited"), record("two", "exited"), sandbox=dead)
    actions = compute_pod_actions(two, done, gates=gates)
    assert (actions.create_sandbox, names(actions.init_containers_to_start)) == (True, [])
    assert names(actions.containers_to_start) == ["web"]
    half = compute_pod_actions(two, status(record("one", "exited"), sandbox=dead), gates=gates)
    assert (names(half.init_containers_to_start), names(half.containers_to_start)) == (["two"], [])
    again = compute_pod_actions(two, done)
    assert names(again.init_containers_to_start) == ["one"]


def test_for_older_kubelets_a_running_container_does_not_show_that_init_containers_have_run() -> None:
    initialized = pod(initContainers=[{"name": "one"}])
    found = status(hashed(record("web"), Container(name="web", image="nginx")))
    for profile, expected in (("v1.6", ["one"]), ("v1.12", ["one"]), ("v1.30", [])):
        actions = compute_pod_actions(initialized, found, gates=FeatureGates(profile=profile))
        assert names(actions.init_containers_to_start) == expected
        assert not kills(actions)


def test_an_old_kubelet_creates_an_empty_new_sandbox_for_a_pod_that_never_restarts() -> None:
    gone = SandboxRecord("sb", ready=False)
    old = FeatureGates(profile="v1.12")
    actions = compute_pod_actions(pod(restartPolicy="Never"), status(record("web", "exited"), sandbox=gone), gates=old)
    assert (actions.create_sandbox, names(actions.containers_to_start)) == (True, [])
    assert actions.why[0].endswith("restartPolicy is Never, so nothing is started in it now")

"""The twin: the pods of a watched node, run by our own kubelet in a cluster of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.app import Simulation
from kubesim.attach.watch.twin import Twin, desired, twin_scenario
from kubesim.clock import LoopClock, run_virtual
from kubesim.clock.clock import VIRTUAL_START
from kubesim.concurrency import TaskSet
from kubesim.trace.recorder import MemorySink
from kubesim.trace.records import Handler
from tests.support.attach.pods import node, pod, running, terminated
from tests.support.attach.watching import Watching, scenario, watched

MIRROR = {"annotations": {"kubernetes.io/config.mirror": "h"}}


def with_twin(play: Callable[[Twin, LoopClock], Awaitable[None]]) -> list[Handler]:
    """What the handlers of the twin's kubelet were told."""
    trace = MemorySink()

    async def main() -> None:
        async with TaskSet() as tasks:
            simulation = Simulation(twin_scenario("n1", node("True")), 0, tasks)
            simulation.recorder.add(trace)
            for each in simulation.nodes.values():
                each.start()

            async def run() -> None:
                await simulation.clock.sleep(20 * SECOND)
                await play(Twin(simulation.store), simulation.clock)

            await tasks.run_until(run())

    run_virtual(main)
    return [record for record in trace.records if isinstance(record, Handler)]


def test_a_pod_lives_and_goes_with_the_real_one() -> None:
    async def play(twin: Twin, clock: LoopClock) -> None:
        subject = pod(running())
        twin.saw(subject)
        assert twin.in_words(subject) == "Pending"
        await clock.sleep(10 * SECOND)
        assert twin.in_words(subject) == "Running main:running"
        going = {"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30}
        twin.saw(pod(running(), metadata=going))
        await clock.sleep(40 * SECOND)
        assert twin.in_words(subject) == "-"
        twin.lost(subject)
        assert twin.find(subject) is None

    with_twin(play)


def test_another_pod_of_the_same_name_takes_its_place() -> None:
    async def play(twin: Twin, clock: LoopClock) -> None:
        twin.saw(pod(running()))
        await clock.sleep(10 * SECOND)
        other = pod(running(), metadata={"uid": "u2"})
        twin.saw(other)
        assert twin.in_words(other) == "Pending"

    with_twin(play)


def test_static_and_finished_pods_have_none() -> None:
    async def play(twin: Twin, clock: LoopClock) -> None:
        over = pod(terminated(0), metadata={"name": "over"}, status={"phase": "Succeeded"})
        mirror = pod(running(), metadata=MIRROR)
        twin.saw(mirror)
        assert twin.find(mirror) is None
        twin.saw(over)
        assert twin.in_words(over) == "-"

    with_twin(play)


def test_what_is_not_read_from_the_cluster_is_left_out() -> None:
    secret = {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    container = {
        "name": "main",
        "image": "x",
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "envFrom": [{"secretRef": {"name": "s"}}],
        "env": [{"name": "A", "value": "1"}, secret],
    }
    spec = {
        "containers": [container],
        "volumes": [{"name": "v", "secret": {"secretName": "s"}}],
        "priorityClassName": "p",
    }
    copied = Pod.from_json(desired(pod(running(), spec=spec)))
    (main,) = copied.spec.containers
    assert copied.spec.volumes == main.volume_mounts == main.env_from == ()
    assert [variable.name for variable in main.env] == ["A"]
    assert copied.spec.priority_class_name == ""


def real(*, image: str = "nginx:1.27", cpu: str = "", spec: dict[str, Any] | None = None, **metadata: Any) -> Pod:
    container: dict[str, Any] = {"name": "main", "image": image, "imagePullPolicy": "IfNotPresent"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    return pod(running(), spec={"containers": [container], **(spec or {})}, metadata=metadata)


def follow_change(first: Pod, then: Pod) -> tuple[Pod, Pod, set[str]]:
    """The twin before and ten seconds after the real pod changed, and which handlers were called for it."""
    found: list[Pod] = []

    async def play(twin: Twin, clock: LoopClock) -> None:
        for observed in (first, then):
            twin.saw(observed)
            await clock.sleep(10 * SECOND)
            ours = twin.find(observed)
            assert ours is not None
            found.append(ours)

    handled = with_twin(play)
    before, after = found
    return before, after, {record.name for record in handled if record.pods}


def test_other_labels_and_annotations_are_the_twins_too() -> None:
    before, after, handled = follow_change(real(), real(labels={"a": "b"}, annotations={"c": "d"}))
    assert before.metadata.labels == {}
    assert (after.metadata.labels, after.metadata.annotations) == ({"a": "b"}, {"c": "d"})
    assert "HandlePodUpdates" in handled
    assert after.status.container_statuses[0].restart_count == 0


def test_another_image_restarts_the_container() -> None:
    before, after, handled = follow_change(real(), real(image="nginx:1.28"))
    assert before.status.container_statuses[0].image.endswith("nginx:1.27")
    assert after.status.container_statuses[0].image.endswith("nginx:1.28")
    assert after.status.container_statuses[0].restart_count == 1
    assert after.metadata.generation == before.metadata.generation + 1
    assert "HandlePodUpdates" in handled


def test_a_resize_is_carried_out_without_a_restart() -> None:
    before, after, _ = follow_change(real(cpu="100m"), real(cpu="200m"))
    told = [one.status.container_statuses[0] for one in (before, after)]
    assert [status.to_json()["resources"]["requests"]["cpu"] for status in told] == ["100m", "200m"]
    assert told[1].restart_count == 0


def test_an_ephemeral_container_runs_in_the_twin() -> None:
    debugger = {"name": "debug", "image": "busybox", "command": ["sleep", "100"]}
    _, after, _ = follow_change(real(), real(spec={"ephemeralContainers": [debugger]}))
    assert after.status.ephemeral_container_statuses[0].state.running is not None


def test_a_deadline_that_is_set_later_ends_the_twin() -> None:
    _, after, _ = follow_change(real(), real(spec={"activeDeadlineSeconds": 12}))
    assert (after.status.phase, after.status.reason) == ("Failed", "DeadlineExceeded")


def test_a_status_that_changes_is_not_the_twins() -> None:
    crashed = pod(terminated(1), spec=real().spec.to_json())
    before, after, handled = follow_change(real(), crashed)
    assert "HandlePodUpdates" not in handled
    assert after.metadata.resource_version == before.metadata.resource_version


def test_the_agent_tells_the_twin_of_every_change() -> None:
    found: list[object] = []

    async def change(watching: Watching) -> None:
        clock, store = watching.simulation.clock, watching.simulation.store
        await clock.sleep_until(VIRTUAL_START + 10 * SECOND)
        mirror = Simulation(twin_scenario("node-1", None), 0, watching.tasks)
        twin = Twin(mirror.store)
        watching.agent.followed_by(twin)
        ours = next(one for one in store.list("Pod") if isinstance(one, Pod))
        store.replace(ours.changed(metadata=ours.metadata.changed(labels={"new": "yes"})))
        await clock.sleep(1 * SECOND)
        copied = twin.find(ours)
        found.append(copied and copied.metadata.labels)
        store.delete("Pod", ours.metadata.namespace, ours.metadata.name, grace_s=0)
        await clock.sleep(1 * SECOND)
        found.append(twin.find(ours))

    watched(scenario("hello-pod"), meanwhile=change, until=20 * SECOND)
    assert found == [{"new": "yes"}, None]

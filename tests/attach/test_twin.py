"""The twin: the pods of a watched node, run by our own kubelet in a cluster of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.app import Simulation
from kubesim.attach.twin import Twin, desired, twin_scenario
from kubesim.clock import LoopClock, run_virtual
from kubesim.concurrency import TaskSet
from tests.attach.pods import node, pod, running, terminated

MIRROR = {"annotations": {"kubernetes.io/config.mirror": "h"}}


def with_twin(play: Callable[[Twin, LoopClock], Awaitable[None]]) -> None:
    async def main() -> None:
        async with TaskSet() as tasks:
            simulation = Simulation(twin_scenario("n1", node("True")), 0, tasks)
            for each in simulation.nodes.values():
                each.start()

            async def run() -> None:
                await simulation.clock.sleep(20 * SECOND)
                await play(Twin(simulation.store), simulation.clock)

            await tasks.run_until(run())

    run_virtual(main)


def test_a_pod_lives_and_goes_with_the_real_one() -> None:
    async def play(twin: Twin, clock: LoopClock) -> None:
        subject = pod(running())
        twin.follow([subject])
        assert twin.in_words(subject) == "Pending"
        await clock.sleep(10 * SECOND)
        assert twin.in_words(subject) == "Running main:running"
        going = {"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30}
        twin.follow([pod(running(), metadata=going)])
        await clock.sleep(40 * SECOND)
        assert twin.in_words(subject) == "-"
        twin.follow([])
        assert twin.find(subject) is None

    with_twin(play)


def test_another_pod_of_the_same_name_takes_its_place() -> None:
    async def play(twin: Twin, clock: LoopClock) -> None:
        twin.follow([pod(running())])
        await clock.sleep(10 * SECOND)
        other = pod(running(), metadata={"uid": "u2"})
        twin.follow([other])
        assert twin.in_words(other) == "Pending"

    with_twin(play)


def test_static_and_finished_pods_have_none() -> None:
    async def play(twin: Twin, clock: LoopClock) -> None:
        over = pod(terminated(0), metadata={"name": "over"}, status={"phase": "Succeeded"})
        twin.follow([pod(running(), metadata=MIRROR), over])
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

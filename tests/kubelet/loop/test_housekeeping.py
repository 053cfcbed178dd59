"""Housekeeping: unknown pods are stopped, a reused UID may start again, and nothing happens too early."""

from __future__ import annotations

from kubesim.api.timestamps import SECOND
from kubesim.app import Simulation
from kubesim.clock import run_virtual
from kubesim.concurrency import TaskSet
from kubesim.errors import RuntimeCallError
from kubesim.runtime.kuberuntime.labels import POD_NAME
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.object_items import Delete
from kubesim.trace.records import CriCall
from tests.support.played import Played, pod


def test_a_pod_known_only_to_the_runtime_is_stopped_with_two_seconds_of_grace() -> None:
    """The object was deleted while no kubelet ran to be notified."""
    story = Played(
        {"at": "10s", "stop": "kubelet"},
        {"at": "12s", "delete": {"pod": "web", "gracePeriodSeconds": 0}},
        {"at": "20s", "start": "kubelet"},
        objects=[pod("web", terminationGracePeriodSeconds=30, command=["sleep", "100000"])],
    )
    (stopped,) = (r for r in story.records if isinstance(r, CriCall) and r.call == "StopContainer")
    assert stopped.args["timeout"] == 2  # one second was requested, but the minimum is two
    assert stopped.t > 20_000_000
    assert story.result.phases == {"default/web": "Running"}


def test_dead_containers_of_a_pod_known_only_to_the_runtime_are_not_removed() -> None:
    """kuberuntime_manager.go GetPods(all=false), kuberuntime_container.go listOptions.onlyRunningReady."""
    commands = {"dead": ["true"], "alive": ["sleep", "100000"]}
    containers = [{"name": name, "image": "busybox:1", "command": command} for name, command in commands.items()]
    story = Played(
        {"at": "10s", "stop": "kubelet"},
        {"at": "12s", "delete": {"pod": "web", "gracePeriodSeconds": 0}},
        {"at": "20s", "start": "kubelet"},
        objects=[pod("web", restartPolicy="Never", containers=containers)],
    )
    assert story.when(CriCall, "web", call="StopContainer", container="dead") == []
    assert len(story.when(CriCall, "web", call="StopContainer", container="alive")) == 1


def test_nothing_is_cleaned_up_before_every_source_reported() -> None:
    """A new kubelet that cannot reach the API server does not stop running pods, whether or not they are desired."""

    async def main() -> list[tuple[int, int]]:
        async with TaskSet() as tasks:
            simulation = Simulation(Scenario.model_validate({"metadata": {"name": "cut"}}), 0, tasks)
            return await tasks.run_until(cut_off(simulation))  # type: ignore[no-any-return]

    assert run_virtual(main) == [(10, 1), (100, 1), (120, 0)]


async def cut_off(simulation: Simulation) -> list[tuple[int, int]]:
    """The number of running containers at several times."""
    clock, node = simulation.clock, simulation.nodes["node-1"]
    seen = []

    async def look() -> None:
        running = [info for info in await node.runtime.list_containers() if info.state == "running"]
        seen.append((clock.elapsed() // SECOND, len(running)))

    node.start()
    simulation.world.apply(pod("web"))
    await clock.sleep(10 * SECOND)
    await look()
    await node.stop_kubelet()
    node.api.cut()
    simulation.world.delete(Delete.model_validate({"pod": "web", "gracePeriodSeconds": 0}))
    node.start()
    await clock.sleep(90 * SECOND)
    await look()
    node.api.restore()
    await clock.sleep(20 * SECOND)
    await look()
    await node.close()
    return seen


def test_a_static_pod_that_returns_with_the_same_uid_starts_again() -> None:
    """Its worker still terminates the first pod; then housekeeping lets the new one start."""
    manifest = pod("web", terminationGracePeriodSeconds=5, command=["sleep", "100000"])
    manifest["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555"
    story = Played(
        {"at": "5s", "writeStaticPod": {"file": "web.yaml", "manifest": manifest}},
        {"at": "20s", "removeStaticPod": {"file": "web.yaml"}},
        {"at": "22s", "writeStaticPod": {"file": "web.yaml", "manifest": manifest}},
    )
    first, second = story.when(CriCall, "web-node-1", call="StartContainer")
    assert first < 10
    assert 25 < second < 35
    assert story.result.phases == {"default/web-node-1": "Running"}


def test_a_failed_removal_does_not_block_others() -> None:
    """kuberuntime_gc.go GarbageCollect, removeOldestN, removeSandbox: each failure counts for itself alone."""

    async def main() -> tuple[list[str], list[str]]:
        async with TaskSet() as tasks:
            simulation = Simulation(Scenario.model_validate({"metadata": {"name": "gc"}}), 0, tasks)
            return await tasks.run_until(collect(simulation))  # type: ignore[no-any-return]

    async def collect(simulation: Simulation) -> tuple[list[str], list[str]]:
        clock, node = simulation.clock, simulation.nodes["node-1"]
        left: list[list[str]] = []
        node.start()
        for name in ("one", "two"):
            simulation.world.apply(pod(name, command=["true"], restartPolicy="Never"))
        await clock.sleep(10 * SECOND)
        runtime = node.runtime
        stuck = next(info.id for info in await runtime.list_containers() if info.labels[POD_NAME] == "one")
        remove = runtime.remove_container

        async def remove_container(container_id: str) -> None:
            if container_id == stuck and clock.elapsed() < 100 * SECOND:
                raise RuntimeCallError("device or resource busy")
            await remove(container_id)

        runtime.remove_container = remove_container  # type: ignore[method-assign]
        for name in ("one", "two"):
            simulation.world.delete(Delete.model_validate({"pod": name, "gracePeriodSeconds": 0}))
        for _ in range(2):
            await clock.sleep(70 * SECOND)
            left.append(sorted(info.pod_name for info in await runtime.list_pod_sandboxes()))
        await node.close()
        return left[0], left[1]

    assert run_virtual(main) == (["one"], [])

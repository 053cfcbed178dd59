"""Which probe workers exist, and when they are stopped."""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import run_virtual
from kubesim.concurrency import TaskSet
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.probes.manager import ProbeManager
from kubesim.podworkers.syncer import SyncContext
from kubesim.trace import trace_hash
from tests.support.probes import EXEC, Node, pod


def manager_of(node: Node, tasks: TaskSet, gates: FeatureGates = DEFAULT_GATES) -> ProbeManager:
    return ProbeManager(
        node.clock,
        tasks,
        node.recorder,
        node.prober,
        lambda uid: node.status,
        node.randomness,
        jitter=False,
        gates=gates,
    )


def pod_with_sidecar(uid: str = "u1") -> Pod:
    probes = {"startupProbe": EXEC, "readinessProbe": EXEC, "livenessProbe": EXEC}
    return Pod.from_json(
        {
            "metadata": {"name": "p", "namespace": "ns", "uid": uid},
            "spec": {
                "containers": [{"name": "web", **probes}, {"name": "quiet"}],
                "initContainers": [
                    {"name": "plain", **probes},
                    {"name": "side", "restartPolicy": "Always", "livenessProbe": EXEC},
                ],
            },
        }
    )


def names(manager: ProbeManager) -> list[tuple[str, str]]:
    return [(worker.subject.container.name, worker.subject.probe_type) for worker in manager.workers()]


ALL = [("web", "startup"), ("web", "readiness"), ("web", "liveness"), ("side", "liveness")]


def test_every_probe_of_regular_containers_and_sidecars_has_one_worker() -> None:
    async def main() -> None:
        node = Node()
        async with TaskSet() as tasks:
            manager = manager_of(node, tasks)
            manager.add_pod(pod_with_sidecar())
            manager.add_pod(pod_with_sidecar())
            assert names(manager) == ALL
            assert len(tasks) == 4
            assert manager.workers_of("u1") == set(ALL)
            assert manager.workers_of("u2") == set()

    run_virtual(main)


def test_an_existing_worker_stops_the_adding_of_others() -> None:
    async def main() -> None:
        node = Node()
        async with TaskSet() as tasks:
            manager = manager_of(node, tasks)
            manager.add_pod(pod_with_sidecar())
            await node.clock.sleep(SECOND)
            manager.stop_liveness_and_startup(pod_with_sidecar())
            await node.clock.sleep(SECOND)
            assert names(manager) == [("web", "readiness"), ("side", "liveness")]
            manager.add_pod(pod_with_sidecar())
            assert names(manager) == [("web", "readiness"), ("side", "liveness"), ("web", "startup")]

    run_virtual(main)


def test_remove_and_clean_up() -> None:
    async def main() -> None:
        node = Node()
        async with TaskSet() as tasks:
            manager = manager_of(node, tasks)
            for uid in ("u1", "u2", "u3"):
                manager.add_pod(pod_with_sidecar(uid))
            await node.clock.sleep(SECOND)
            manager.remove_pod(pod_with_sidecar("u2"))
            manager.remove_pod(pod_with_sidecar("u2"))
            manager.cleanup_pods(lambda uid: uid == "u1")
            await node.clock.sleep(SECOND)
            assert [worker.subject.pod.metadata.uid for worker in manager.workers()] == ["u1"] * 4
            assert manager.workers_of("u2") == frozenset()
            assert len(tasks) == 4

    run_virtual(main)


def test_a_trigger_runs_readiness_immediately_and_may_have_no_worker() -> None:
    async def main() -> None:
        node = Node("failure")
        async with TaskSet() as tasks:
            manager = manager_of(node, tasks)
            manager.add_pod(pod(readinessProbe=EXEC))
            await node.clock.sleep(3 * SECOND)
            assert manager.trigger_readiness("u1", "web")
            assert not manager.trigger_readiness("u1", "other")
            assert not manager.trigger_readiness("u2", "web")
            await node.clock.sleep(SECOND)
            assert node.prober.asked == [0, 3 * SECOND]
            assert manager.readiness.by_id == {"containerd://1": "failure"}

    run_virtual(main)


def test_the_same_seed_gives_the_same_trace() -> None:
    async def main(seed: int) -> str:
        node = Node("success", "failure", seed=seed)
        async with TaskSet() as tasks:
            manager = ProbeManager(
                node.clock, tasks, node.recorder, node.prober, lambda uid: node.status, node.randomness
            )
            for uid in ("u1", "u2", "u3"):
                manager.add_pod(pod_with_sidecar(uid))
            await node.clock.sleep(100 * SECOND)
        return trace_hash(node.sink.records)

    assert run_virtual(main, 1) == run_virtual(main, 1)
    assert run_virtual(main, 1) != run_virtual(main, 2)


def test_the_end_of_a_sync_cancels_exec_probes_but_not_in_v1_37() -> None:
    def context_in(profile: str) -> object:
        async def main() -> object:
            node = Node()
            async with TaskSet() as tasks:
                manager = manager_of(node, tasks, FeatureGates(profile=profile))
                manager.add_pod(pod_with_sidecar(), sync)
                return next(manager.workers()).subject.context

        return run_virtual(main)

    sync = SyncContext()
    assert context_in("v1.36") is sync
    assert context_in("v1.37") is None

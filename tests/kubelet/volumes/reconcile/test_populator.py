"""Cases adapted from upstream's desired_state_of_world_populator_test.go."""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.cluster.problems import not_found
from kubesim.cluster.store.kinds import resource_of
from kubesim.kubelet.loop.pod_manager import PodManager
from kubesim.kubelet.volumes.reconcile.actual_state import ActualStateOfWorld, MountedVolume
from kubesim.kubelet.volumes.reconcile.desired_state import DesiredStateOfWorld
from kubesim.kubelet.volumes.reconcile.populator import DesiredStateOfWorldPopulator
from kubesim.podworkers.sync_status import PodSyncStatus, PodWorkerQueries

CONFIG = {"name": "config", "configMap": {"name": "cm"}}
CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}
UNUSED = {"name": "unused", "emptyDir": {}}
NAME = "kubernetes.io/configmap/u-config"
MISSING = 'error processing PVC ns/c: failed to fetch PVC from API server: persistentvolumeclaims "c" not found'


class Bench:
    """One pod that is known to a worker."""

    def __init__(self, *volumes: dict[str, Any]) -> None:
        mounts = [{"name": v["name"], "mountPath": f"/{v['name']}"} for v in volumes if v is not UNUSED]
        spec = {"volumes": list(volumes), "containers": [{"name": "c", "volumeMounts": mounts}]}
        self.pod = Pod.from_json({"metadata": {"name": "web", "namespace": "ns", "uid": "u"}, "spec": spec})
        self.pods, self.states = PodManager(), PodWorkerQueries()
        self.pods.update(self.pod)
        self.states.statuses["u"] = self.status = PodSyncStatus("web_ns", 0)
        self.desired, self.actual = DesiredStateOfWorld(), ActualStateOfWorld()
        self.claims: dict[str, dict[str, Any]] = {}
        self.touched: list[str] = []
        self.populator = DesiredStateOfWorldPopulator(
            self.pods,
            self.states,
            self.desired,
            self.actual,
            self.read,
            lambda uid, name: self.touched.append(name),
            lambda volume: False,
        )

    def read(self, kind: str, namespace: str, name: str) -> ApiObject:
        raise not_found(resource_of(kind), name)

    def loop(self) -> list[str]:
        """The volumes that one round marks as changed."""
        self.touched.clear()
        self.populator.loop(sources_ready=True)
        return list(self.touched)

    def mount(self) -> None:
        for volume in list(self.desired.volumes()):
            self.actual.add_pod_to_volume("u", MountedVolume(volume.volume_name, volume.plugin))


def test_a_new_pod_gets_the_volumes_that_it_uses() -> None:
    bench = Bench(CONFIG, UNUSED)
    bench.populator.pod_added("u")
    assert bench.loop() == [NAME]
    assert list(bench.desired.volumes_of("u")) == [NAME]
    assert not bench.populator.loop(sources_ready=True)


def test_a_sync_requests_the_set_up_again() -> None:
    bench = Bench(CONFIG)
    bench.populator.pod_added("u")
    bench.loop()
    bench.mount()
    bench.populator.reprocess_pod("u")
    assert bench.loop() == [NAME, NAME]
    assert bench.actual.volumes_of("u")[NAME].remount_required


def test_a_volume_that_cannot_be_added_is_retried_each_round_until_a_sync_asks_and_then_once_for_each_sync() -> None:
    bench = Bench(CONFIG, CLAIM)
    bench.populator.pod_added("u")
    for _ in range(3):
        assert bench.loop() == [NAME]
    assert bench.desired.pop_pod_errors("u") == [MISSING]
    for _ in range(2):
        bench.populator.reprocess_pod("u")
        bench.loop()
        assert bench.desired.pop_pod_errors("u") == [MISSING]
        assert not bench.populator.loop(sources_ready=True)
        assert bench.desired.pop_pod_errors("u") == []


def test_a_terminating_pod_gets_no_new_volumes() -> None:
    bench = Bench(CONFIG)
    bench.populator.loop(sources_ready=True)
    bench.status.terminating_at, bench.status.started_terminating = 1, True
    bench.populator.pod_added("u")
    assert bench.loop() == []


def test_before_all_sources_reported_a_terminating_pod_may_still_run() -> None:
    bench = Bench(CONFIG)
    bench.status.terminating_at, bench.status.started_terminating = 1, True
    bench.populator.pod_added("u")
    bench.populator.loop(sources_ready=False)
    assert list(bench.desired.volumes_of("u")) == [NAME]
    assert not bench.populator.has_added_pods


def test_volumes_are_removed_when_the_containers_have_stopped() -> None:
    bench = Bench(CONFIG)
    bench.populator.pod_added("u")
    bench.loop()
    bench.mount()
    bench.status.terminating_at = 1
    bench.populator.pod_may_be_over("u")
    assert bench.loop() == []
    bench.status.terminated_at = 2
    bench.populator.pod_may_be_over("u")
    assert bench.loop() == [NAME]
    assert not bench.desired.volumes_of("u")


def test_a_volume_that_was_never_mounted_is_desired_until_its_pod_is_deleted() -> None:
    bench = Bench(CONFIG)
    bench.populator.pod_added("u")
    bench.loop()
    bench.status.terminating_at, bench.status.terminated_at = 1, 2
    bench.populator.pod_may_be_over("u")
    assert bench.loop() == []
    assert bench.desired.volumes_of("u")
    bench.pods.remove(bench.pod)
    bench.populator.pod_may_be_over("u")
    assert bench.loop() == [NAME]
    assert not bench.desired.volumes_of("u")

"""ConfigMaps and Secrets of registered pods; cases after upstream's watch_based_manager_test.go and
cache_based_manager_test.go."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.cluster.connection import ApiConnection
from kubesim.cluster.store.object_watch import MemoryObjectWatcher
from kubesim.cluster.store.store import Store
from kubesim.kubelet.volumes.object_manager import (
    NotListedYet,
    ObjectManager,
    ObjectNotFound,
    ObjectUnavailable,
    environment_references,
    pull_secret_references,
    volume_references,
)


def make_pod(uid: str, **spec: Any) -> Pod:
    return Pod.from_json({"metadata": {"name": uid, "namespace": "ns", "uid": uid}, "spec": spec})


def with_volume(uid: str, name: str) -> Pod:
    return make_pod(uid, volumes=[{"name": "v", "configMap": {"name": name}}])


def with_variable(uid: str, name: str) -> Pod:
    return make_pod(uid, containers=[{"name": "c", "envFrom": [{"configMapRef": {"name": name}}]}])


class Bench:
    def __init__(self) -> None:
        self.clock = LoopClock(0)
        self.store = Store(self.clock.now, lambda: "uid")
        self.api = ApiConnection()
        self.changed: list[str] = []
        self.watcher = MemoryObjectWatcher(self.clock, self.store, self.api)
        self.manager = ObjectManager(self.clock, self.watcher, lambda uid, in_volume: self.changed.append(uid))

    def write(self, name: str, value: str) -> None:
        obj = ApiObject.from_json(
            {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns"}, "data": {"k": value}}
        )
        old = self.store.find("ConfigMap", "ns", name)
        if old is None:
            self.store.create(obj)
        else:
            self.store.write(old, obj.changed(metadata=old.metadata))

    def value(self, name: str) -> str:
        found = self.manager.get("ConfigMap", "ns", name)
        return str(found.extra["data"]["k"])

    async def after(self, ms: int) -> None:
        await self.clock.sleep(ms * MILLISECOND)


def on_a_bench(test: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        await test(Bench())

    run_virtual(main)


def test_an_object_without_a_registered_pod_is_an_error() -> None:
    async def test(bench: Bench) -> None:
        bench.write("cm", "1")
        with pytest.raises(ObjectUnavailable, match=r'^object "ns"/"cm" not registered$'):
            bench.manager.get("ConfigMap", "ns", "cm")

    on_a_bench(test)


def test_an_object_is_listed_first_and_then_watched() -> None:
    async def test(bench: Bench) -> None:
        bench.write("cm", "1")
        bench.manager.register_pod(with_volume("a", "cm"))
        with pytest.raises(NotListedYet):
            bench.manager.get("ConfigMap", "ns", "cm")
        await bench.after(2)
        assert bench.value("cm") == "1"
        bench.write("cm", "2")
        assert bench.value("cm") == "1"
        await bench.after(5)
        assert bench.value("cm") == "2"
        bench.store.remove("ConfigMap", "ns", "cm")
        await bench.after(5)
        with pytest.raises(ObjectNotFound, match=r'^configmap "cm" not found$'):
            bench.manager.get("ConfigMap", "ns", "cm")
        assert bench.changed == ["a", "a"]

    on_a_bench(test)


def test_a_change_is_reported_for_volumes_and_only_after_the_first_list() -> None:
    async def test(bench: Bench) -> None:
        for uid, make in (("a", with_volume), ("b", with_variable), ("c", with_volume)):
            bench.manager.register_pod(make(uid, "cm"))
        await bench.after(2)
        assert bench.changed == []
        bench.write("cm", "1")
        bench.write("other", "1")
        await bench.after(5)
        assert bench.changed == ["a", "c"]

    on_a_bench(test)


def test_an_object_is_watched_while_a_pod_refers_to_it() -> None:
    async def test(bench: Bench) -> None:
        bench.write("cm", "1")
        for uid in ("a", "b"):
            bench.manager.register_pod(with_volume(uid, "cm"))
        await bench.after(2)
        bench.manager.unregister_pod("a")
        assert bench.value("cm") == "1"
        bench.manager.register_pod(with_volume("b", "other"))
        assert len(bench.manager) == 1
        with pytest.raises(ObjectUnavailable, match="not registered"):
            bench.value("cm")
        bench.manager.unregister_pod("b")
        bench.manager.unregister_pod("b")
        assert len(bench.manager) == 0

    on_a_bench(test)


def test_a_list_is_awaited_for_at_most_a_second() -> None:
    async def test(bench: Bench) -> None:
        key = ("ConfigMap", "ns", "cm")
        bench.manager.register_pod(with_volume("a", "cm"))
        assert await bench.manager.wait_until_listed(key)
        assert bench.clock.now() == 2 * MILLISECOND
        bench.manager.unregister_pod("a")
        bench.api.cut()
        bench.manager.register_pod(with_volume("a", "cm"))
        assert not await bench.manager.wait_until_listed(key)
        assert bench.clock.now() == SECOND + 2 * MILLISECOND

    on_a_bench(test)


def test_changes_during_a_disconnection_arrive_afterwards() -> None:
    async def test(bench: Bench) -> None:
        bench.write("cm", "1")
        bench.manager.register_pod(with_volume("a", "cm"))
        await bench.after(2)
        bench.api.cut()
        bench.write("cm", "2")
        await bench.after(60_000)
        assert bench.value("cm") == "1"
        bench.api.restore()
        await bench.after(1000)
        assert bench.value("cm") == "2"
        assert bench.changed == ["a"]

    on_a_bench(test)


def test_a_stopped_agent_gets_no_changes() -> None:
    async def test(bench: Bench) -> None:
        bench.write("cm", "1")
        bench.manager.register_pod(with_volume("a", "cm"))
        await bench.after(2)
        bench.write("cm", "2")
        bench.watcher.stop()
        await bench.after(5)
        assert bench.value("cm") == "1"

    on_a_bench(test)


def test_references_to_objects_in_a_pod() -> None:
    def ref(kind: str) -> dict[str, Any]:
        return {"name": kind, "valueFrom": {f"{kind}KeyRef": {"name": f"env-{kind}", "key": "k"}}}

    sources = [{"secret": {"name": "p-s"}}, {"configMap": {"name": "p-cm"}}, {"downwardAPI": {}}]
    pod = make_pod(
        "a",
        imagePullSecrets=[{"name": "pull"}],
        volumes=[
            {"name": "1", "secret": {"secretName": "v-s"}},
            {"name": "2", "projected": {"sources": sources}},
            {"name": "3", "csi": {"nodePublishSecretRef": {"name": "csi-s"}}},
            {"name": "4", "emptyDir": {}},
        ],
        initContainers=[{"name": "i", "env": [ref("secret")]}],
        containers=[{"name": "c", "env": [ref("configMap")], "envFrom": [{"secretRef": {"name": "from-s"}}]}],
    )
    assert [name for _, _, name in volume_references(pod)] == ["v-s", "p-s", "p-cm", "csi-s"]
    assert [name for _, _, name in pull_secret_references(pod)] == ["pull"]
    assert [name for _, _, name in environment_references(pod)] == ["env-secret", "from-s", "env-configMap"]

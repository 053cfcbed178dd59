"""An informer: all objects of one kind."""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.cluster.connection import ApiConnection
from kubesim.cluster.store.informer import MemoryInformer
from kubesim.cluster.store.store import Store


def service(name: str) -> ApiObject:
    return ApiObject.from_json({"kind": "Service", "metadata": {"name": name, "namespace": "d"}})


class Watched:
    def __init__(self) -> None:
        self.clock = LoopClock()
        self.store = Store(self.clock.now, lambda: "uid")
        self.connection = ApiConnection()
        self.informer = MemoryInformer(self.clock, self.store, "Service", self.connection)

    def has_synced(self) -> bool:
        return self.informer.has_synced

    def names(self) -> list[str]:
        return sorted(found.metadata.name for found in self.informer.list())


def test_it_lists_and_then_gets_every_change_with_a_delay() -> None:
    async def story() -> None:
        watched = Watched()
        clock, store = watched.clock, watched.store
        store.create(service("early"))
        watched.informer.start()
        assert not watched.has_synced()
        await clock.sleep(2 * MILLISECOND)
        assert watched.has_synced()
        assert watched.names() == ["early"]
        store.create(service("late"))
        assert watched.names() == ["early"]
        await clock.sleep(5 * MILLISECOND)
        assert watched.names() == ["early", "late"]
        store.delete("Service", "d", "early")
        await clock.sleep(5 * MILLISECOND)
        assert watched.names() == ["late"]
        watched.informer.stop()
        store.create(service("unheard"))
        await clock.sleep(SECOND)
        assert watched.names() == ["late"]

    run_virtual(story)


def test_while_disconnected_it_keeps_its_objects_and_lists_again_afterwards() -> None:
    async def story() -> None:
        watched = Watched()
        clock, store, connection = watched.clock, watched.store, watched.connection
        watched.informer.start()
        await clock.sleep(SECOND)
        store.create(service("on-its-way"))
        connection.cut()
        store.create(service("missed"))
        await clock.sleep(SECOND)
        assert watched.names() == []
        connection.restore()
        await clock.sleep(999 * MILLISECOND)
        assert watched.names() == []
        await clock.sleep(MILLISECOND)
        assert watched.names() == ["missed", "on-its-way"]

    run_virtual(story)


def test_it_has_not_synced_before_the_first_list() -> None:
    async def story() -> None:
        watched = Watched()
        watched.connection.cut()
        watched.informer.start()
        await watched.clock.sleep(10 * SECOND)
        assert not watched.has_synced()
        watched.connection.restore()
        await watched.clock.sleep(SECOND)
        assert watched.has_synced()

    run_virtual(story)

"""Watches: from any remembered version, filtered, with a bounded queue."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.api.meta import ApiObject, ObjectMeta
from kubesim.clock import LoopClock, run_virtual
from kubesim.cluster.store.selectors import parse_field_selector, parse_label_selector
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import Selection, Watch
from kubesim.errors import ApiError

SHOP = Selection(labels=parse_label_selector("app=shop"))


def new_store(history_limit: int = 4096) -> Store:
    uids = iter(range(1_000_000))
    return Store(lambda: 0, lambda: f"uid-{next(uids)}", history_limit=history_limit)


def config_map(name: str, app: str = "") -> ApiObject:
    labels = {"app": app} if app else {}
    return ApiObject(kind="ConfigMap", metadata=ObjectMeta(name=name, namespace="d", labels=labels))


def relabel(store: Store, name: str, app: str) -> None:
    old = store.get("ConfigMap", "d", name)
    store.replace(old.changed(metadata=old.metadata.changed(labels={"app": app})))


def seen(watch: Watch) -> list[tuple[str, str, int]]:
    return [
        (event.type, event.object.metadata.labels.get("app", ""), event.resource_version) for event in watch.drain()
    ]


def test_from_zero_starts_with_existing_objects() -> None:
    store = new_store()
    store.create(config_map("b"))
    store.create(config_map("a"))
    watch = store.open_watch("ConfigMap")
    store.delete("ConfigMap", "d", "a")
    assert [(event.type, event.object.metadata.name) for event in watch.drain()] == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("DELETED", "a"),
    ]


def test_an_object_that_starts_to_match_is_added_and_one_that_stops_is_deleted_in_the_old_state() -> None:
    store = new_store()
    watch = store.open_watch("ConfigMap", SHOP, since=store.resource_version)
    store.create(config_map("a", "shop"))
    relabel(store, "a", "blog")
    relabel(store, "a", "news")
    relabel(store, "a", "shop")
    relabel(store, "a", "blog")
    store.delete("ConfigMap", "d", "a")
    assert seen(watch) == [("ADDED", "shop", 1), ("DELETED", "shop", 2), ("ADDED", "shop", 4), ("DELETED", "shop", 5)]


def test_by_field() -> None:
    store = new_store()
    watch = store.open_watch("ConfigMap", Selection(fields=parse_field_selector("metadata.name=b")))
    store.create(config_map("a"))
    store.create(config_map("b"))
    assert [event.object.metadata.name for event in watch.drain()] == ["b"]


def test_a_forgotten_version_has_expired() -> None:
    store = new_store(history_limit=3)
    for n in range(5):
        store.create(config_map(f"c{n}"))
    assert len(store.open_watch("ConfigMap", since=2).drain()) == 3
    with pytest.raises(ApiError, match=r"too old resource version: 1 \(2\)") as refused:
        store.open_watch("ConfigMap", since=1)
    assert (refused.value.code, refused.value.reason) == (410, "Expired")


def test_a_watch_from_the_future_is_silent_until_that_version() -> None:
    store = new_store()
    watch = store.open_watch("ConfigMap", since=2)
    for n in range(3):
        store.create(config_map(f"c{n}"))
    assert [event.resource_version for event in watch.drain()] == [3]


def test_a_watcher_that_does_not_read_is_closed_and_removed() -> None:
    store = new_store()
    watch = store.open_watch("ConfigMap", limit=2)
    for n in range(5):
        store.create(config_map(f"c{n}"))
    assert watch.closed
    assert len(watch.drain()) == 2
    assert not store._listeners["ConfigMap"]


def test_bookmarks_have_a_version() -> None:
    store = new_store()
    store.create(config_map("a"))
    watch = store.open_watch("Pod")
    watch.bookmark(store.resource_version)
    (event,) = watch.drain()
    assert (event.type, event.object.kind, event.object.metadata.resource_version) == ("BOOKMARK", "Pod", "1")


def test_reading_waits_and_ends_with_the_watch() -> None:
    async def read() -> list[str]:
        clock, store = LoopClock(), new_store()
        watch = store.open_watch("ConfigMap")
        clock.call_at(clock.now() + 10, store.create, config_map("a"))
        clock.call_at(clock.now() + 20, watch.close)
        names = []
        while (event := await watch.next()) is not None:
            names.append(f"{event.object.metadata.name}@{clock.elapsed()}")
        return [*names, f"end@{clock.elapsed()}"]

    assert run_virtual(read) == ["a@10", "end@20"]


WRITES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", "shop", "blog", "gone"])), max_size=25)


@given(WRITES, st.integers(0, 25), st.sampled_from([Selection(), SHOP]))
def test_a_watch_from_any_version_equals_the_difference_of_two_lists(
    writes: list[tuple[str, str]], when: int, selection: Selection
) -> None:
    store = new_store()
    version, before = 0, {}
    for n, (name, app) in enumerate(writes):
        if n == when:
            version = store.resource_version
            before = {obj.metadata.name: obj for obj in store.list("ConfigMap", None, selection)}
        exists = store.find("ConfigMap", "d", name) is not None
        if app == "gone":
            if exists:
                store.delete("ConfigMap", "d", name)
        elif exists:
            relabel(store, name, app)
        else:
            store.create(config_map(name, app))
    watch = store.open_watch("ConfigMap", selection, since=version)
    state, last = dict(before), version
    for event in watch.drain():
        assert event.resource_version == int(event.object.metadata.resource_version)
        if version:
            assert event.resource_version > last, "versions only grow"
        last = event.resource_version
        name = event.object.metadata.name
        assert (event.type == "ADDED") == (name not in state)
        if event.type == "DELETED":
            del state[name]
        else:
            state[name] = event.object
    assert state == {obj.metadata.name: obj for obj in store.list("ConfigMap", None, selection)}
    if version:
        assert {obj.metadata.name: obj for obj in store.list_at("ConfigMap", version, selection)} == before

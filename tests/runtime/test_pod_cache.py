"""The cache returns immediately if its entry is new enough, and otherwise waits for a relist."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubesim.clock import run_virtual
from kubesim.errors import RuntimeCallError
from kubesim.runtime.pod_cache import PodCache
from kubesim.runtime.types import RuntimePodStatus

OLD, NEW = RuntimePodStatus("a", ips=("10.0.0.1",)), RuntimePodStatus("a", ips=("10.0.0.2",))


def with_cache(scene: Callable[[PodCache], Awaitable[None]]) -> None:
    async def main() -> None:
        await scene(PodCache())

    run_virtual(main)


async def asking(cache: PodCache, uid: str, moment: int | None) -> asyncio.Task[RuntimePodStatus]:
    task = asyncio.create_task(cache.get_newer_than(uid, moment))
    await asyncio.sleep(0)
    return task


async def served(*tasks: asyncio.Task[RuntimePodStatus]) -> list[bool]:
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return [task.done() for task in tasks]


def test_an_unknown_pod_has_an_empty_status() -> None:
    async def scene(cache: PodCache) -> None:
        assert cache.get("a") == RuntimePodStatus("a")

    with_cache(scene)


def test_nothing_is_new_enough_before_the_first_relist_has_finished() -> None:
    async def scene(cache: PodCache) -> None:
        task = await asking(cache, "a", None)
        assert await served(task) == [False]
        cache.update_time(1)
        assert await task == RuntimePodStatus("a")
        assert await cache.get_newer_than("other", None) == RuntimePodStatus("other")

    with_cache(scene)


def test_a_caller_after_a_relist_needs_a_newer_entry_and_a_waiter_takes_one_as_old_as_requested() -> None:
    async def scene(cache: PodCache) -> None:
        cache.update_time(5)
        waiting = await asking(cache, "a", 7)
        cache.update_time(7)
        late = await asking(cache, "a", 7)
        assert await served(waiting, late) == [True, False]
        cache.update_time(8)
        assert await served(late) == [True]

    with_cache(scene)


def test_a_status_of_one_pod_wakes_only_the_waiters_for_that_pod() -> None:
    async def scene(cache: PodCache) -> None:
        a, b = await asking(cache, "a", 3), await asking(cache, "b", 3)
        cache.set("a", OLD, None, 4)
        assert await served(a, b) == [True, False]
        assert await a == OLD
        cache.set_observed_time("b", 4)
        assert await b == RuntimePodStatus("b")

    with_cache(scene)


def test_an_observed_pod_is_as_new_as_its_observation() -> None:
    async def scene(cache: PodCache) -> None:
        cache.set("a", OLD, None, 4)
        cache.set_observed_time("a", 9)
        assert await cache.get_newer_than("a", 8) == OLD

    with_cache(scene)


def test_a_failed_inspection_is_raised_until_one_succeeds() -> None:
    async def scene(cache: PodCache) -> None:
        cache.set("a", OLD, RuntimeCallError("no answer"), 4)
        with pytest.raises(RuntimeCallError, match="no answer"):
            cache.get("a")
        with pytest.raises(RuntimeCallError, match="no answer"):
            await cache.get_newer_than("a", 3)
        cache.set("a", NEW, None, 5)
        assert cache.get("a") == NEW
        cache.delete("a")
        assert cache.get("a") == RuntimePodStatus("a")

    with_cache(scene)


def test_a_waiter_that_gives_up_is_forgotten() -> None:
    async def scene(cache: PodCache) -> None:
        gone, stays = await asking(cache, "a", 3), await asking(cache, "a", 3)
        gone.cancel()
        await asyncio.sleep(0)
        assert cache.statistics() == {"entries": 0, "waiters": 1}
        cache.update_time(4)
        assert await served(stays) == [True]
        assert not cache.is_awaited()

    with_cache(scene)

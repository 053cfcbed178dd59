"""Many readers or one writer, in order of arrival."""

from __future__ import annotations

import asyncio

from kubesim.clock import run_virtual
from kubesim.concurrency.rwlock import RWLock


class Scene:
    def __init__(self) -> None:
        self.lock = RWLock()
        self.diary: list[str] = []
        self.doors: dict[str, asyncio.Event] = {}

    async def hold(self, name: str) -> None:
        async with self.lock.write() if name.startswith("w") else self.lock.read():
            self.diary.append(f"{name} in")
            await self.doors.setdefault(name, asyncio.Event()).wait()
        self.diary.append(f"{name} out")

    async def let_go(self, name: str) -> None:
        self.doors.setdefault(name, asyncio.Event()).set()
        for _ in range(5):
            await asyncio.sleep(0)


def test_readers_share_and_a_waiting_writer_blocks_new_readers() -> None:
    async def main() -> list[str]:
        scene = Scene()
        tasks = [asyncio.create_task(scene.hold(name)) for name in ("r1", "r2", "w1", "r3")]
        await asyncio.sleep(0)
        for name in ("r2", "r1", "w1", "r3"):
            await scene.let_go(name)
        await asyncio.gather(*tasks)
        return scene.diary

    assert run_virtual(main) == ["r1 in", "r2 in", "r2 out", "r1 out", "w1 in", "w1 out", "r3 in", "r3 out"]


def test_a_caller_that_gives_up_blocks_nobody() -> None:
    async def main() -> list[str]:
        scene = Scene()
        tasks = [asyncio.create_task(scene.hold(name)) for name in ("r1", "w1", "r2")]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.gather(tasks[1], return_exceptions=True)
        assert scene.diary == ["r1 in", "r2 in"]
        await scene.let_go("r1")
        await scene.let_go("r2")
        async with scene.lock.write():
            return scene.diary

    assert run_virtual(main) == ["r1 in", "r2 in", "r1 out", "r2 out"]


def test_a_lock_assigned_to_a_cancelled_task_is_passed_on() -> None:
    async def main() -> list[str]:
        scene = Scene()
        async with scene.lock.write():
            given, waiting = (asyncio.create_task(scene.hold(name)) for name in ("w1", "w2"))
            await asyncio.sleep(0)
        given.cancel()  # the lock is assigned to it, but the task has not run since
        await asyncio.gather(given, return_exceptions=True)
        await scene.let_go("w2")
        await waiting
        return scene.diary

    assert run_virtual(main) == ["w2 in", "w2 out"]

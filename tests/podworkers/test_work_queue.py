"""The work queue: a pod is due only after its time, and has one time."""

from __future__ import annotations

from kubesim.clock import LoopClock, run_virtual
from kubesim.podworkers.work_queue import WorkQueue


def test_a_pod_is_due_only_after_its_time() -> None:
    async def main() -> None:
        clock = LoopClock(0)
        queue = WorkQueue(clock)
        queue.enqueue("b", 5)
        queue.enqueue("a", 3)
        assert queue.earliest() == 3
        await clock.sleep_until(3)
        assert queue.get_work() == []
        await clock.sleep_until(6)
        assert queue.get_work() == ["a", "b"]
        assert queue.earliest() is None
        queue.enqueue("c", 2)
        assert queue.remove("c") == 8
        assert queue.remove("c") is None
        assert queue.earliest() is None

    run_virtual(main)


def test_a_new_time_replaces_the_old_one_even_if_it_is_later() -> None:
    async def main() -> None:
        clock = LoopClock(0)
        queue = WorkQueue(clock)
        for n in range(1000):
            queue.enqueue("a", n)
        queue.enqueue("b", 2000)
        assert queue.earliest() == 999
        queue.enqueue("a", 3000)
        assert queue.earliest() == 2000
        await clock.sleep_until(2500)
        assert queue.get_work() == ["b"]
        assert len(queue) == 1

    run_virtual(main)

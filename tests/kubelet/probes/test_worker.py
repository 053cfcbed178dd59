"""The loop of a worker, in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

from kubesim.api.timestamps import SECOND
from kubesim.clock import run_virtual
from kubesim.kubelet.probes.results import CAPACITY, ResultsManager, Update
from kubesim.kubelet.probes.worker import ProbeWorker
from kubesim.kubelet.status.generate.inputs import ProbeType
from kubesim.runtime.types import ProbeResult
from tests.support.probes import EXEC, Node, pod, running, subject


def worker_of(node: Node, probe_type: ProbeType = "readiness", **probe: object) -> tuple[ProbeWorker, ResultsManager]:
    results = ResultsManager(probe_type)
    probes: dict[str, Any] = {f"{probe_type}Probe": {**EXEC, **probe}}
    of = pod(**probes)
    return ProbeWorker(subject(of, probe_type), results, node.environment(), lambda worker: None), results


async def run_for(node: Node, worker: ProbeWorker, seconds: float) -> asyncio.Task[None]:
    task = asyncio.get_running_loop().create_task(worker.run())
    await node.clock.sleep(round(seconds * SECOND))
    return task


async def finish(worker: ProbeWorker, task: asyncio.Task[None]) -> None:
    worker.stop()
    await task


def test_the_first_probe_runs_immediately_and_then_one_each_period() -> None:
    async def main() -> None:
        node = Node()
        worker, results = worker_of(node)
        task = await run_for(node, worker, 25)
        assert node.prober.asked == [0, 10 * SECOND, 20 * SECOND]
        assert results.by_id == {"containerd://1": "success"}
        await finish(worker, task)
        assert results.by_id == {}, "a worker that ends takes its verdict with it"

    run_virtual(main)


def test_only_changes_are_reported_and_traced() -> None:
    async def main() -> None:
        node = Node("success", "failure", "failure", "failure", "failure", "success")
        worker, results = worker_of(node)
        task = await run_for(node, worker, 55)
        reported = []
        while (update := results.updates.try_receive()) is not None:
            reported.append(update.result)
        assert reported == ["failure", "success", "failure", "success"]
        assert node.outcomes() == [
            (0, "failure", "readiness of web begins as failure: the container is new"),
            (0, "success", "readiness of web succeeded once (successThreshold 1)"),
            (30 * SECOND, "failure", "readiness of web failed 3 times in a row (failureThreshold 3)"),
            (50 * SECOND, "success", "readiness of web succeeded once (successThreshold 1)"),
        ]
        await finish(worker, task)

    run_virtual(main)


def test_a_manual_trigger_probes_now_and_restarts_the_period() -> None:
    async def main() -> None:
        node = Node("failure")
        worker, _ = worker_of(node)
        task = await run_for(node, worker, 4)
        assert worker.trigger()
        await node.clock.sleep(12 * SECOND)
        assert node.prober.asked == [0, 4 * SECOND, 14 * SECOND]
        await finish(worker, task)

    run_virtual(main)


def test_during_a_probe_one_trigger_is_kept_and_a_second_is_rejected() -> None:
    async def main() -> None:
        node = Node("failure", takes=3 * SECOND)
        worker, _ = worker_of(node)
        task = await run_for(node, worker, 1)
        assert (worker.trigger(), worker.trigger()) == (True, False)
        await node.clock.sleep(5 * SECOND)
        assert node.prober.asked == [0, 3 * SECOND]
        await finish(worker, task)

    run_virtual(main)


def test_a_probe_longer_than_the_period_is_followed_by_the_one_tick_it_missed() -> None:
    async def main() -> None:
        node = Node(takes=25 * SECOND)
        worker, _ = worker_of(node)
        task = await run_for(node, worker, 60)
        assert node.prober.asked == [0, 25 * SECOND, 50 * SECOND]
        await finish(worker, task)
        assert node.clock.elapsed() == 75 * SECOND, "a probe in progress is finished before the worker ends"

    run_virtual(main)


def test_a_recently_started_kubelet_waits_a_random_part_of_the_period() -> None:
    async def first(seed: int, jitter: bool) -> int:
        node = Node(seed=seed)
        node.start = node.clock.now() if jitter else None
        worker, _ = worker_of(node)
        task = await run_for(node, worker, 0.000001)
        worker.stop()  # does not wake a sleeping worker: it probes once before it checks
        await task
        return node.prober.asked[0]

    one = run_virtual(first, 1, True)
    assert 0 < one < 10 * SECOND
    assert one == run_virtual(first, 1, True)
    assert one != run_virtual(first, 2, True)
    assert run_virtual(first, 1, False) == 0


def test_a_failed_liveness_probe_pauses_until_there_is_a_new_container() -> None:
    async def main() -> None:
        node = Node("failure")
        worker, results = worker_of(node, "liveness", failureThreshold=2)
        task = await run_for(node, worker, 35)
        assert node.prober.asked == [0, 10 * SECOND]
        assert results.by_id == {"containerd://1": "failure"}
        node.status = running(node.clock.now(), container_id="containerd://2")
        await node.clock.sleep(10 * SECOND)
        assert node.prober.asked == [0, 10 * SECOND, 40 * SECOND]
        assert results.by_id == {"containerd://2": "success"}
        await finish(worker, task)

    run_virtual(main)


def test_a_worker_waits_when_the_sync_loop_is_twenty_updates_behind() -> None:
    async def main() -> None:
        node = Node()
        worker, results = worker_of(node)
        for number in range(CAPACITY):
            await results.announce(Update(f"containerd://x{number}", "success", "other"))
        task = await run_for(node, worker, 30)
        assert node.prober.asked == []
        assert results.updates.try_receive() is not None
        await node.clock.sleep(1)
        assert (node.prober.asked, len(results.updates)) == ([30 * SECOND], CAPACITY)
        received: list[tuple[str, ProbeResult]] = []
        while (update := results.updates.try_receive()) is not None:
            received.append((update.pod_uid, update.result))
        assert received[-2:] == [("u1", "failure"), ("u1", "success")]
        await finish(worker, task)

    run_virtual(main)

"""The node as it is registered, and its lease."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.kubelet.node.node_status import Heartbeat, initial_node
from kubesim.kubelet.settings import KubeletSettings


def test_a_new_node_is_healthy() -> None:
    node = initial_node(KubeletSettings(node_name="a", max_pods=7), 0, capacity={"cpu": "2"})
    assert {c.type: c.status for c in node.status.conditions} == {
        "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True",
    }  # fmt: skip
    assert node.status.allocatable["pods"] == "7"
    assert node.status.allocatable["cpu"] == "2"
    assert node.metadata.labels["kubernetes.io/hostname"] == "a"


def renewals(until: int, **options: Any) -> list[int]:
    """The times of lease renewals, checked every second."""

    async def main() -> list[int]:
        clock = LoopClock(0)
        heartbeat = Heartbeat(clock, "a", Randomness(0).stream("lease"), **options)
        seen = []
        while clock.now() < until:
            await clock.sleep(SECOND)
            seen.append(heartbeat.renewed_at)
        return sorted({*seen})

    return run_virtual(main)


def lease_after(seconds: int, **options: Any) -> dict[str, Any]:
    async def main() -> dict[str, Any]:
        clock = LoopClock(0)
        heartbeat = Heartbeat(clock, "a", Randomness(0).stream("lease"), jitter=False, **options)
        await clock.sleep(seconds * SECOND)
        return heartbeat.lease().to_json()

    return run_virtual(main)


def test_the_lease_is_renewed_every_ten_seconds() -> None:
    assert renewals(35 * SECOND, jitter=False) == [0, 10 * SECOND, 20 * SECOND, 30 * SECOND]
    assert lease_after(86_401)["spec"]["renewTime"] == "1970-01-02T00:00:00.000000Z"


def test_a_longer_lease_is_renewed_less_often() -> None:
    assert renewals(40 * SECOND, jitter=False, duration_s=60) == [0, 15 * SECOND, 30 * SECOND]
    assert lease_after(1, duration_s=60)["spec"]["leaseDurationSeconds"] == 60


def test_jitter_extends_the_intervals_a_little() -> None:
    pauses = [b - a for a, b in pairwise(renewals(200 * SECOND, jitter=True))]
    assert all(10 * SECOND <= pause <= 10.4 * SECOND for pause in pauses)
    assert len({*pauses}) > 10


def test_a_paused_lease_is_renewed_immediately_when_it_resumes() -> None:
    async def main() -> list[int]:
        clock = LoopClock(0)
        heartbeat = Heartbeat(clock, "a", Randomness(0).stream("lease"), jitter=False)
        await clock.sleep(25 * SECOND)
        seen = [heartbeat.pause()]
        await clock.sleep(100 * SECOND)
        seen.append(heartbeat.renewed_at)
        heartbeat.resume()
        seen.append(heartbeat.renewed_at)
        await clock.sleep(11 * SECOND)
        return [moment // SECOND for moment in (*seen, heartbeat.renewed_at)]

    assert run_virtual(main) == [20, 20, 125, 135]


def test_the_lease_names_its_holder_and_the_last_renewal() -> None:
    assert lease_after(25)["spec"] == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 40,
        "acquireTime": "1970-01-01T00:00:00.000000Z",
        "renewTime": "1970-01-01T00:00:20.000000Z",
    }

"""The node as it is registered, and a heartbeat that is computed, not executed."""

from __future__ import annotations

from itertools import pairwise

from kubesim.api.timestamps import SECOND
from kubesim.clock import Randomness
from kubesim.kubelet.node.node_status import Heartbeat, initial_node
from kubesim.kubelet.settings import KubeletSettings

DAY = 86_400 * SECOND


def test_a_new_node_is_well() -> None:
    node = initial_node(KubeletSettings(node_name="a", max_pods=7), 0, capacity={"cpu": "2"})
    assert {c.type: c.status for c in node.status.conditions} == {
        "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True",
    }  # fmt: skip
    assert node.status.allocatable["pods"] == "7"
    assert node.status.allocatable["cpu"] == "2"
    assert node.metadata.labels["kubernetes.io/hostname"] == "a"


def test_a_longer_lease_is_renewed_less_often() -> None:
    heartbeat = Heartbeat("a", 0, Randomness(0).stream("lease"), jitter=False, duration_s=60)
    assert heartbeat.renewed_at(14 * SECOND) == 0
    assert heartbeat.renewed_at(15 * SECOND) == 15 * SECOND
    lease = heartbeat.lease(15 * SECOND).to_json()
    assert lease["spec"]["leaseDurationSeconds"] == 60


def test_the_lease_is_renewed_every_ten_seconds() -> None:
    heartbeat = Heartbeat("a", 0, Randomness(0).stream("lease"), jitter=False)
    assert heartbeat.renewed_at(9 * SECOND) == 0
    assert heartbeat.renewed_at(10 * SECOND) == 10 * SECOND
    assert heartbeat.renewed_at(DAY + SECOND) == DAY


def test_jitter_makes_the_pauses_a_little_longer() -> None:
    heartbeat = Heartbeat("a", 0, Randomness(0).stream("lease"), jitter=True)
    renewals = [heartbeat.renewed_at(moment * SECOND) for moment in range(200)]
    pauses = [b - a for a, b in pairwise(renewals) if b != a]
    assert all(10 * SECOND <= pause <= 10.4 * SECOND for pause in pauses)
    assert len({*pauses}) > 10


def test_the_lease_says_who_is_alive_until_when() -> None:
    lease = Heartbeat("a", 0, Randomness(0).stream("lease"), jitter=False).lease(25 * SECOND).to_json()
    assert lease["spec"] == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 40,
        "acquireTime": "1970-01-01T00:00:00.000000Z",
        "renewTime": "1970-01-01T00:00:20.000000Z",
    }

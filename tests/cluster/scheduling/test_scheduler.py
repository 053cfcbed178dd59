"""Pods that name no node: bound to the first that has room, told why if there is none."""

from __future__ import annotations

from typing import Any

from kubesim.api.event import Event
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.app import new_uids
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.cluster.scheduling.scheduler import Scheduler
from kubesim.cluster.store.store import Store


def node(name: str, cpu: str, **spec: Any) -> Node:
    resources = {"cpu": cpu, "memory": "1Gi", "pods": "3"}
    status = {"capacity": resources, "allocatable": resources}
    return Node.from_json(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec, "status": status}
    )


def pod(name: str, cpu: str, **spec: Any) -> Pod:
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": name, "namespace": "ns"}
    return Pod.from_json(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}
    )


class Cluster:
    def __init__(self, *nodes: Node) -> None:
        self.clock = LoopClock()
        self.store = Store(self.clock.now, new_uids(Randomness(1)))
        for each in nodes:
            self.store.create(each)
        Scheduler(self.clock, self.store)

    async def after(self, *pods: Pod) -> None:
        for each in pods:
            self.store.create(each)
        await self.clock.sleep(SECOND)

    def node_of(self, name: str) -> str:
        found = self.store.get("Pod", "ns", name)
        assert isinstance(found, Pod)
        return found.spec.node_name

    def told(self) -> list[str]:
        return [event.message for event in self.store.list("Event") if isinstance(event, Event)]


def test_a_pod_goes_to_the_first_node_that_has_room() -> None:
    async def main() -> None:
        cluster = Cluster(node("n1", "1"), node("n2", "2"))
        await cluster.after(pod("a", "800m"), pod("b", "800m"), pod("c", "100m"))
        assert [cluster.node_of(name) for name in "abc"] == ["n1", "n2", "n1"]
        assert "Successfully assigned ns/b to n2" in cluster.told()

    run_virtual(main)


def test_a_pod_that_fits_nowhere_says_why() -> None:
    async def main() -> None:
        taint = {"key": "k", "effect": "NoSchedule"}
        cluster = Cluster(node("n1", "1"), node("n2", "4", taints=[taint]), node("n3", "2"))
        await cluster.after(pod("busy", "1500m"), pod("big", "1500m"))
        message = (
            "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. "
            "no new claims to deallocate, preemption: 0/3 nodes are available: "
            "1 No preemption victims found for incoming pod, "
            "2 Preemption is not helpful for scheduling."
        )
        waiting = cluster.store.get("Pod", "ns", "big")
        assert isinstance(waiting, Pod)
        (condition,) = waiting.status.conditions
        assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "Unschedulable")
        assert condition.message == message
        assert message in cluster.told()

    run_virtual(main)


def test_a_waiting_pod_gets_the_room_that_another_leaves() -> None:
    async def main() -> None:
        cluster = Cluster(node("n1", "1"))
        await cluster.after(pod("first", "1"), pod("second", "1"))
        assert cluster.node_of("second") == ""
        cluster.store.delete("Pod", "ns", "first", grace_s=0)
        await cluster.clock.sleep(SECOND)
        assert cluster.node_of("second") == "n1"

    run_virtual(main)

"""`RuleObserver`: the base of a strict invariant, which remembers what it needs of the records of one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kubesim.api.pod import Container, Pod
from kubesim.clock import LoopClock
from kubesim.cluster.store.store import Store
from kubesim.scenario.invariants.seen import NodeFacts
from kubesim.trace.records import Note, Record
from kubesim.values import part

ContainerKey = tuple[str, str]  # a pod as `namespace/name`, and a container


@part
class Scene:
    """What an observer may read: the time, the objects at the API server, and the nodes by name."""

    clock: LoopClock
    store: Store
    nodes: Mapping[str, NodeFacts]

    def pod(self, name: str) -> Pod | None:
        found = self.store.find("Pod", *name.split("/", 1))
        return found if isinstance(found, Pod) else None

    def container(self, key: ContainerKey) -> Container | None:
        pod = self.pod(key[0])
        return None if pod is None else pod.spec.find_container(key[1])


class RuleObserver:
    """Each method returns the violation in words, or ""."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def recorded(self, record: Record) -> str:
        """A record of the trace, about its pod."""
        return ""

    def reported(self, old: Pod | None, new: Pod) -> str:
        """The status of a pod has changed at the API server."""
        return ""


MakeRuleObserver = Callable[[Scene], RuleObserver]


def container_key(record: Record) -> ContainerKey:
    return record.pod, record.container


def ends_kubelet(record: Record) -> bool:
    """Whether the kubelet of the node ends, with all that it remembers."""
    return isinstance(record, Note) and record.ends_kubelet

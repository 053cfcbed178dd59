"""A node's API server source in a test: a changing store, a transport, and the state of the sync loop."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Pod
from kubesim.clock import LoopClock, Randomness
from kubesim.cluster.remote.transport import Transport
from kubesim.cluster.store.store import Store
from kubesim.concurrency import TaskSet
from kubesim.sources.apiserver import ApiServerSource
from kubesim.sources.config import ConfigStream
from kubesim.trace import MemorySink, Recorder
from kubesim.trace.records import Note

NODE = "node-1"


def new_pod(name: str, node: str = NODE, **metadata: Any) -> Pod:
    return Pod.from_json(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", **metadata},
            "spec": {"nodeName": node, "containers": [{"name": "main", "image": "busybox"}]},
        }
    )


def new_store(clock: LoopClock, history_limit: int = 4096) -> Store:
    uids = iter(range(1, 1_000_000))
    return Store(clock.now, lambda: f"uid-{next(uids)}", history_limit=history_limit)


class Follower:
    """`known` is the result of all updates, by uid. Each update must be consistent with it."""

    def __init__(self, clock: LoopClock, tasks: TaskSet, transport: Transport, seed: int = 0) -> None:
        self.trace = MemorySink()
        recorder = Recorder(clock)
        recorder.add(self.trace)
        self.config = ConfigStream(clock, recorder, ("api",))
        chance = Randomness(seed).stream("reflector")
        self.source = ApiServerSource(clock, tasks, recorder, self.config, transport, NODE, chance)
        self.known: dict[str, Pod] = {}
        self.reported: list[str] = []

    def take(self) -> list[str]:
        """The updates since the last call, as `ADD a`."""
        new = []
        while (item := self.config.updates.try_receive()) is not None:
            update = item[0]
            for pod in update.pods:
                uid = pod.metadata.uid
                assert (uid in self.known) == (update.op != "ADD"), f"{update.op} {pod.metadata.name}"
                if update.op == "REMOVE":
                    del self.known[uid]
                else:
                    self.known[uid] = pod
                new.append(f"{update.op} {pod.metadata.name}")
        self.reported += new
        return new

    def state(self) -> dict[str, Any]:
        self.take()
        return {uid: facts(pod) for uid, pod in self.known.items()}

    def problems(self) -> list[str]:
        return [record.text for record in self.trace.records if isinstance(record, Note)]


def facts(pod: Pod) -> tuple[Any, ...]:
    """The facts that the mux updates."""
    metadata = pod.metadata
    return metadata.namespace, metadata.name, metadata.labels, metadata.deletion_timestamp, pod.status.pod_ip


def facts_of(store: Store) -> dict[str, Any]:
    pods = [pod for pod in store.list("Pod") if isinstance(pod, Pod) and pod.spec.node_name == NODE]
    return {pod.metadata.uid: facts(pod) for pod in pods}

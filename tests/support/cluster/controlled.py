"""A cluster without nodes, in virtual time: objects are applied, controllers act, a test looks and moves pods on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import yaml

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod, PodCondition
from kubesim.api.pods.pod_conditions import with_condition
from kubesim.api.timestamps import SECOND, format_time, seconds
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.clock.clock import VIRTUAL_START
from kubesim.clock.randomness import uuid4_text
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.manager import CONTROLLERS, start, start_when_needed
from kubesim.cluster.controllers.namespaces import ensure_namespace
from kubesim.cluster.registry import registry
from kubesim.cluster.registry.bodies.patching import STRATEGIC_MERGE_PATCH
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.store import Store
from kubesim.trace import MemorySink, Recorder

T = TypeVar("T")
NAMESPACE = "default"


class ControlledCluster:
    """What a test sees of the cluster. The controllers start by themselves, as in a run, or only those of one kind."""

    def __init__(self, seed: int = 0, only: str = "") -> None:
        self.clock = LoopClock(VIRTUAL_START)
        randomness = Randomness(seed)
        uids = randomness.stream("uid")
        self.store = Store(self.clock.now, lambda: uuid4_text(uids.getrandbits(128)))
        self.trace = MemorySink()
        self.context = ControllerContext(self.clock, self.store, Recorder(self.clock, self.trace), randomness)
        ensure_namespace(self.store, NAMESPACE)
        if only:
            for path in CONTROLLERS[only]:
                start(self.context, path)
        else:
            start_when_needed(self.context)

    # -- what a user does ---------------------------------------------------------------------------------------

    def apply(self, text: str) -> list[ApiObject]:
        """Create the objects of a YAML text."""
        return [self.create(document) for document in yaml.safe_load_all(text) if document]

    def create(self, manifest: dict[str, Any]) -> ApiObject:
        resource = resource_of(manifest["kind"])
        namespace = manifest["metadata"].get("namespace", NAMESPACE) if resource.namespaced else ""
        return registry.create(self.store, Target(resource, namespace), manifest)

    def patch(self, kind: str, name: str, patch: dict[str, Any]) -> ApiObject:
        return registry.patch(self.store, self._target(kind, name), STRATEGIC_MERGE_PATCH, patch)[0]

    def delete(self, kind: str, name: str, options: DeleteOptions | None = None) -> None:
        registry.delete(self.store, self._target(kind, name), options or DeleteOptions())

    def _target(self, kind: str, name: str) -> Target:
        resource = resource_of(kind)
        return Target(resource, NAMESPACE if resource.namespaced else "", name)

    async def wait(self, duration: float = 1.0) -> None:
        """Let this many seconds pass."""
        await self.clock.sleep(seconds(duration))

    # -- what a kubelet does ------------------------------------------------------------------------------------

    def set_phase(self, pod: Pod, phase: str, *, ready: bool | None = None, **status: Any) -> Pod:
        """The status that a kubelet would report; `ready` sets the condition Ready."""
        new = pod.status.changed(phase=phase, **status)
        if ready is not None:
            now = format_time(self.clock.now())
            condition = PodCondition(type="Ready", status=str(ready), last_transition_time=now)
            new = new.changed(conditions=with_condition(new.conditions, condition))
        return self.store.set_pod_status(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid, new)

    def make_all_ready(self) -> None:
        """Every pod that is not ending runs and is ready."""
        for pod in self.pods():
            if pod.metadata.deletion_timestamp is None and pod.status.phase in ("Pending", "Running"):
                self.set_phase(pod, "Running", ready=True)

    def remove_ending(self) -> None:
        """Pods with a deletion timestamp are gone, as when their kubelet has stopped them."""
        for pod in self.pods():
            if pod.metadata.deletion_timestamp is not None:
                options = DeleteOptions(grace_s=0)
                registry.delete(self.store, self._target("Pod", pod.metadata.name), options)

    # -- what there is ------------------------------------------------------------------------------------------

    def get(self, kind: str, name: str) -> Any:
        resource = resource_of(kind)
        return self.store.get(kind, NAMESPACE if resource.namespaced else "", name)

    def all(self, kind: str) -> list[Any]:
        """In the order of creation."""
        return sorted(self.store.list(kind), key=lambda obj: (obj.metadata.creation_timestamp or "", obj.metadata.name))

    def pods(self) -> list[Pod]:
        return [pod for pod in self.all("Pod") if isinstance(pod, Pod)]

    def events(self, reason: str = "") -> list[Event]:
        return [event for event in self.all("Event") if isinstance(event, Event) and reason in ("", event.reason)]

    def elapsed(self) -> float:
        return (self.clock.now() - VIRTUAL_START) / SECOND


def controlled(story: Callable[[ControlledCluster], Awaitable[T]], seed: int = 0, only: str = "") -> T:
    """Run a story in a cluster of its own."""

    async def main() -> T:
        return await story(ControlledCluster(seed, only))

    return run_virtual(main)

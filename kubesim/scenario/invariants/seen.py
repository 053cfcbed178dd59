"""What the invariants know: the pods on the nodes and the objects at the API server, as they have been seen so far.

The watch (`watch.py`) writes it, checkers only read it. Times are microseconds of the clock.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field
from typing import Protocol

from kubesim.api.meta import CONFIG_MIRROR, ApiObject
from kubesim.api.pod import Container, Pod
from kubesim.features.rules import Rules
from kubesim.podworkers.sync_status import PodSyncStatus
from kubesim.runtime.protocol import ContainerInfo
from kubesim.values import mutable, value_object

STORY = 12  # observations that are kept of each pod


class NodeFacts(Protocol):
    """What a checker may ask about a node."""

    @property
    def rules(self) -> Rules:
        """Those of the kubelet that runs now."""
        ...

    @property
    def undisturbed_since(self) -> int | None:
        """From when on its kubelet, its runtime and its connection to the API server have worked; None: one does not
        work now."""
        ...

    @property
    def is_shutting_down(self) -> bool: ...

    def worker(self, uid: str) -> PodSyncStatus | None:
        """The pod as its worker knows it."""
        ...


@value_object
class StopCall:
    """A StopContainer call in progress."""

    begun_at: int
    timeout: int

    @property
    def kill_at(self) -> int:
        return self.begun_at + self.timeout


@mutable
class SandboxSeen:
    """Which containers have started in a sandbox, and which have succeeded."""

    ip: str
    started: set[str] = field(default_factory=set)
    succeeded: set[str] = field(default_factory=set)


@mutable(eq=False)
class PodSeen:
    """A pod whose sandbox a runtime has, or had. `spec` is the pod as the newest sandbox was made for it; `api`
    is the pod, or the mirror of a static pod, as it was last stored."""

    spec: Pod
    node: NodeFacts
    api: Pod | None = None
    gone_at: int | None = None  # when it was removed from the API server
    deleted_at: int | None = None  # when its deletion was requested first
    graces: tuple[int, ...] = ()  # that deletions gave it, in seconds
    sandboxes: dict[str, SandboxSeen] = field(default_factory=dict)
    running: dict[str, ContainerInfo] = field(default_factory=dict)  # by container id
    ended: dict[str, ContainerInfo] = field(default_factory=dict)
    stops: dict[str, StopCall] = field(default_factory=dict)  # those under way, by container id
    stop_requested: set[str] = field(default_factory=set)  # containers for which there was one
    story: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=STORY))

    @property
    def name(self) -> str:
        """`namespace/name`"""
        metadata = self.spec.metadata
        return f"{metadata.namespace}/{metadata.name}"

    @property
    def init_containers(self) -> tuple[Container, ...]:
        return self.spec.spec.init_containers


def mirrored_uid(pod: Pod) -> str:
    """The uid of the static pod that a mirror pod stands for; empty if it is none."""
    return pod.metadata.annotations.get(CONFIG_MIRROR, "")


@mutable(eq=False)
class StoreSeen:
    """The newest version, and the newest state of each object, by kind, namespace and name."""

    version: int = 0
    newest: dict[tuple[str, str, str], ApiObject] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)  # of sandboxes that run -> pod

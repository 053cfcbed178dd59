"""The facts that the invariants check: the pods on the nodes and the objects at the API server, as observed so far.

The watch (`watch.py`) updates them, the checks only read them. Times are microseconds of the clock.
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

STORY = 12  # observations that are kept for each pod


class NodeFacts(Protocol):
    """The facts about a node that a check may read."""

    @property
    def rules(self) -> Rules:
        """The version-dependent rules of the running kubelet."""
        ...

    @property
    def undisturbed_since(self) -> int | None:
        """The time since which the kubelet, the runtime and the connection to the API server have all worked; None if
        one of them does not work now."""
        ...

    @property
    def is_shutting_down(self) -> bool: ...

    @property
    def eviction_grace_s(self) -> int:
        """The longest grace period, in seconds, that an eviction may give."""
        ...

    def worker(self, uid: str) -> PodSyncStatus | None:
        """The pod as its pod worker knows it."""
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
    """The containers that have started in a sandbox, and those that have succeeded."""

    ip: str
    started: set[str] = field(default_factory=set)
    succeeded: set[str] = field(default_factory=set)


@mutable(eq=False)
class PodSeen:
    """A pod that has or had a sandbox. `spec` is the pod that the newest sandbox was created for; `api` is the last
    stored state of the pod or, for a static pod, of its mirror pod."""

    spec: Pod
    node: NodeFacts
    api: Pod | None = None
    gone_at: int | None = None  # when it was removed from the API server
    deleted_at: int | None = None  # when its deletion was first requested
    graces: tuple[int, ...] = ()  # grace periods of its deletions, in seconds
    sandboxes: dict[str, SandboxSeen] = field(default_factory=dict)
    running: dict[str, ContainerInfo] = field(default_factory=dict)  # by container id
    ended: dict[str, ContainerInfo] = field(default_factory=dict)
    stops: dict[str, StopCall] = field(default_factory=dict)  # calls in progress, by container id
    stop_requested: set[str] = field(default_factory=set)  # containers for which StopContainer was called
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
    """The uid of the static pod behind a mirror pod; empty for other pods."""
    return pod.metadata.annotations.get(CONFIG_MIRROR, "")


@mutable(eq=False)
class StoreSeen:
    """The newest resource version, and the newest state of each object by kind, namespace and name."""

    version: int = 0
    newest: dict[tuple[str, str, str], ApiObject] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)  # address of a running sandbox -> pod

"""`Invariant`: a name, and a pure function for each kind of observation that it judges.

Each function gets what was seen before (`seen.py`) and the observation, and returns the violation in words, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod, PodStatus
from kubesim.cluster.store.watches import WatchEvent
from kubesim.kubelet.probes.worker_rules import WorkerSubject
from kubesim.runtime.protocol import ContainerInfo
from kubesim.runtime.simulated.cri.watcher import Killer
from kubesim.scenario.invariants.seen import PodSeen, StoreSeen
from kubesim.values import value_object


@value_object
class Invariant:
    """A time argument is the moment of the observation."""

    name: str
    started: Callable[[PodSeen, ContainerInfo, int], str] | None = None
    connected: Callable[[PodSeen, ContainerInfo, bool], str] | None = None  # started: does its sandbox have a network?
    stopping: Callable[[PodSeen, ContainerInfo, int, int], str] | None = None  # with the timeout
    killed: Callable[[PodSeen, ContainerInfo, Killer, int], str] | None = None
    ended: Callable[[PodSeen, ContainerInfo, int], str] | None = None
    sandbox_up: Callable[[StoreSeen, PodSeen, str], str] | None = None  # with its address
    sandbox_ended: Callable[[PodSeen, bool], str] | None = None  # is its address still taken?
    probed: Callable[[PodSeen | None, WorkerSubject, PodStatus, str, int], str] | None = None  # with the container id
    status_changed: Callable[[PodSeen | None, Pod | None, Pod], str] | None = None  # the pod before; None: it is new
    stored: Callable[[StoreSeen, ApiObject | None, WatchEvent], str] | None = None  # after its newest state so far
    at_end: Callable[[PodSeen, int], str] | None = None

"""`Invariant`: a name, and a pure function for each kind of observation that it checks.

Each function gets the earlier observations (`seen.py`) and the new one, and returns the violation in words, or "".
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
from kubesim.scenario.invariants.strict.observer import MakeRuleObserver
from kubesim.values import value_object


@value_object
class Invariant:
    """The checks of one invariant. An int argument is the time of the observation, unless the comment names it."""

    name: str
    started: Callable[[PodSeen, ContainerInfo, int], str] | None = None
    # At a start: whether its sandbox has a network.
    connected: Callable[[PodSeen, ContainerInfo, bool], str] | None = None
    stopping: Callable[[PodSeen, ContainerInfo, int, int], str] | None = None  # with the timeout and the time
    killed: Callable[[PodSeen, ContainerInfo, Killer, int], str] | None = None
    ended: Callable[[PodSeen, ContainerInfo, int], str] | None = None
    sandbox_up: Callable[[StoreSeen, PodSeen, str], str] | None = None  # with its address
    sandbox_ended: Callable[[PodSeen, bool], str] | None = None  # whether its address is still in use
    probed: Callable[[PodSeen | None, WorkerSubject, PodStatus, str, int], str] | None = None  # with the container id
    # The old pod (None if it is new) and the new one.
    status_changed: Callable[[PodSeen | None, Pod | None, Pod], str] | None = None
    # With the newest state before the event.
    stored: Callable[[StoreSeen, ApiObject | None, WatchEvent], str] | None = None
    at_end: Callable[[PodSeen, int], str] | None = None
    observer: MakeRuleObserver | None = None  # of the trace, made once for each run

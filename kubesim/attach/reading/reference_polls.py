"""Checks periodically whether the ConfigMaps and Secrets that waiting pods refer to exist.

Only pods that are not ready are considered: a running pod has everything that it needed. Each object is requested by
name, one at a time and slowly, to limit the load of the API server from a node with thousands of pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import READY, TRUE, find_condition
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.attach.reading.references import is_there, references
from kubesim.clock import LoopClock
from kubesim.cluster.remote.transport import Transport
from kubesim.cluster.store.object_watch import ObjectKey
from kubesim.errors import TransportError, UsageError
from kubesim.values import part

ROUND = 1 * SECOND  # how often the set of needed objects is updated
PAUSE = 50 * MILLISECOND  # between two requests
AGAIN = 10 * SECOND  # the interval for one object: as often as a failing sync is retried
REFUSED_AGAIN = 300 * SECOND  # permissions rarely change


Named = Callable[[Pod], Iterable[ObjectKey]]


def named_objects(pod: Pod) -> Iterable[ObjectKey]:
    """The ConfigMaps and Secrets that a pod names."""
    return (reference.key for reference in references(pod))


def wanted(pods: Iterable[Pod], named: Named = named_objects) -> dict[ObjectKey, None]:
    """The objects that the pods wait for, or may wait for, in the order of the pods, each once."""
    return {
        key: None for pod in pods if pod.status.phase not in TERMINAL_PHASES and not is_ready(pod) for key in named(pod)
    }


def is_ready(pod: Pod) -> bool:
    ready = find_condition(pod.status.conditions, READY)
    return ready is not None and ready.status == TRUE


@part
class ReferencePolls:
    """Polls objects and writes the results into `found`. `changed` is called for each object that appeared or vanished,
    `problem` for each error."""

    clock: LoopClock
    transport: Transport
    pods: Callable[[], Iterable[Pod]]
    found: dict[ObjectKey, bool]
    changed: Callable[[ObjectKey], None]
    problem: Callable[[str], None]
    named: Named = named_objects
    keys: dict[ObjectKey, frozenset[str]] | None = None  # receives the key names of the objects
    _due: dict[ObjectKey, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether every needed object was looked up."""
        return self._due.keys() >= wanted(self.pods(), self.named).keys()

    async def run(self) -> None:
        while True:
            interesting = wanted(self.pods(), self.named)
            for known in (self.found, self._due):
                for key in [key for key in known if key not in interesting]:
                    del known[key]
            for key in interesting:
                if self._due.get(key, 0) <= self.clock.now():
                    await self._poll(key)
                    await self.clock.sleep(PAUSE)
            await self.clock.sleep(ROUND)

    async def _poll(self, key: ObjectKey) -> None:
        try:
            there = await is_there(self.transport, key, self.keys)
        except TransportError:
            return  # the watches report connection problems
        except UsageError as error:
            self._due[key] = self.clock.now() + REFUSED_AGAIN
            self.problem(f"cannot check whether it exists: {error}")
            return
        self._due[key] = self.clock.now() + AGAIN
        before = self.found.get(key)
        self.found[key] = there
        if before is not there and (before is not None or not there):
            self.changed(key)

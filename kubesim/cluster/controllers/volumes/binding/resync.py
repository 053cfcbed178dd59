"""The resync of the PV controller: every 15 seconds it checks the waiting claims again.

The real controller resyncs everything forever. A bound claim does not change, so this timer stops while no claim waits.
The phase of the ticks is drawn from the seed once.

Mirrors: pkg/controller/volume/persistentvolume/pv_controller_base.go resync
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from kubesim.api.meta import ApiObject
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.cluster.controllers.volumes.storage_fields import BIND_COMPLETED, key_of
from kubesim.cluster.store.store import Key
from kubesim.values import part

PERIOD = 15 * SECOND


@part
class Resync:
    """The resync timer: calls `due` with the waiting claims at each tick."""

    clock: LoopClock
    phase: int  # of the ticks, from 0 to the period
    due: Callable[[Iterable[Key]], None]
    _waiting: dict[Key, None] = field(default_factory=dict)
    _planned: bool = False

    def update(self, claim: ApiObject, *, deleted: bool) -> None:
        if deleted or BIND_COMPLETED in claim.metadata.annotations:
            self._waiting.pop(key_of(claim), None)
            return
        self._waiting[key_of(claim)] = None
        self._plan()

    def _plan(self) -> None:
        if not self._planned:
            self._planned = True
            now = self.clock.now()
            self.clock.call_at(now + PERIOD - (now - self.phase) % PERIOD, self._tick)

    def _tick(self) -> None:
        self._planned = False
        if self._waiting:
            self.due(tuple(self._waiting))
            self._plan()

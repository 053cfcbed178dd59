"""Findings that a restart of the kubelet would explain, held back for as long as a sign of one may take to come.

A kubelet that starts has no back-offs: waiting containers are retried immediately, and the delays start over. It says
so in Events about its node; but those travel by another watch than the pods, and can be lost. So a finding that counts
on the kubelet's memory is reported only when no sign has come. The signs: an Event or a lease that reports the start
(`Shadow.kubelet_started`), a Node status that is written out of turn, or several pods that are retried too early at the
same time.

Mirrors: kubelet_node_status.go tryUpdateNodeStatus, calculateDelay (a status that changed is written immediately; one
that
did not, every nodeStatusReportFrequency and once at the start, and after a change up to half of that sooner or later)
"""

from __future__ import annotations

from kubesim.api.node import Node, NodeStatus
from kubesim.api.timestamps import SECOND
from kubesim.attach.explain.observation import moment
from kubesim.attach.explain.tolerances import WORK
from kubesim.attach.shadow.divergence import Divergence

HELD = WORK  # a kubelet reports its start before it looks at its pods; the watches are not in step
REPORTS = 240 * SECOND  # nodeStatusReportFrequency is 5 min, and jitter may take a part of it
REPORTS_AFTER_CHANGE = 140 * SECOND  # after a status that changed, calculateDelay takes up to half of the 5 min


class Doubts:
    """Of one node. Times are the node's."""

    def __init__(self) -> None:
        self._held: list[Divergence] = []
        self._node: Node | None = None
        self._changed = True  # whether the last report of the node had changes; unknown for the first
        self._was_short = False  # whether the last report without changes came out of turn
        self._out_of_turn: int | None = None
        self._kubelet_since = 0

    def hold(self, found: Divergence) -> None:
        self._held.append(found)

    def saw_node(self, node: Node | None) -> None:
        """A status without changes at an unexpected time comes from a kubelet that has just started. If every such
        status is out of turn, the node has another schedule. A status that changed says nothing about the turn."""
        before, self._node = self._node, node
        then, at = (None if one is None else _heartbeat(one.status) for one in (before, node))
        if before is None or node is None or then is None or at is None or at <= then:
            return
        after_change, self._changed = self._changed, _said(before.status) != _said(node.status)
        if self._changed:
            return
        was_short, self._was_short = self._was_short, at - then < (REPORTS_AFTER_CHANGE if after_change else REPORTS)
        if self._was_short and not was_short:
            self._out_of_turn = at

    def restart(self) -> int | None:
        """Since when the kubelet must be a new one, if what is held says so."""
        first = min((one.at for one in self._held), default=0)
        together = {one.uid for one in self._held if one.at - first <= HELD}
        signed = self._out_of_turn is not None and abs(first - self._out_of_turn) <= HELD
        return first if self._held and (len(together) > 1 or signed) else None

    def explained(self, kubelet_since: int) -> None:
        """If that is news: what the kubelet did since it started needs no memory of before."""
        if kubelet_since > self._kubelet_since:
            self._kubelet_since = kubelet_since
            self._held = [one for one in self._held if one.at < kubelet_since]

    def due(self, now: int | None = None) -> list[Divergence]:
        """The divergences that no sign has explained in time; without a time, all pending ones."""
        ripe = [one for one in self._held if now is None or now - one.at > HELD]
        self._held = [one for one in self._held if one not in ripe]
        return ripe


def _heartbeat(status: NodeStatus) -> int | None:
    return max((at for one in status.conditions if (at := moment(one.last_heartbeat_time)) is not None), default=None)


def _said(status: NodeStatus) -> NodeStatus:
    """All but the heartbeats."""
    return status.changed(conditions=tuple(one.changed(last_heartbeat_time=None) for one in status.conditions))

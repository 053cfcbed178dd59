"""Holds back findings that a restart of the kubelet would explain, until a sign of one would have arrived.

A restarted kubelet has no back-offs: waiting containers are retried immediately, and the delays start over. It reports
its start in Events about its node; but those arrive on another watch than the pods, and can be lost. So a finding that
assumes the kubelet's memory is reported only if no sign arrives. The signs: an Event or a lease that reports the start
(`Shadow.kubelet_started`), a Node status that is written outside the usual interval, or several pods that are retried
too early at the same time.

Mirrors: kubelet_node_status.go tryUpdateNodeStatus, calculateDelay (a changed status is written immediately; an
unchanged one every nodeStatusReportFrequency, once at the start, and after a change up to half of that sooner or later)
"""

from __future__ import annotations

from kubesim.api.node import Node, NodeStatus
from kubesim.api.timestamps import SECOND
from kubesim.attach.explain.observation import moment
from kubesim.attach.explain.tolerances import WORK
from kubesim.attach.shadow.divergence import Divergence

HOLD_TIME = WORK  # a kubelet reports its start before it syncs its pods; the watches are independent
REPORTS = 240 * SECOND  # nodeStatusReportFrequency is 5 min; jitter may subtract a part
REPORTS_AFTER_CHANGE = 140 * SECOND  # after a changed status, calculateDelay subtracts up to half of the 5 min


class PendingFindings:
    """The findings of one node that are held back. Times are the node's."""

    def __init__(self) -> None:
        self._pending: list[Divergence] = []
        self._node: Node | None = None
        self._changed = True  # whether the last report of the node had changes; True before the first
        self._was_short = False  # whether the last report without changes was early
        self._out_of_turn: int | None = None
        self._kubelet_since = 0

    def hold(self, found: Divergence) -> None:
        self._pending.append(found)

    def node_received(self, node: Node | None) -> None:
        """Note a report of the Node. An unchanged status before its time comes from a kubelet that has just started. If
        every such status is early, the node has another interval. A changed status proves nothing."""
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
        """The time since which the kubelet must be a new one, if the held findings prove it."""
        first = min((one.at for one in self._pending), default=0)
        together = {one.uid for one in self._pending if one.at - first <= HOLD_TIME}
        signed = self._out_of_turn is not None and abs(first - self._out_of_turn) <= HOLD_TIME
        return first if self._pending and (len(together) > 1 or signed) else None

    def explained(self, kubelet_since: int) -> None:
        """Drop the findings that a restart explains, if it is new."""
        if kubelet_since > self._kubelet_since:
            self._kubelet_since = kubelet_since
            self._pending = [one for one in self._pending if one.at < kubelet_since]

    def due(self, now: int | None = None) -> list[Divergence]:
        """The divergences that no sign has explained in time; without a time, all pending ones."""
        expired = [one for one in self._pending if now is None or now - one.at > HOLD_TIME]
        self._pending = [one for one in self._pending if one not in expired]
        return expired


def _heartbeat(status: NodeStatus) -> int | None:
    return max((at for one in status.conditions if (at := moment(one.last_heartbeat_time)) is not None), default=None)


def _said(status: NodeStatus) -> NodeStatus:
    """The status without its heartbeats."""
    return status.changed(conditions=tuple(one.changed(last_heartbeat_time=None) for one in status.conditions))

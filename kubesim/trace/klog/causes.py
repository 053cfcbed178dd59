"""What a log line needs to know from earlier records: the record's causes, the uid and the node of its pod."""

from __future__ import annotations

from kubesim.trace import records as r

KEPT = 50_000  # a cause is rarely more than a few hundred records back
_KINDS = (r.ConfigUpdate, r.LoopSelect, r.PlegEvent, r.ProbeOutcome, r.CriCall, r.StatusSet)


class Causes:
    """Remembers the newest records of the kinds that later lines refer to."""

    def __init__(self) -> None:
        self._kept: dict[int, r.Record] = {}
        self._uids: dict[str, str] = {}
        self._nodes: dict[str, str] = {}

    def see(self, record: r.Record) -> None:
        if isinstance(record, _KINDS):
            self._kept[record.seq] = record
            if len(self._kept) > 2 * KEPT:
                self._kept = dict(list(self._kept.items())[-KEPT:])
        if isinstance(record, r.ConfigUpdate):
            self._nodes.update(dict.fromkeys(record.pods, record.node))
        if record.pod and record.uid:
            self._uids[record.pod] = record.uid

    def of(self, record: r.Record | None) -> r.Record | None:
        """The record that caused it."""
        return None if record is None or record.cause is None else self._kept.get(record.cause)

    def uid(self, record: r.Record) -> str:
        return record.uid or self._uids.get(record.pod, "")

    def node(self, record: r.Record) -> str:
        """The node whose kubelet writes the line."""
        pods = record.pods if isinstance(record, r.Handler) else (record.pod,)
        return record.node or next((self._nodes[pod] for pod in pods if pod in self._nodes), "")

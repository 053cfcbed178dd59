"""Facts from earlier records that log lines need: causes, the uid and node of a pod, exit codes."""

from __future__ import annotations

import re

from kubesim.trace import records as r

KEPT = 50_000  # a cause is rarely more than a few hundred records back
_EXIT = re.compile(r"container \S+ ended with exit code (\d+)")  # a note of the runtime
_KINDS = (r.ConfigUpdate, r.LoopSelect, r.PlegEvent, r.ProbeOutcome, r.CriCall, r.StatusSet)


class Causes:
    """Keeps the newest records of the kinds that later lines refer to."""

    def __init__(self) -> None:
        self._kept: dict[int, r.Record] = {}
        self._uids: dict[str, str] = {}
        self._nodes: dict[str, str] = {}
        self._exit_codes: dict[tuple[str, str], int] = {}

    def see(self, record: r.Record) -> None:
        if isinstance(record, _KINDS):
            self._kept[record.seq] = record
            if len(self._kept) > 2 * KEPT:
                self._kept = dict(list(self._kept.items())[-KEPT:])
        if isinstance(record, r.ConfigUpdate):
            self._nodes.update(dict.fromkeys(record.pods, record.node))
        if isinstance(record, r.Note) and (exited := _EXIT.match(record.text)):
            self._exit_codes[record.pod, record.container] = int(exited[1])
        if record.pod and record.uid:
            self._uids[record.pod] = record.uid

    def of(self, record: r.Record | None) -> r.Record | None:
        """The record that caused this record."""
        return None if record is None or record.cause is None else self._kept.get(record.cause)

    def uid(self, record: r.Record) -> str:
        return record.uid or self._uids.get(record.pod, "")

    def exit_code(self, record: r.Record) -> int | None:
        """The last exit code of the record's container."""
        return self._exit_codes.get((record.pod, record.container))

    def node(self, record: r.Record) -> str:
        """The node whose kubelet logs the record."""
        pods = record.pods if isinstance(record, r.Handler) else (record.pod,)
        return record.node or next((self._nodes[pod] for pod in pods if pod in self._nodes), "")

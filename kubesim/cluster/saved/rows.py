"""The rows of kubectl's tables over a whole run: each object's row of `kubectl get -A -o wide`, at every change.

Cells with ages are placeholders: the start of the age in microseconds since the start of the run, between two U+0001
characters. A reader computes the age for its own time.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from kubesim.cluster.kubectl.printing import cell_text
from kubesim.cluster.saved.history import ObjectChange
from kubesim.cluster.store.served_kinds import resource_for
from kubesim.cluster.tables.rules import table_of
from kubesim.cluster.tables.table import TableContext
from kubesim.trace.records import Record

MARK = "\x01"
_SILENT = ("Lease", "Namespace", "ServiceAccount", "Secret")  # kinds written constantly, or of no interest


class PlaceholderContext(TableContext):
    """Formats every age as its placeholder. `now` is the start of the run."""

    __slots__ = ()

    def ago(self, moment: int) -> str:
        return f"{MARK}{moment - self.now}{MARK}"


class RowTimeline:
    """Records the rows during a run (see `RunObserver`)."""

    def __init__(self, start: int) -> None:
        self._context = PlaceholderContext(start, wide=True)
        self._kinds: dict[str, dict[str, Any]] = {}
        self.t = 0  # time of the last change

    def record(self, record: Record) -> None:
        """Ignored: a trace record changes no object."""

    def change(self, change: ObjectChange) -> None:
        self.t = change.t
        obj = change.object
        if obj["kind"] in _SILENT:
            return
        metadata = obj["metadata"]
        table = self._table(obj)
        key = f"{metadata.get('namespace', '')}/{metadata['name']}"
        rows = table["rows"].setdefault(key, [])
        row = None if change.type == "DELETED" else self._row(obj)
        last = rows[-1][1] if rows else None
        if row != last:
            rows.append([change.t, row])

    def _table(self, obj: dict[str, Any]) -> dict[str, Any]:
        kind = obj["kind"]
        table = self._kinds.get(kind)
        if table is None:
            namespaced = bool(obj["metadata"].get("namespace"))
            resource = resource_for(obj["apiVersion"], kind, namespaced=namespaced)
            names = [column.name.upper() for column in table_of(kind).columns]
            header = ["NAMESPACE", *names] if namespaced else names
            table = self._kinds[kind] = {"plural": resource.plural, "header": header, "rows": {}}
        return table

    def _row(self, obj: dict[str, Any]) -> list[str]:
        cells = [cell_text(cell) for cell in table_of(obj["kind"]).cells(obj, self._context)]
        namespace = obj["metadata"].get("namespace")
        return [namespace, *cells] if namespace else cells

    def data(self) -> list[dict[str, Any]]:
        """All tables: pods, nodes and Events first."""
        first = {"Pod": 0, "Node": 1, "Event": 2}
        return [self._kinds[kind] for kind in sorted(self._kinds, key=lambda kind: (first.get(kind, 3), kind))]

    def since(self, t: int) -> list[dict[str, Any]]:
        """All tables in the same order, with the rows since this time."""
        return [{**table, "rows": _recent(table["rows"], t)} for table in self.data()]


def _recent(rows: dict[str, list[list[Any]]], t: int) -> dict[str, list[list[Any]]]:
    recent = {}
    for key, versions in rows.items():
        if versions and versions[-1][0] >= t:
            recent[key] = versions[bisect_left(versions, t, key=lambda version: version[0]) :]
    return recent

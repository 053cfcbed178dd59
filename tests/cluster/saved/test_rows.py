"""The rows of kubectl's tables over a run: one for each visible change, with placeholders for ages."""

from __future__ import annotations

from typing import Any

from kubesim.api.timestamps import SECOND, format_time
from kubesim.cluster.saved.history import ObjectChange
from kubesim.cluster.saved.rows import MARK, RowTimeline

START = 1_700_000_000 * SECOND


def pod(phase: str, **status: Any) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "default", "creationTimestamp": format_time(START + 2 * SECOND)}
    spec = {"containers": [{"name": "main"}], "nodeName": "n"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase, **status}}


def rows(*changes: ObjectChange) -> list[tuple[int, list[str] | None]]:
    timeline = RowTimeline(START)
    for change in changes:
        timeline.change(change)
    [table] = timeline.data()
    assert (table["plural"], table["header"][:4]) == ("pods", ["NAMESPACE", "NAME", "READY", "STATUS"])
    return [(t, row and row[:6]) for t, row in table["rows"]["default/web"]]


def test_an_age_is_a_placeholder_with_its_start() -> None:
    [(t, row)] = rows(ObjectChange(5, "ADDED", pod("Pending")))
    assert (t, row) == (5, ["default", "web", "0/1", "Pending", "0", f"{MARK}{2 * SECOND}{MARK}"])


def test_an_invisible_change_adds_no_row_and_a_deletion_ends_it() -> None:
    found = rows(
        ObjectChange(1, "ADDED", pod("Pending")),
        ObjectChange(2, "MODIFIED", pod("Pending", message="not shown")),
        ObjectChange(3, "MODIFIED", pod("Running")),
        ObjectChange(9, "DELETED", pod("Running")),
    )
    assert [(t, row and row[3]) for t, row in found] == [(1, "Pending"), (3, "Running"), (9, None)]


def test_leases_and_secrets_have_no_table() -> None:
    timeline = RowTimeline(START)
    for kind in ("Lease", "Secret"):
        timeline.change(ObjectChange(0, "ADDED", {**pod(""), "kind": kind}))
    assert timeline.data() == []

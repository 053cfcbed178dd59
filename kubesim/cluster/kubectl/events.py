"""Events as `kubectl events` and `kubectl describe` print them.

Mirrors: kubectl/pkg/cmd/events event_printer.go; kubectl/pkg/util/event sorted_event_list.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubesim.api.timestamps import parse_time
from kubesim.cluster.kubectl.printing import in_columns
from kubesim.cluster.tables.ages import age
from kubesim.cluster.tables.table import JsonObject, dig


def last_time(event: JsonObject) -> int:
    """When the Event last occurred."""
    last = dig(event, "series.lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return parse_time(last) if last else 0


def in_order(events: Iterable[JsonObject]) -> list[JsonObject]:
    """Sorted, oldest first."""
    return sorted(events, key=last_time)


def interval(event: JsonObject, now: int) -> str:
    """`20s`, or `20s (x3 over 60s)` for a repeated Event."""
    first = age(event.get("eventTime") or event.get("firstTimestamp"), now)
    series = event.get("series")
    if series is not None:
        return f"{age(series.get('lastObservedTime'), now)} (x{series.get('count', 0)} over {first})"
    if event.get("count", 0) > 1:
        return f"{age(event.get('lastTimestamp'), now)} (x{event['count']} over {first})"
    return first


def events_table(events: Sequence[JsonObject], now: int, *, headers: bool = True, with_namespace: bool = False) -> str:
    rows = [["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]] if headers else []
    rows = [["NAMESPACE", *row] for row in rows] if with_namespace else rows
    for event in in_order(events):
        involved = event.get("involvedObject") or {}
        cells = [
            interval(event, now),
            event.get("type", ""),
            event.get("reason", ""),
            f"{involved.get('kind', '')}/{involved.get('name', '')}",
            event.get("message", "").strip().replace("\t", " ").replace("\n", "\\n"),
        ]
        rows.append([event["metadata"].get("namespace", ""), *cells] if with_namespace else cells)
    return in_columns(rows)


def about(events: Iterable[JsonObject], obj: JsonObject) -> list[JsonObject]:
    """The Events of an object, selected and sorted as in kubectl describe.

    Events about a node may have its name as uid. A kubelet v1.36 sets neither, so its Events about its node are not
    found: upstream has the same gap. An Event without lastTimestamp (from the scheduler) comes first.
    """
    metadata, kind = obj["metadata"], obj["kind"]
    uids = (metadata.get("uid"), metadata["name"]) if kind == "Node" else (metadata.get("uid"),)
    key = (kind, metadata["name"], metadata.get("namespace", ""))
    found = [
        event
        for event in events
        if (involved := event.get("involvedObject") or {}).get("uid") in uids
        and (involved.get("kind"), involved.get("name"), involved.get("namespace", "")) == key
    ]
    return sorted(found, key=lambda event: event.get("lastTimestamp") or "")

"""Objects as a Table: column definitions with descriptions, and a row for each object.

Mirrors: pkg/printers/storage storage.go TableConvertor; pkg/printers/internalversion printers.go AddHandlers;
apiserver/pkg/endpoints/handlers response.go asTable
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.cluster.store.kinds import Resource
from kubesim.cluster.tables.rules import table_of
from kubesim.cluster.tables.table import Column, TableContext, TableRules, dig

JsonObject = dict[str, Any]

_COMPLETED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}
# Short descriptions. A column missing here is described by its name.
_DESCRIPTIONS = {
    "Name": "The name of the object. It is unique among the objects of its kind in a namespace.",
    "Age": "How long ago the object was created.",
    "Ready": "How many of the parts are ready, and how many there are.",
    "Status": "The state of the object in one word.",
    "Restarts": "How often containers were restarted, and when the last restart was.",
    "Node": "The node on which the pod runs or will run.",
    "IP": "The address of the pod.",
    "Nominated Node": "The node on which the scheduler makes room for the pod.",
    "Readiness Gates": "How many of the pod's readiness gates are met.",
    "Data": "The number of entries.",
    "Last Seen": "When the latest of these events happened.",
    "First Seen": "When the first of these events happened.",
    "Object": "The object that the event is about.",
    "Message": "What happened.",
}


def table_of_items(
    resource: Resource, items: list[JsonObject], metadata: Mapping[str, Any], now: int, included: str, version: str
) -> JsonObject:
    rules, context = (
        table_of(resource.kind) if resource.columns is None else resource.columns,
        TableContext(now, wide=True),
    )
    return {
        "kind": "Table",
        "apiVersion": version,
        "metadata": dict(metadata),
        "columnDefinitions": [_definition(column) for column in rules.columns],
        "rows": [_row(resource, rules, item, context, included, version) for item in items],
    }


def _definition(column: Column) -> JsonObject:
    return {
        "name": column.name,
        "type": column.type,
        "format": "name" if column.name == "Name" else column.format,
        "description": column.description or _DESCRIPTIONS.get(column.name, f"{column.name} of the object."),
        "priority": column.priority,
    }


def _row(
    resource: Resource, rules: TableRules, item: JsonObject, context: TableContext, included: str, version: str
) -> JsonObject:
    named = {**item, "metadata": {"name": "", **item["metadata"]}}
    row: JsonObject = {
        "cells": list(rules.cells(resource.conversion.to_stored(named) if resource.converted else named, context))
    }
    phase = dig(item, "status.phase", "")
    if resource.kind == "Pod" and phase in _COMPLETED:
        reason = {"reason": phase, "message": _COMPLETED[phase]}
        row["conditions"] = [{"type": "Completed", "status": "True"} | reason]
    if included == "Object":
        head = {"kind": resource.kind_name, "apiVersion": resource.api_version}
        row["object"] = head | item
    else:
        row["object"] = None if included == "None" else metadata_of(item, version)
    return row


def metadata_of(item: Mapping[str, Any], version: str) -> JsonObject:
    return {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": item["metadata"]}

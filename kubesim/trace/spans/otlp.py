"""OpenTelemetry spans, and export requests in OTLP's JSON encoding.

In this encoding, ids are hexadecimal, times are strings of nanoseconds, and kinds and status codes are numbers.

Mirrors: opentelemetry-proto trace.proto, and its JSON mapping
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any, Literal

from kubesim.values import mutable

KINDS = {"internal": 1, "client": 3}
STATUS_ERROR = 2
Request = dict[str, Any]  # an ExportTraceServiceRequest


@mutable
class OtlpSpan:
    """A span. Times are microseconds since the epoch. `scope` is the name and version of the instrumentation."""

    node: str
    scope: tuple[str, str]
    name: str
    kind: Literal["internal", "client"]
    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    start: int
    attributes: dict[str, str]
    end: int = 0
    error: str | None = None  # the message of the status, if the span failed
    events: list[tuple[int, str, dict[str, str]]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"traceId": self.trace_id.hex(), "spanId": self.span_id.hex()}
        if self.parent_id:
            out["parentSpanId"] = self.parent_id.hex()
        out |= {
            "name": self.name,
            "kind": KINDS[self.kind],
            "startTimeUnixNano": _nanoseconds(self.start),
            "endTimeUnixNano": _nanoseconds(self.end),
            "attributes": _attributes(self.attributes),
        }
        if self.events:
            out["events"] = [
                {"timeUnixNano": _nanoseconds(moment), "name": name, "attributes": _attributes(attributes)}
                for moment, name, attributes in self.events
            ]
        out["status"] = {} if self.error is None else {"message": self.error, "code": STATUS_ERROR}
        return out


def export_request(spans: Iterable[OtlpSpan]) -> Request:
    """One request with all spans: by node, then by scope, then in the given order."""
    nodes: dict[str, dict[tuple[str, str], list[dict[str, Any]]]] = {}
    for span in spans:
        nodes.setdefault(span.node, {}).setdefault(span.scope, []).append(span.to_json())
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(_resource(node))},
                "scopeSpans": [
                    {"scope": {"name": name, "version": version} if version else {"name": name}, "spans": own}
                    for (name, version), own in scopes.items()
                ],
            }
            for node, scopes in nodes.items()
        ]
    }


def _resource(node: str) -> dict[str, str]:
    """The attributes of a node's resource: the kubelet's service and host name, and the node name."""
    return {"service.name": "kubelet", "host.name": node, "k8s.node.name": node}


def _attributes(values: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]


def _nanoseconds(micros: int) -> str:
    return f"{micros}000"

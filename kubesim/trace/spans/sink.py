"""A sink that converts records to spans: pod syncs, and runtime calls within and outside them.

Some spans of the kubelet are missing, because the trace has no such records: requests to the API server, read-only
runtime calls, garbage collection. A killed kubelet loses its open spans.

Mirrors: pkg/kubelet/kubelet.go SyncPod, SyncTerminatingPod, SyncTerminatedPod; cri-client remote_runtime.go (otelgrpc);
component-base/tracing/utils.go NewProvider (sampling)
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from kubesim.trace import records as r
from kubesim.trace.klog.redact import Redaction
from kubesim.trace.pod_nodes import PodNodes
from kubesim.trace.spans.otlp import OtlpSpan, Request, export_request

BATCH = 512  # spans per request, as in OpenTelemetry's batch processor
_KUBELET = ("k8s.io/kubernetes/pkg/kubelet", "")
_GRPC = ("go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc", "0.65.0")
_SYNCS = {
    "SyncPod": "syncPod",
    "SyncTerminatingPod": "syncTerminatingPod",
    "SyncTerminatedPod": "syncTerminatedPod",
}  # SyncTerminatingRuntimePod has no span
_IMAGE_CALLS = ("PullImage", "RemoveImage")
_SOCKET = "/run/containerd/containerd.sock"
_GRPC_ERROR = re.compile(r"rpc error: code = (\w+) desc = (.*)", re.DOTALL)


class SpanSink:
    """Calls `write` with requests of up to 512 spans. Ids come from `identity` (the scenario and its seed); `origin` is
    the start time of the trace, in microseconds. Without a sampling rate, every span is written. Errors are redacted as
    in the log.
    """

    def __init__(
        self,
        write: Callable[[Request], None],
        identity: str,
        origin: int,
        *,
        sampling_rate_per_million: int | None = None,
        redaction: Redaction | None = None,
    ) -> None:
        self._write = write
        self._redacted = (redaction or Redaction()).text
        self._identity = identity
        self._origin = origin
        self._rate = 1_000_000 if sampling_rate_per_million is None else sampling_rate_per_million
        self._nodes = PodNodes()
        self._open: dict[int, OtlpSpan] = {}  # by the number of the record that began the span
        self._syncs: dict[str, int] = {}  # uid of a pod -> the record that began its sync
        self._ended: list[OtlpSpan] = []

    def record(self, record: r.Record) -> None:
        node = self._nodes.node_of(record)
        if isinstance(record, r.SyncBegin):
            self._sync_begins(record, node)
        elif isinstance(record, r.SyncEnd):
            self._sync_ends(record)
        elif isinstance(record, r.CriCall):
            self._call_begins(record, node)
        elif isinstance(record, r.CriReturn):
            self._call_ends(record)
        elif isinstance(record, r.Note) and record.ends_kubelet:
            self._open = {seq: span for seq, span in self._open.items() if span.node != node}

    def flush(self) -> None:
        """Write the spans that have ended."""
        if self._ended:
            self._write(export_request(self._ended))
            self._ended = []

    def _sync_begins(self, record: r.SyncBegin, node: str) -> None:
        name = _SYNCS.get(record.sync)
        if name is None:
            return
        namespace, _, pod = record.pod.partition("/")
        attributes = {"k8s.pod.uid": record.uid, "k8s.pod": record.pod, "k8s.pod.name": pod}
        if name == "syncPod":
            attributes["k8s.pod.update_type"] = record.update
        attributes["k8s.namespace.name"] = namespace
        trace_id, span_id = self._ids(record, node)
        start = self._origin + record.t
        self._syncs[record.uid] = record.seq
        self._open[record.seq] = OtlpSpan(node, _KUBELET, name, "internal", trace_id, span_id, b"", start, attributes)

    def _sync_ends(self, record: r.SyncEnd) -> None:
        span = self._open.pop(self._syncs.pop(record.uid, 0), None)
        if span is None:
            return
        if record.error and span.name != "syncTerminatedPod":  # upstream does not record its errors in the span
            span.error = self._redacted(record.error)
            span.events.append((self._origin + record.t, "exception", {"exception.message": span.error}))
        self._end(span, record)

    def _call_begins(self, record: r.CriCall, node: str) -> None:
        """Open the span of a call, within the sync that caused the call."""
        service = "ImageService" if record.call in _IMAGE_CALLS else "RuntimeService"
        name = f"runtime.v1.{service}/{record.call}"
        trace_id, span_id = self._ids(record, node)
        sync = self._open.get(record.cause or 0)
        if sync is not None:
            trace_id = sync.trace_id
        parent = b"" if sync is None else sync.span_id
        attributes = {"rpc.method": name, "rpc.system.name": "grpc", "server.address": _SOCKET}
        start = self._origin + record.t
        self._open[record.seq] = OtlpSpan(node, _GRPC, name, "client", trace_id, span_id, parent, start, attributes)

    def _call_ends(self, record: r.CriReturn) -> None:
        span = self._open.pop(record.cause or 0, None)
        if span is None:
            return
        code = "OK"
        if record.error:
            found = _GRPC_ERROR.search(record.error)
            code, error = (found[1], found[2]) if found is not None else ("Unknown", record.error)
            span.error = self._redacted(error)
        span.attributes["rpc.response.status_code"] = code
        self._end(span, record)

    def _end(self, span: OtlpSpan, record: r.Record) -> None:
        span.end = self._origin + record.t
        if is_sampled(span.trace_id, self._rate):
            self._ended.append(span)
        if len(self._ended) >= BATCH:
            self.flush()

    def _ids(self, record: r.Record, node: str) -> tuple[bytes, bytes]:
        """The ids of a trace and a span, the same for the same run."""
        digest = hashlib.sha256(f"{self._identity} {node} {record.seq}".encode()).digest()
        return digest[:16], digest[16:24]


def is_sampled(trace_id: bytes, rate_per_million: int) -> bool:
    """Whether a trace is sampled, by its id alone, so that all its spans agree."""
    return int.from_bytes(trace_id[8:], "big") >> 1 < rate_per_million * (1 << 63) // 1_000_000

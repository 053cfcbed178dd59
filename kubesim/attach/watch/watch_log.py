"""The log of an attached agent: its requests, lists and watches as client-go logs them, and its findings.

A request is logged with its verb, path and query. Headers, and with them all credentials, are never logged.
Mirrors: client-go/transport/round_trippers.go, client-go/tools/cache/reflector.go (v1.36.4)
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.client import responses
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from kubesim.api.timestamps import MILLISECOND
from kubesim.attach.shadow.divergence import Divergence
from kubesim.attach.shadow.shadow import ShadowReport
from kubesim.attach.watch.node_follower import Viewer
from kubesim.clock import Clock
from kubesim.cluster.remote.transport import Call, Reply, Transport
from kubesim.errors import TransportError
from kubesim.golang.text import printable
from kubesim.trace.klog.line import KlogLine, Ref, error, info

if TYPE_CHECKING:
    from kubesim.trace.klog.logger import KubeletLogger

_HERE = "attach/watch/node_follower.py:1"  # klog writes line 1 if the line is unknown
_REFLECTOR = "cache/reflector.go"
_TYPES = {"pods": "*v1.Pod", "nodes": "*v1.Node", "events": "*v1.Event", "leases": "*v1.Lease"}


class AttachLog:
    """Writes lines at the time of a clock."""

    def __init__(self, logger: KubeletLogger, clock: Clock) -> None:
        self._logger = logger
        self.clock = clock

    def put(self, line: KlogLine) -> None:
        self._logger.put(line, self.clock.now())


class LoggedTransport:
    """A transport that logs every call before it passes it on."""

    def __init__(self, transport: Transport, log: AttachLog) -> None:
        self._transport = transport
        self._log = log

    async def close(self) -> None:
        await self._transport.close()

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncIterator[Reply]:
        log, begin = self._log, self._log.clock.now()
        about = _about(call)
        if call.verb == "list" or "sendInitialEvents" in call.query:
            log.put(info(f"{_REFLECTOR}:472", 3, "Listing and watching", **about))
        answered = False
        try:
            async with self._transport.open(call) as reply:
                answered = True
                self._responded(call, f"{reply.status} {responses.get(reply.status, '')}", begin)
                try:
                    yield reply
                finally:
                    if call.verb == "watch":
                        log.put(info(f"{_REFLECTOR}:1093", 4, "Watch close", **about))
        except TransportError:
            if not answered:
                self._responded(call, "", begin)
            raise

    def _responded(self, call: Call, status: str, begin: int) -> None:
        """Log a response; the status is empty without an answer."""
        took = (self._log.clock.now() - begin) // MILLISECOND
        url = call.path + ("?" + urlencode(call.query) if call.query else "")
        request = {"verb": call.method, "url": url, "status": status, "milliseconds": took}
        self._log.put(info("transport/round_trippers.go:632", 6, "Response", **request))


def _about(call: Call) -> dict[str, str]:
    kind = _TYPES.get(call.path.rpartition("/")[2], call.path)
    return {"type": kind, "reflector": f"kubesim/attach:{call.path}"}


class LoggedViewer:
    """A viewer that logs findings before it passes them on."""

    def __init__(self, viewer: Viewer, log: AttachLog) -> None:
        self._viewer = viewer
        self._log = log

    def reported(self, report: ShadowReport) -> None:
        for verdict in report.verdicts:
            due = verdict.prediction
            outcome = {"outcome": verdict.outcome, "container": due.container, "expected": printable(due.what)}
            self._log.put(info(_HERE, 4, "Prediction judged", **outcome))
        self._viewer.reported(report)

    def diverged(self, divergence: Divergence) -> None:
        pod = Ref(printable(f"{divergence.namespace}/{divergence.name}"))
        found = {"pod": pod, "podUID": printable(divergence.uid), "kind": divergence.kind, "rule": divergence.rule}
        self._log.put(error(_HERE, printable(divergence.says), "The kubelet diverges from its rules", **found))
        self._viewer.diverged(divergence)

    def problem(self, text: str) -> None:
        self._log.put(error(_HERE, printable(text), "Cannot follow the cluster"))
        self._viewer.problem(text)

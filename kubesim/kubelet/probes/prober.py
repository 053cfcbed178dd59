"""The prober: runs a probe with up to three attempts, and emits an Event for every result except plain success.

Workers call it when a probe is due.

Mirrors: pkg/kubelet/prober/prober.go probe, runProbeWithRetries, runProbe
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from kubesim.api.pod import PodStatus
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.probes.handlers import ProbeAnswer, exec_probe, grpc_probe, http_probe, tcp_probe
from kubesim.kubelet.probes.worker_rules import WorkerSubject
from kubesim.runtime.helper import EventRecorder
from kubesim.runtime.kuberuntime.naming import format_pod
from kubesim.runtime.network.http_request import BadRequest, new_request_for_http_get_action, resolve_container_port
from kubesim.runtime.network.node_network import NodeNetwork
from kubesim.runtime.protocol import Runtime
from kubesim.runtime.types import ProbeResult, bare_id
from kubesim.values import replace

MAX_PROBE_RETRIES = 3

WARNING = "Warning"
CONTAINER_UNHEALTHY = "Unhealthy"
CONTAINER_PROBE_WARNING = "ProbeWarning"

# Called before each probe with the container id and the time on the node's clock.
ProbeListener = Callable[[WorkerSubject, PodStatus, str, int], None]


class Prober:
    """The prober of one kubelet."""

    _gates: FeatureGates = DEFAULT_GATES
    _listener: ProbeListener | None = None

    def __init__(
        self,
        clock: LoopClock,
        runtime: Runtime,
        network: NodeNetwork,
        events: EventRecorder,
        gates: FeatureGates = DEFAULT_GATES,
        listener: ProbeListener | None = None,
    ) -> None:
        self._clock = clock
        self._runtime = runtime
        self._network = network
        self._events = events
        self._gates = gates
        self._listener = listener

    async def probe(self, subject: WorkerSubject, status: PodStatus, container_id: str) -> ProbeResult | None:
        """The result; None if the probe could not run, which leaves the previous result unchanged."""
        if self._listener is not None:
            self._listener(subject, status, container_id, self._clock.wall())
        for _ in range(MAX_PROBE_RETRIES):
            try:
                answer = await self.run_probe(subject, status, container_id)
            except BadRequest as error:
                answer = ProbeAnswer("unknown", error=str(error))
            if answer.error is None:
                break
        if answer.result == "success" and answer.error is None:
            return "success"
        kind = subject.probe_type.capitalize()
        if answer.error is not None:
            message = self._gates.rules.probe_error_event.format(kind=kind, result=answer.result, error=answer.error)
            self._event(subject, CONTAINER_UNHEALTHY, message)
            return None
        if answer.result == "warning":
            self._event(subject, CONTAINER_PROBE_WARNING, f"{kind} probe warning: {answer.output}")
        elif answer.result == "failure":
            self._event(subject, CONTAINER_UNHEALTHY, f"{kind} probe failed: {answer.output}")
        # Unknown without an error is a failure without an Event.
        return "success" if answer.result == "warning" else "failure"

    def _event(self, subject: WorkerSubject, reason: str, message: str) -> None:
        self._events.event(subject.pod, WARNING, reason, message, subject.container.name)

    def run_probe(
        self, subject: WorkerSubject, status: PodStatus, container_id: str
    ) -> Coroutine[Any, Any, ProbeAnswer]:
        """One attempt with the probe's handler. Raises BadRequest before the first await."""
        spec, container = subject.spec, subject.container
        timeout = spec.timeout_seconds * SECOND
        if spec.exec is not None:
            words, identifier = spec.exec.command, bare_id(container_id)
            limit = timeout if self._gates.rules.ends_exec_probes else 0
            return exec_probe(self._runtime, identifier, words, container.env, limit, subject.context)
        if spec.http_get is not None:
            request = new_request_for_http_get_action(
                spec.http_get, container, status.pod_ip, "probe", self._gates.rules
            )
            if spec.http_get.protocol == "HTTP2" and self._gates.enabled("H2CContainerProbe"):
                request = replace(request, http2=True)
            return http_probe(self._network, self._clock, request, timeout)
        if spec.tcp_socket is not None:
            port = resolve_container_port(spec.tcp_socket.port, container, self._gates.rules)
            return tcp_probe(self._network, spec.tcp_socket.host or status.pod_ip, port, timeout)
        if spec.grpc is not None:
            service = spec.grpc.service or ""
            tls = spec.grpc.mode == "TLS" and self._gates.enabled("GRPCContainerProbeTLS")
            return grpc_probe(self._network, self._clock, status.pod_ip, spec.grpc.port, service, timeout, tls=tls)
        raise BadRequest(f"missing probe handler for {format_pod(subject.pod)}:{container.name}")

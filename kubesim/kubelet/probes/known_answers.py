"""A prober that uses the probe results of the real containers that a run simulates."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Literal

from kubesim.api.pod import PodStatus
from kubesim.clock import LoopClock
from kubesim.kubelet.probes.handlers import ProbeAnswer
from kubesim.kubelet.probes.prober import Prober
from kubesim.kubelet.probes.worker_rules import WorkerSubject
from kubesim.runtime.helper import EventRecorder
from kubesim.runtime.network.node_network import NodeNetwork
from kubesim.runtime.protocol import Runtime
from kubesim.runtime.types import ProbeResult

# The real container's result, "wait" while it is unknown, or None: probe the simulated container.
KnownAnswer = Callable[[WorkerSubject, PodStatus], Literal["success", "failure", "wait"] | None]


class KnownProber(Prober):
    def __init__(
        self, clock: LoopClock, runtime: Runtime, network: NodeNetwork, events: EventRecorder, known: KnownAnswer
    ) -> None:
        super().__init__(clock, runtime, network, events)
        self._known = known

    async def probe(self, subject: WorkerSubject, status: PodStatus, container_id: str) -> ProbeResult | None:
        if self._known(subject, status) == "wait":
            return None
        return await super().probe(subject, status, container_id)

    def run_probe(
        self, subject: WorkerSubject, status: PodStatus, container_id: str
    ) -> Coroutine[Any, Any, ProbeAnswer]:
        match self._known(subject, status):
            case "success":
                return _answered(ProbeAnswer("success"))
            case "failure":
                return _answered(ProbeAnswer("failure", output="the probe of the real container fails"))
        return super().run_probe(subject, status, container_id)


async def _answered(answer: ProbeAnswer) -> ProbeAnswer:
    return answer

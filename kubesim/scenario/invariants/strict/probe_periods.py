"""A readiness probe runs at its period until its container ends, also while the pod terminates.

A server that is being stopped reports that it is not ready any more, and Services must notice it.

The kubelets v1.35 and v1.36 violate it: the context of an exec probe is that of a sync, and ends with it when the pod
begins to terminate (kubernetes/kubernetes#140882). Only probes that execute a command are checked, and not in the ten
minutes after a fault.
"""

from __future__ import annotations

from kubesim.api.pod import Probe
from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.golang.text import duration
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.strict.observer import ContainerKey, RuleObserver, Scene, container_key, ends_kubelet
from kubesim.trace.records import CriCall, CriReturn, Fault, Record

MISSED = 3  # periods
PAUSE = 10 * MINUTE


class ProbePeriods(RuleObserver):
    """Remembers when the probe of each container last returned."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._last: dict[ContainerKey, int] = {}
        self._begun: dict[int, tuple[str, ...]] = {}  # commands, by the number of the call's record
        self._fault_at = -PAUSE

    def recorded(self, record: Record) -> str:
        if isinstance(record, Fault) or ends_kubelet(record):
            self._fault_at = record.t
            self._last.clear()
        elif isinstance(record, CriCall) and record.call == "ExecSync":
            self._begun[record.seq] = tuple(record.args["cmd"])
        elif isinstance(record, CriReturn) and record.call == "ExecSync":
            command = self._begun.pop(record.cause or 0, ())
            if not record.error:  # an error is no result
                self._returned(record, command)
        elif isinstance(record, CriReturn) and record.call == "StopContainer" and not record.error:
            return self._stopped(record)
        return ""

    def _returned(self, record: Record, command: tuple[str, ...]) -> None:
        probe = self._probe(container_key(record))
        if probe is not None and probe.exec is not None and tuple(probe.exec.command) == command:
            self._last[container_key(record)] = record.t

    def _stopped(self, record: Record) -> str:
        last, probe = self._last.pop(container_key(record), None), self._probe(container_key(record))
        if last is None or probe is None or record.t < self._fault_at + PAUSE:
            return ""
        longest = (MISSED * probe.period_seconds + probe.timeout_seconds) * SECOND
        if record.t - last <= longest:
            return ""
        missed = duration(record.t - last)
        return (
            f"the readiness probe of container {record.container} did not run in the last {missed} before it ended; "
            f"its period is {probe.period_seconds}s"
        )

    def _probe(self, key: ContainerKey) -> Probe | None:
        container = self.scene.container(key)
        return None if container is None else container.readiness_probe


INVARIANT = Invariant("probe-periods", observer=ProbePeriods)

"""The result of a run: the closing messages that the console, reports and tests read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubesim.runtime.containerd.cni_settings import NetworkPicture
from kubesim.scenario.ending.failure import Failure
from kubesim.values import value_object

if TYPE_CHECKING:
    from kubesim.runtime.containerd.leaks.leftovers import Leak


@value_object
class RunResult:
    """The result of a run. Durations are microseconds."""

    scenario: str
    seed: int
    duration: int  # virtual time from the first object to the end
    records: int  # number of trace records; 0 without a listener
    trace_hash: str | None  # set if a HashSink was among the sinks
    phases: dict[str, str]  # namespace/name -> last phase at the API server, including deleted pods
    outcomes: dict[str, str]  # namespace/name -> the outcome of the pod as text
    workloads: dict[str, str]  # kind/namespace/name -> ready replicas and similar
    expectations_met: tuple[str, ...]
    failures: tuple[Failure, ...]  # all failures, in the order they were decided
    expectations_open: tuple[str, ...]  # undecided because the run was interrupted
    events: int  # Events sent to the API server, including repetitions
    interrupted: bool = False  # a signal ended the run: the result is incomplete
    without_effect: tuple[str, ...] = ()  # fields of the scenario without effect, one line each
    networks: tuple[NetworkPicture, ...] = ()  # of nodes with real networks, when all were idle
    metrics: str = ""  # Prometheus text of the kubelets that ran at the end, if requested
    left_behind: tuple[Leak | str, ...] = ()  # resources on the host that a plugin or a runtime did not remove

    @property
    def ok(self) -> bool:
        return not self.failures

    @property
    def expectations_failed(self) -> tuple[str, ...]:
        """Expected and actual value of failed expectations, one line each."""
        return tuple(failure.sentence for failure in self.failures)


class RunInterrupted(KeyboardInterrupt):
    """A signal stopped the run; has the result so far."""

    def __init__(self, result: RunResult) -> None:
        super().__init__()
        self.result = result

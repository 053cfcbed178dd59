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
    """The closing messages of a run. Durations are microseconds."""

    scenario: str
    seed: int
    duration: int  # virtual time from the first object to the end
    records: int  # of the trace; 0 without a listener
    trace_hash: str | None  # if a HashSink was among the sinks
    phases: dict[str, str]  # namespace/name -> the last phase seen at the API server, also of pods that are gone
    outcomes: dict[str, str]  # namespace/name -> what became of the pod, in words
    workloads: dict[str, str]  # kind/namespace/name -> how many replicas were ready, and the like
    expectations_met: tuple[str, ...]
    failures: tuple[Failure, ...]  # all of them, in the order in which they were decided
    expectations_open: tuple[str, ...]  # not decided, because the run was interrupted
    events: int  # Events sent to the API server, repeated ones counted
    interrupted: bool = False  # a signal ended it: all of this is what was known by then
    without_effect: tuple[str, ...] = ()  # what the scenario requests and nothing here acts on, a line each
    networks: tuple[NetworkPicture, ...] = ()  # of nodes with real networks, when everything was idle
    metrics: str = ""  # of the kubelets that ran at the end, in the text format of Prometheus; if requested
    left_behind: tuple[Leak, ...] = ()  # on the host, because a plugin did not remove it

    @property
    def ok(self) -> bool:
        return not self.failures

    @property
    def expectations_failed(self) -> tuple[str, ...]:
        """The expected and the actual value, one line each."""
        return tuple(failure.sentence for failure in self.failures)


class RunInterrupted(KeyboardInterrupt):
    """A run that was stopped by a signal, with its result so far."""

    def __init__(self, result: RunResult) -> None:
        super().__init__()
        self.result = result

"""The disk of a node with faults: writes that fail, crash or are torn. A torn file has the first half of its text."""

from __future__ import annotations

from typing import Any

from kubesim.scenario.faults.decide import Operation
from kubesim.scenario.faults.interceptor import Interceptor
from kubesim.sources.manifests.simulated_files import SimulatedFiles


class InterceptedFiles(SimulatedFiles):
    """The directory of static pods. Whoever writes does not notice that a write failed: the old text stays."""

    def __init__(self, path: str, node: str, interceptor: Interceptor) -> None:
        super().__init__(path)
        self._node, self._interceptor = node, interceptor

    def write(self, name: str, text: str) -> None:
        operation = Operation("disk", "WriteStaticPod", self._node, subject=name)
        outcome = self._interceptor.decide(operation)
        if outcome is None:
            super().write(name, text)
            return
        if outcome.kind == "torn":
            super().write(name, text[: len(text) // 2])
        elif outcome.fault.moment == "after":
            super().write(name, text)
        if outcome.kind == "crash":
            self._interceptor.start_crash(operation, outcome)


class InterceptedState(dict[str, Any]):
    """The state files of the kubelet. One that is torn cannot be read: the kubelet goes on as if it were not there.

    Mirrors: pkg/kubelet/cm/devicemanager/manager.go Start ("Continue after failing to read checkpoint file")
    """

    def __init__(self, node: str, interceptor: Interceptor) -> None:
        super().__init__()
        self._node, self._interceptor = node, interceptor

    def __setitem__(self, name: str, value: Any) -> None:
        operation = Operation("disk", "WriteCheckpoint", self._node, subject=name)
        outcome = self._interceptor.decide(operation)
        if outcome is None or (outcome.kind != "torn" and outcome.fault.moment == "after"):
            super().__setitem__(name, value)
        elif outcome.kind == "torn":
            self.pop(name, None)
        if outcome is not None and outcome.kind == "crash":
            self._interceptor.start_crash(operation, outcome)

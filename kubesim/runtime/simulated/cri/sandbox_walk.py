"""Executes the steps of RunPodSandbox: records them in a trace with details, and injects faults."""

from __future__ import annotations

from kubesim.errors import RuntimeCallError
from kubesim.runtime.protocol import UNKNOWN_ERROR, SandboxConfig
from kubesim.runtime.simulated.cri import containerd_1, sandbox_steps
from kubesim.runtime.simulated.cri.sandbox_steps import (
    AFTER_START,
    BY_NAME,
    During,
    SandboxStep,
    StepName,
)
from kubesim.runtime.simulated.settings import SimulatedSettings
from kubesim.trace import Recorder
from kubesim.trace.records import Fault, RuntimeStep
from kubesim.values import replace


class SandboxStepFailed(RuntimeCallError):
    """A fault of the scenario. `left_behind`: why created resources could not be removed."""

    def __init__(self, text: str, left_behind: str = "") -> None:
        self.left_behind = left_behind
        super().__init__(text)


class SandboxWalk:
    """The steps of one node's runtime. Faults are counted per node."""

    def __init__(self, recorder: Recorder, node: str, settings: SimulatedSettings) -> None:
        self._recorder = recorder
        self._node = node
        self._faults = tuple(replace(fault) for fault in settings.sandbox_faults)
        self._is_first = settings.containerd == "1.7"
        self._by_name = containerd_1.STEPS if self._is_first else BY_NAME

    def run(self, sandbox_id: str, config: SandboxConfig) -> SandboxStepFailed | None:
        """Execute all steps of a simulated RunPodSandbox; returns containerd's full error if one fails."""
        metadata = config.pod.metadata
        name = "_".join((metadata.name, metadata.namespace, metadata.uid, str(config.attempt)))
        pod = f"{metadata.namespace}/{metadata.name}"
        steps = self._steps_of(config)
        for step in steps:
            try:
                self.at(step.name, pod)
            except SandboxStepFailed as problem:
                self._undo(step, steps, pod, kept=bool(problem.left_behind))
                whole = UNKNOWN_ERROR + step.error(str(problem), sandbox_id, name)
                return SandboxStepFailed(whole, problem.left_behind)
        return None

    def at(self, name: StepName, pod: str) -> None:
        """Execute one step: record it, or raise its fault's error."""
        step = self._by_name[name]
        for fault in self._faults:
            if fault.applies_to(name, pod.partition("/")[2]):
                self._recorder.record(Fault(node=self._node, pod=pod, fault=f"{step.during}: {name}: {fault.error}"))
                self.record_step(step.during, step.text, pod, fault.error)
                raise SandboxStepFailed(fault.error, fault.clean_up_error)
        self.record_step(step.during, step.text, pod)

    def record_step(self, during: During, text: str, pod: str, error: str = "") -> None:
        if self._recorder.details:
            self._recorder.detail(RuntimeStep(node=self._node, pod=pod, during=during, step=text, error=error))

    def _steps_of(self, config: SandboxConfig) -> tuple[SandboxStep, ...]:
        host_network, users = config.pod.spec.host_network, config.linux.namespaces.users
        if self._is_first:
            has_users = users is not None and users.mode == "POD"
            return containerd_1.steps_of_run(host_network=host_network, user_namespace=has_users)
        return sandbox_steps.steps_of_run(host_network=host_network)

    def _undo(self, failed: SandboxStep, steps: tuple[SandboxStep, ...], pod: str, *, kept: bool) -> None:
        if failed.name in ("store", "nri") and not self._is_first:
            self.record_step("RunPodSandbox", AFTER_START, pod)
        undone = containerd_1.undone if self._is_first else sandbox_steps.undone
        for step in undone(failed, steps, kept=kept):
            self.record_step(step.during, step.undo, pod)

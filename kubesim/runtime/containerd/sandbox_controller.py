"""The sandbox container on a node with real networks: an idle process, with the start steps of containerd.

Mirrors: containerd internal/cri/server/podsandbox/sandbox_run.go Controller.Start
"""

from __future__ import annotations

from kubesim.runtime.containerd.sandbox import PodSandbox, SandboxObserver, SandboxStartFailed
from kubesim.runtime.simulated.cri.listeners import RuntimeListeners
from kubesim.runtime.simulated.cri.sandbox_steps import BY_NAME, CONTROLLER_STEPS, StepName, steps_of_run, undone
from kubesim.runtime.simulated.cri.sandbox_walk import SandboxStepFailed


class TracedSteps(SandboxObserver):
    """Steps as details of the runtime's trace, with the faults of its settings."""

    def __init__(self) -> None:
        self.runtime: RuntimeListeners | None = None

    def at(self, sandbox: PodSandbox, step: StepName) -> None:
        walk = None if self.runtime is None else self.runtime.sandbox_walk()
        if walk is not None:
            walk.at(step, f"{sandbox.request.namespace}/{sandbox.request.name}")

    def undone(self, sandbox: PodSandbox, action: str) -> None:
        walk = None if self.runtime is None else self.runtime.sandbox_walk()
        if walk is not None:
            walk.record_step("RunPodSandbox", action, f"{sandbox.request.namespace}/{sandbox.request.name}")


class PauseProcess:
    """Implements `SandboxController` of containerd 2."""

    def __init__(self, observer: SandboxObserver | None = None) -> None:
        self._observer = observer or SandboxObserver()

    async def start(self, sandbox: PodSandbox) -> None:
        for step in CONTROLLER_STEPS:
            try:
                self._observer.at(sandbox, step.name)
            except SandboxStepFailed as problem:
                kept = bool(problem.left_behind)
                self._undo(sandbox, step.name, kept=kept)
                text = step.own_error(str(problem), sandbox.id, sandbox.name)
                raise SandboxStartFailed(text, problem.left_behind) from problem

    def _undo(self, sandbox: PodSandbox, failed: StepName, *, kept: bool) -> None:
        for step in undone(BY_NAME[failed], steps_of_run(host_network=False), kept=kept):
            if step.during == "Controller.Start":
                self._observer.undone(sandbox, step.undo)

    async def create(self, sandbox: PodSandbox) -> None: ...
    async def ensure_image(self, sandbox: PodSandbox) -> None: ...
    async def pin_user_namespace(self, sandbox: PodSandbox) -> None: ...
    async def stop(self, sandbox: PodSandbox) -> None: ...
    async def shut_down(self, sandbox: PodSandbox) -> None: ...


class PlainPause(PauseProcess):
    """The pause container of containerd 1.7; its steps are those of RunPodSandbox (see `containerd_1`)."""

    async def start(self, sandbox: PodSandbox) -> None: ...

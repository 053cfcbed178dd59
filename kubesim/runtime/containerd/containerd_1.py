"""RunPodSandbox of containerd 1.7 on a real machine: it creates the pause container before the network.

With a pod user namespace, the runtime creates the network namespace with the task, and plugins run afterwards.

Mirrors: containerd 1.7 pkg/cri/server/sandbox_run.go RunPodSandbox
"""

from __future__ import annotations

from kubesim.cni.exec.context import Context
from kubesim.errors import RuntimeCallError
from kubesim.golang.text import quoted
from kubesim.runtime.containerd.sandbox import Parts, SandboxAttempt, SandboxRequest, wrap_error
from kubesim.runtime.containerd.sandbox_rules import Action, NameIndex
from kubesim.runtime.simulated.cri.containerd_1 import STEPS, steps_of_run
from kubesim.runtime.simulated.cri.sandbox_steps import StepName
from kubesim.runtime.simulated.cri.sandbox_walk import SandboxStepFailed

_MADE: dict[StepName, tuple[Action, ...]] = {
    "container": ("keep as unknown", "delete metadata"),  # the metadata is the container's
    "rootDirectory": ("remove root directory",),
    "stateDirectory": ("remove volatile directory",),
    "files": ("clean up files",),
    "task": ("delete task",),
}


class FirstSandboxAttempt(SandboxAttempt):
    """RunPodSandbox of containerd 1.7."""

    every_tear_down_counts = True
    container_comes_first = True
    steps = STEPS

    def __init__(self, parts: Parts, request: SandboxRequest) -> None:
        super().__init__(parts, request)
        self._cannot_remove = ""

    async def run(self, names: NameIndex, ctx: Context) -> None:
        request = self._request
        unsaved = f"failed to update the network namespace for the sandbox container {quoted(self.sandbox.id)}"
        self._reserve_name(names)
        has_users = request.user_namespace is not None
        for step in steps_of_run(host_network=request.host_network, user_namespace=has_users)[1:]:
            if step.name == "netns":
                await self._network(ctx, unsaved)
            elif step.name != "network":
                self._at(step.name)
                await wrap_error(self._do(step.name), step.failure.format(id=self.sandbox.id))
                self.to_undo += _MADE.get(step.name, ())
        self.sandbox.state = "READY"

    async def _do(self, name: StepName) -> None:
        match name:
            case "image":
                await self._parts.controller.ensure_image(self.sandbox)
            case "container":
                await self._parts.store.create(self.sandbox)
            case "task":
                await self._parts.controller.create(self.sandbox)
            case "start":
                await self._parts.controller.start(self.sandbox)

    def _at(self, name: StepName) -> None:
        try:
            super()._at(name)
        except RuntimeCallError as error:
            if isinstance(error.__cause__, SandboxStepFailed):
                self._cannot_remove = error.__cause__.left_behind
            raise

    def undoes(self, action: Action) -> None:
        stuck: Action = "delete task" if "delete task" in self.to_undo else "delete metadata"
        if self._cannot_remove and action == stuck:
            raise RuntimeCallError(self._cannot_remove)

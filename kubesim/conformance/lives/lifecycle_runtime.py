"""The recording's runtime: adds each modifying call to the diary, then performs it.

All simplifications compared with a real runtime are in this module.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, Randomness
from kubesim.conformance.lives.go_map import GoMap
from kubesim.conformance.lives.lifecycle_diary import Diary
from kubesim.conformance.lives.lifecycle_script import PROBE_COMMANDS
from kubesim.runtime.images.pull_credentials import AuthConfig
from kubesim.runtime.protocol import CallContext, ContainerConfig, ExecResult, SandboxConfig, SandboxInfo
from kubesim.runtime.simulated.containers.container_process import ProcessFactory, SimulatedContainer
from kubesim.runtime.simulated.runtime import SimulatedRuntime
from kubesim.runtime.simulated.settings import SimulatedSettings

FIRST_UID = "uid-1"


class ScriptedRuntime(SimulatedRuntime):
    """A runtime with the recording's simplifications: it probes terminated containers, ignores cancellation, starts
    containers in dead sandboxes, and kills the containers of a dying sandbox. Its state is in Go maps.
    """

    def __init__(
        self,
        clock: LoopClock,
        randomness: Randomness,
        processes: ProcessFactory,
        settings: SimulatedSettings,
        diary: Diary,
    ) -> None:
        super().__init__(clock, randomness, processes, settings)
        self._sandboxes = GoMap()
        self._containers = GoMap()
        self._diary = diary
        self.on_exit(lambda id, exit: diary.add("container", what="exited", id=id, exitCode=exit.code))

    def _running_in(self, info: SandboxInfo) -> list[SimulatedContainer]:
        inside = super()._running_in(info)
        return [container for container in self._containers.values() if container in inside]

    def _dead_sandbox(self, container: object) -> str:
        return ""

    def sandbox_dies(self, sandbox_id: str) -> None:
        self._kill_sandbox(self._sandbox(sandbox_id))

    def kill_sandboxes(self) -> None:
        """Kill all sandboxes; returns those that were alive."""
        for info in list(self._sandboxes.values()):
            if info.ready:
                self._diary.add("container", what="sandboxDied", id=info.id)
                self.sandbox_dies(info.id)

    # -- the calls that are noted -------------------------------------------------------------------------------

    def run_pod_sandbox(self, config: SandboxConfig) -> Coroutine[Any, Any, str]:
        """Record the uid if it differs from the first pod's."""
        uid = config.pod.metadata.uid
        other = {} if uid == FIRST_UID else {"uid": uid}
        self._diary.add("cri", call="RunPodSandbox", attempt=config.attempt, **other)
        return super().run_pod_sandbox(config)

    def stop_pod_sandbox(self, sandbox_id: str) -> Coroutine[Any, Any, None]:
        self._diary.add("cri", call="StopPodSandbox", id=sandbox_id)
        return super().stop_pod_sandbox(sandbox_id)

    def remove_pod_sandbox(self, sandbox_id: str) -> Coroutine[Any, Any, None]:
        self._diary.add("cri", call="RemovePodSandbox", id=sandbox_id)
        return super().remove_pod_sandbox(sandbox_id)

    def create_container(
        self, sandbox_id: str, config: ContainerConfig, sandbox: SandboxConfig
    ) -> Coroutine[Any, Any, str]:
        self._diary.add(
            "cri", call="CreateContainer", attempt=config.attempt, name=config.container.name, sandbox=sandbox_id
        )
        return super().create_container(sandbox_id, config, sandbox)

    def start_container(self, container_id: str) -> Coroutine[Any, Any, None]:
        self._diary.add("cri", call="StartContainer", id=container_id)
        return super().start_container(container_id)

    def stop_container(self, container_id: str, timeout: int) -> Coroutine[Any, Any, None]:
        self._diary.add("cri", call="StopContainer", id=container_id, timeout=timeout // SECOND)
        return super().stop_container(container_id, timeout)

    def remove_container(self, container_id: str) -> Coroutine[Any, Any, None]:
        self._diary.add("cri", call="RemoveContainer", id=container_id)
        return super().remove_container(container_id)

    async def pull_image(self, image: str, pod: Pod, auth: AuthConfig | None = None, sandbox: object = None) -> str:
        self._diary.add("cri", call="PullImage", image=image)
        return await super().pull_image(image, pod, auth, sandbox)

    def exec_sync(
        self, container_id: str, command: tuple[str, ...], timeout: int, context: CallContext | None = None
    ) -> Coroutine[Any, Any, ExecResult]:
        """Probes are too frequent to be recorded."""
        if command[0] not in PROBE_COMMANDS:
            self._diary.add("cri", call="ExecSync", cmd=" ".join(command), id=container_id)
        process = self._container(container_id).process
        assert process is not None
        return process.exec(command)

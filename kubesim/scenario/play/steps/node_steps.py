"""`NodeSteps`: the steps of a scenario on a node: in a shell, with its files and its network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from signal import Signals
from typing import TYPE_CHECKING

from kubesim.api.pod import Pod
from kubesim.errors import PluginError, RuntimeCallError
from kubesim.golang.text import duration
from kubesim.runtime.simulated.containers.shell_process import ShellProcess
from kubesim.runtime.simulated.disturbances.dependencies import Dependency
from kubesim.runtime.simulated.runtime import SimulatedRuntime
from kubesim.scenario.client.api_steps import ApiSteps, StepFailed
from kubesim.scenario.play.node.simulated_node import SimulatedNode
from kubesim.scenario.play.settings import duration_draw
from kubesim.trace import Recorder
from kubesim.trace.records import Note
from kubesim.values import part

if TYPE_CHECKING:
    from kubesim.scenario.faults.interceptor import Interceptor
    from kubesim.scenario.language.operations.dependency_items import DependencyStep
    from kubesim.scenario.language.step_items import (
        ClockJump,
        Cut,
        Exec,
        Flush,
        Hang,
        Kill,
        NodeFile,
        PodTarget,
        RemoveContainer,
        WriteFile,
    )

_FLUSH = {
    "routes": "ip -4 route flush table main && ip -6 route flush table main",
    "rules": "iptables -F && iptables -t nat -F && ip6tables -F && ip6tables -t nat -F",
}


@part
class NodeSteps(ApiSteps):
    """The steps on nodes. `interceptor` is set if a step makes single calls hang."""

    nodes: Mapping[str, SimulatedNode]
    interceptor: Interceptor | None = None
    dependencies: Mapping[str, Dependency] = field(default_factory=dict)

    def _node(self, name: str) -> SimulatedNode:
        return self.nodes[name or next(iter(self.nodes))]

    def _expect_on(self, node: SimulatedNode) -> None:
        if not node.is_on:
            raise StepFailed(f"node {node.name} is powered off")

    def _running_node(self, name: str) -> SimulatedNode:
        """The node of a step, by default the first. Raises StepFailed if it is off."""
        node = self._node(name)
        self._expect_on(node)
        return node

    # -- containers ---------------------------------------------------------------------------------------------

    def _pod(self, target: PodTarget) -> tuple[Pod, SimulatedNode]:
        pod = self.store.find("Pod", *target.key)
        if not isinstance(pod, Pod):
            raise StepFailed(f"there is no pod {'/'.join(target.key)}")
        node = self.nodes.get(pod.spec.node_name)
        if node is None:
            where = f"there is no node {pod.spec.node_name}" if pod.spec.node_name else "it has no node yet"
            raise StepFailed(f"pod {'/'.join(target.key)} is not running: {where}")
        return pod, node

    async def _running_container(self, target: PodTarget, name: str) -> tuple[str, str, SimulatedNode]:
        """The id and name of the container, by default the first one of the pod."""
        pod, node = self._pod(target)
        wanted = name or pod.spec.containers[0].name
        for info in await node.supplies.runtime.list_containers(pod.metadata.uid):
            if info.name == wanted and info.state == "running":
                return info.id, wanted, node
        raise StepFailed(f"container {wanted} of pod {'/'.join(target.key)} is not running")

    async def exec(self, exec: Exec) -> None:
        identifier, container, node = await self._running_container(exec, exec.container)
        command = " ".join(exec.command)
        try:
            result = await node.supplies.runtime.exec_sync(identifier, exec.command, 0)
        except RuntimeCallError as error:
            raise StepFailed(str(error)) from None
        output = (result.stdout + result.stderr).rstrip("\n")
        text = f"exec {command!r} ended with {result.exit_code}" + (f": {output}" if output else "")
        self._note_of_pod(exec, container, text)
        if result.exit_code != exec.exit_code:
            raise StepFailed(f"{text} (expected: exitCode {exec.exit_code})")

    async def kill(self, kill: Kill) -> None:
        if kill.sandbox:
            pod, node = self._pod(kill)
            found = await node.supplies.runtime.list_pod_sandboxes(pod.metadata.uid)
            ready = [info.id for info in found if info.ready]
            if not ready:
                raise StepFailed(f"pod {'/'.join(kill.key)} has no running sandbox")
            self._note_of_pod(kill, "", "its sandbox is killed")
            await self._signal(node, ready[-1], "KILL", sandbox=True)
            return
        identifier, container, node = await self._running_container(kill, kill.container)
        if kill.process:
            self._kill_process(kill, identifier, container, node.runtime)
            return
        self._note_of_pod(kill, container, f"its main process gets the signal {kill.signal}")
        await self._signal(node, identifier, kill.signal)

    async def _signal(self, node: SimulatedNode, identifier: str, name: str, *, sandbox: bool = False) -> None:
        """Send a signal to the main process of a container, or kill the first process of a sandbox."""
        number = Signals[f"SIG{name}"].value
        if node.runs_real_containers:
            if node.supplies.kill is None:
                raise StepFailed("kill needs another runtime: this one cannot send signals")
            try:
                await node.supplies.kill(identifier, number, sandbox)
            except RuntimeCallError as error:
                raise StepFailed(str(error)) from None
        elif sandbox:
            node.runtime.sandbox_dies(identifier)
        else:
            node.runtime.kill_container(identifier, number)

    def _kill_process(self, kill: Kill, identifier: str, container: str, runtime: SimulatedRuntime) -> None:
        """Kill a process by its command line, as `pkill -f` on the node does."""
        process = runtime.find(identifier).process
        if not isinstance(process, ShellProcess):
            raise StepFailed(f"container {container} does not run its command line: it has only its main process")
        self._note_of_pod(kill, container, f"its process {kill.process!r} gets the signal {kill.signal}")
        if not process.signal_named(kill.process, Signals[f"SIG{kill.signal}"].value):
            raise StepFailed(f"container {container} of pod {kill.pod} has no process {kill.process!r}")

    async def remove_container(self, remove: RemoveContainer) -> None:
        pod, node = self._pod(remove)
        runtime = node.supplies.runtime
        found = [each for each in await runtime.list_containers(pod.metadata.uid) if each.name == remove.container]
        ended = [each.id for each in found if each.state != "running"]
        if not ended:
            raise StepFailed(f"container {remove.container} of pod {'/'.join(remove.key)} has not ended")
        self._note_of_pod(remove, remove.container, "its record is removed from the runtime")
        for identifier in ended:
            await runtime.remove_container(identifier)

    # -- files --------------------------------------------------------------------------------------------------

    def write_file(self, write: WriteFile) -> None:
        node = self._running_node(write.node)
        self._note_of_node(node, f"the file {write.path} is written")
        node.volumes.host.write(write.path.strip("/"), write.text, self.clock.now())

    def remove_file(self, remove: NodeFile) -> None:
        node = self._running_node(remove.node)
        files = node.state_files
        if files is not None and files.remove(remove.path.removeprefix("/var/lib/kubelet/")):
            self._note_of_node(node, f"the file {remove.path} is removed")
            return
        if node.volumes.path_kind(remove.path) is None:
            raise StepFailed(f"there is no file {remove.path} on node {node.name}")
        self._note_of_node(node, f"the file {remove.path} is removed")
        node.volumes.host.remove(remove.path.strip("/"))

    # -- hangs --------------------------------------------------------------------------------------------------

    async def hang(self, hang: Hang) -> None:
        if hang.what == "runtime":
            await self._hang_runtime(hang)
        elif hang.what == "call":
            self._hang_call(hang)
            await self.clock.sleep(hang.duration)
        else:
            await self._hang_container(hang)

    async def _hang_runtime(self, hang: Hang) -> None:
        node = self._running_node(hang.node)
        self._note_of_node(
            node, "the container runtime hangs: it reports itself healthy, but its list calls do not return"
        )
        node.service.hang()
        await self.clock.sleep(hang.duration)
        self._note_of_node(node, "the container runtime answers list calls again")
        node.service.recover()

    def _hang_call(self, hang: Hang) -> None:
        assert self.interceptor is not None
        node = self._running_node(hang.node)
        self._note_of_node(node, f"calls of {hang.call} do not return for {duration(hang.duration)}")
        self.interceptor.hang(hang, node.name, self.clock.now() + hang.duration)

    async def _hang_container(self, hang: Hang) -> None:
        from kubesim.runtime.simulated.disturbances.frozen import freeze  # only runs with such a step import it
        from kubesim.scenario.language.step_items import PodTarget

        target = PodTarget(pod=hang.pod)
        identifier, container, node = await self._running_container(target, hang.container)
        pod, _ = self._pod(target)
        ports = self.nodes[pod.spec.node_name].programs.ports_of(pod.metadata.uid)
        self._note_of_pod(target, container, "its processes are stopped: nothing in it answers")
        thaw = freeze(node.runtime.find(identifier), ports)
        await self.clock.sleep(hang.duration)
        self._note_of_pod(target, container, "its processes continue")
        thaw()

    async def cut(self, cut: Cut) -> None:
        node = self._node(cut.node)
        if not node.api.up:
            raise StepFailed(f"the API server of node {node.name} is not running")
        self._note_of_node(node, "the API server cannot be reached")
        node.api.cut()
        await self.clock.sleep(cut.duration)
        self._note_of_node(node, "the API server can be reached again")
        node.api.restore()

    async def dependency(self, step: DependencyStep) -> None:
        dependency = self.dependencies[step.name]
        latency, down = dependency.latency, dependency.down
        if step.latency is not None:
            dependency.latency = duration_draw(step.latency)
        dependency.down = down if step.down is None else step.down
        self._note_of_dependency(step.name, step.shown)
        if step.duration is not None:
            await self.clock.sleep(step.duration)
            dependency.latency, dependency.down = latency, down
            self._note_of_dependency(step.name, "is as before")

    def _note_of_dependency(self, name: str, text: str) -> None:
        Recorder.because(None)
        Recorder.because(self.recorder.record(Note(text=f"dependency {name} {text}")))

    async def flush(self, flush: Flush) -> None:
        node = self._running_node(flush.node)
        if not node.has_private_network:
            raise StepFailed(f"node {node.name} has no private network: flush needs runtime: cni")
        self._note_of_node(node, f"the {flush.what} of its network are flushed")
        try:
            await node.run_on_machine(_FLUSH[flush.what])
        except PluginError as error:
            raise StepFailed(f"flush of {flush.what} failed: {error}") from None

    def clock_jump(self, jump: ClockJump) -> None:
        node = self._running_node(jump.node)
        direction = "forward" if jump.by >= 0 else "back"
        self._note_of_node(node, f"its clock is set {direction} by {duration(abs(jump.by))}")
        node.set_clock(jump.by)

    def _note_of_node(self, node: SimulatedNode, text: str) -> None:
        Recorder.because(None)
        Recorder.because(self.recorder.record(Note(node=node.name, text=text)))

    def _note_of_pod(self, target: PodTarget, container: str, text: str) -> None:
        Recorder.because(None)
        Recorder.because(self.recorder.record(Note(pod="/".join(target.key), container=container, text=text)))

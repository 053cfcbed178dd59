"""Programs of simulated containers: a behaviour of the scenario, a replayed real container, or the container's command
line.

`Programs` is the runtime's ProcessFactory on one node. It keeps the shared state of a pod's containers (ports, PIDs)
from the first start until the runtime has no record of the pod.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from kubesim.clock import LoopClock, Randomness
from kubesim.clock.randomness import Stream
from kubesim.runtime.kuberuntime.naming import pod_logs_directory
from kubesim.runtime.simulated.containers.behaviour import ZERO, Behaviour, BehaviourProcess
from kubesim.runtime.simulated.containers.command_line import command_line
from kubesim.runtime.simulated.containers.container_process import ContainerProcess, ProcessContext
from kubesim.runtime.simulated.containers.pod_files import PodFiles
from kubesim.runtime.simulated.containers.shell_process import ShellProcess
from kubesim.runtime.simulated.draws import Draw
from kubesim.runtime.simulated.log_files import ContainerOutput, SimulatedLogFiles
from kubesim.runtime.simulated.network import PodView, SimulatedNetwork
from kubesim.runtime.simulated.volumes import NodeVolumes
from kubesim.shell import Ports, VirtualFiles, is_missing_program
from kubesim.shell.kernel.pid_namespace import PidNamespace, pause_namespace
from kubesim.shell.kernel.streams import LogLine
from kubesim.trace import Recorder
from kubesim.trace.records import Note
from kubesim.values import part

if TYPE_CHECKING:
    from kubesim.runtime.simulated.containers.replayed import RealContainers, ReplayedProcess


@part
class _PodState:
    """Shared state of a pod's containers."""

    view: PodView
    logs: str  # the directory
    files: PodFiles
    pids: PidNamespace | None = None  # shared by the containers
    pids_attempt: int = -1  # attempt of its sandbox
    processes: dict[str, ShellProcess] = field(default_factory=dict)  # newest process of each container name


@part
class Programs:
    """Implements `ProcessFactory`."""

    clock: LoopClock
    randomness: Randomness
    recorder: Recorder
    network: SimulatedNetwork
    volumes: NodeVolumes
    node: str = ""
    host_ip: str = ""
    behaviours: Sequence[Behaviour] = ()
    exec_time: Draw = ZERO
    log_files: SimulatedLogFiles | None = None
    output: ContainerOutput | None = None
    lessons: RealContainers | None = None  # set for replayed containers; a behaviour overrides them
    cdi: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # environment variables from CDI devices
    cpuset: tuple[str, str] = ("", "")  # the machine's CPUs and NUMA nodes, visible to containers
    on_pause_exit: Callable[[str, int], None] = lambda uid, attempt: None  # pod UID, sandbox attempt
    _host_ports: Ports = field(init=False)
    _exec_stream: Stream = field(init=False)
    _host_pids: PidNamespace | None = None
    _pods: dict[str, _PodState] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._host_ports = self.network.new_ports()
        self._exec_stream = self.randomness.stream("exec")
        if self.host_ip:
            self.network.attach(self.host_ip, self._host_ports)

    def start_error(self, context: ProcessContext) -> str:
        behaviour = self._behaviour(context)
        if behaviour is not None:
            return behaviour.start_error
        if self.lessons is not None:
            return ""
        words = command_line(context.container, dict(context.config.env))
        if not words[0].startswith("/") or not is_missing_program(words, self._files(context)):
            return ""
        problem = f'exec: "{words[0]}": stat {words[0]}: no such file or directory'
        return (
            "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
            f"runc create failed: unable to start container process: {problem}: unknown"
        )

    def make(self, context: ProcessContext) -> ContainerProcess:
        state = self._state(context)
        state.files.container_made(context)
        process = self._make(context, state)
        if self.log_files is not None:
            wrote = partial(self.log_files.wrote, f"{state.logs}/{context.config.log_path}")
            process.log.on_line = wrote if self.output is None else _both(wrote, self.output.of(self.node, context))
        return process

    def _make(self, context: ProcessContext, state: _PodState) -> BehaviourProcess | ReplayedProcess | ShellProcess:
        behaviour = self._behaviour(context)
        if behaviour is not None:
            uid, container = context.pod.metadata.uid, context.container
            stream = self.randomness.stream("behaviour", uid, container.name, str(context.config.attempt))
            return BehaviourProcess(self.clock, stream, behaviour, container, state.view.ports)
        if self.lessons is not None:
            from kubesim.runtime.simulated.containers.replayed import ReplayedProcess

            return ReplayedProcess(self.clock, self.lessons, context, state.view.ports)
        process = state.processes[context.container.name] = ShellProcess(
            context,
            self.clock,
            self.randomness,
            state.view,
            self._files(context, partial(state.files.mount, context)),
            self._pid_namespace(context, state),
            note=partial(self._note, context),
            exec_time=partial(self.exec_time.draw, self._exec_stream),
            injected={key: text for name in context.config.cdi_devices for key, text in self.cdi.get(name, {}).items()},
            cpuset=self.cpuset,
        )
        return process

    def _behaviour(self, context: ProcessContext) -> Behaviour | None:
        return next((behaviour for behaviour in self.behaviours if behaviour.matches(context)), None)

    def _files(self, context: ProcessContext, late: Callable[[VirtualFiles], None] | None = None) -> VirtualFiles:
        config = context.config
        files = self.volumes.files(context.pod, context.container, config.mounts, late)
        for device in config.devices:
            files.root.write(device.path_in_container.strip("/"), "")
        return files

    def _pid_namespace(self, context: ProcessContext, state: _PodState) -> PidNamespace | None:
        """The namespace to join; None: a new one."""
        mode = context.config.namespaces.pid
        if mode == "CONTAINER":
            return None
        if mode == "NODE":
            if self._host_pids is None:
                self._host_pids = PidNamespace.begun_by(self.clock, "/sbin/init", "root")
            return self._host_pids
        if mode == "TARGET":
            target = context.config.namespaces.target_id
            found = [other for other in state.processes.values() if other.context.identifier == target]
            return found[0].share_pids() if found else None
        return state.pids

    def _state(self, context: ProcessContext) -> _PodState:
        """The pod's state, with its current address."""
        pod = context.pod
        state = self._pods.get(pod.metadata.uid)
        if state is None:
            ports = self._host_ports if pod.spec.host_network else self.network.new_ports()
            view = self.network.view(ports, context.sandbox.hostname or self.node)
            files = PodFiles(self.node, self.volumes.read_file)
            state = self._pods[pod.metadata.uid] = _PodState(view, pod_logs_directory(pod), files)
        if context.config.namespaces.pid == "POD":
            self._share_pids(context, state)
        state.view.ports.netns = context.netns
        address = context.ip or (self.host_ip if pod.spec.host_network else "")
        if address and address != state.view.address:
            self._leave(state)
            state.view.address = address
            self.network.attach(address, state.view.ports)
        return state

    def _share_pids(self, context: ProcessContext, state: _PodState) -> None:
        """The sandbox's PID namespace, where the pause process is PID 1."""
        uid, attempt = context.pod.metadata.uid, context.sandbox.attempt
        if state.pids is None or state.pids_attempt != attempt:
            state.pids_attempt = attempt
            state.pids = pause_namespace(self.clock, partial(self.on_pause_exit, uid, attempt))

    def _leave(self, state: _PodState) -> None:
        if state.view.ports is not self._host_ports:
            self.network.detach(state.view.address)

    def ports_of(self, uid: str) -> Ports:
        """The ports of a pod that has started a container."""
        return self._pods[uid].view.ports

    def forget(self, uid: str) -> None:
        """The runtime has no more records of this pod."""
        state = self._pods.pop(uid, None)
        if state is not None:
            self._leave(state)
            if self.log_files is not None:
                self.log_files.remove_directory(state.logs)

    def _note(self, context: ProcessContext, text: str) -> None:
        if self.recorder.on:
            metadata = context.pod.metadata
            pod = f"{metadata.namespace}/{metadata.name}"
            self.recorder.record(
                Note(node=self.node, pod=pod, uid=metadata.uid, container=context.container.name, text=text)
            )


def _both(first: Callable[[LogLine], None], second: Callable[[LogLine], None]) -> Callable[[LogLine], None]:
    def wrote(line: LogLine) -> None:
        first(line)
        second(line)

    return wrote

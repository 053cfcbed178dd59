"""A container whose processes are frozen, as by SIGSTOP or a full disk: it runs but does not respond.

The kernel still accepts connections. Commands do not return, HTTP requests get no response, and signals other than KILL
are pending. Its own command line (sleep, exit) continues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from signal import SIGKILL

from kubesim.clock import Awaited, wake
from kubesim.runtime.protocol import ExecResult
from kubesim.runtime.simulated.containers.container_process import ContainerProcess, Exit, SimulatedContainer
from kubesim.runtime.types import RuntimeResources
from kubesim.shell import Listener, Ports
from kubesim.values import part


@part
class FrozenProcess:
    """Replaces the frozen process; implements `ContainerProcess`."""

    process: ContainerProcess
    _signals: list[int] = field(default_factory=list)
    _waiting: list[Awaited[None]] = field(default_factory=list)

    def start(self, on_exit: Callable[[Exit], None]) -> None:
        raise AssertionError("it runs already")

    def signal(self, number: int) -> None:
        if number == SIGKILL:
            self.process.signal(number)
        else:
            self._signals.append(number)

    async def exec(self, command: tuple[str, ...]) -> ExecResult:
        thawed: Awaited[None] = Awaited("a container that hangs")
        self._waiting.append(thawed)
        await thawed
        return await self.process.exec(command)

    def resources_updated(self, resources: RuntimeResources) -> None:
        self.process.resources_updated(resources)

    def output(self) -> str:
        return self.process.output()

    def thaw(self) -> None:
        for future in self._waiting:
            wake(future, None)
        for number in self._signals:
            self.process.signal(number)


def freeze(container: SimulatedContainer, ports: Ports) -> Callable[[], None]:
    """Freeze the processes of a container; the returned function unfreezes them. `ports` are those of its pod."""
    process = container.process
    assert process is not None
    container.process = frozen = FrozenProcess(process)
    declared = {port.container_port for port in container.config.container.ports}
    silent = [listener for number in ports.numbers() if number in declared and (listener := _at(ports, number))]
    answers = [(listener, listener.answer) for listener in silent]
    for listener in silent:
        listener.answer = None

    def thaw() -> None:
        for listener, answer in answers:
            listener.answer = answer
        if container.process is frozen:
            container.process = process
        if container.runs():
            frozen.thaw()

    return thaw


def _at(ports: Ports, number: int) -> Listener | None:
    return ports.at(number, loopback=True)

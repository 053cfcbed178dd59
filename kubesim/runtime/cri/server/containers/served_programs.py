"""The programs of served containers: those of the simulation, with logs, mounted files and kernel files of this
machine.

It implements the runtime's ProcessFactory. `find` gives the message with which a container was created.
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.clock import LoopClock
from kubesim.errors import RuntimeCallError
from kubesim.runtime.cri.server.containers.host_files import HostFiles, write_termination_message
from kubesim.runtime.cri.server.containers.kernel_files import (
    capability_set,
    first_command_line,
    host_tables,
    id_map,
    process_status,
    read_kernel_file,
)
from kubesim.runtime.cri.server.containers.log_files import ContainerLog
from kubesim.runtime.cri.server.images.image_list import normalized
from kubesim.runtime.cri.server.images.public_images import image_files
from kubesim.runtime.cri.server.store import ServedContainer
from kubesim.runtime.simulated.containers.command_line import command_line
from kubesim.runtime.simulated.containers.container_process import ContainerProcess, Exit, ProcessContext
from kubesim.runtime.simulated.containers.programs import Programs
from kubesim.runtime.simulated.containers.shell_process import ShellProcess
from kubesim.shell import VirtualFiles, Volume
from kubesim.shell.kernel.users import Permissions
from kubesim.shell.servers import program_name


class ServedPrograms:
    """Implements `ProcessFactory`."""

    def __init__(self, programs: Programs, host_files: HostFiles, clock: LoopClock) -> None:
        self.programs = programs
        self.host_files = host_files
        self.find: Callable[[str], ServedContainer | None] = lambda identifier: None
        self._clock = clock
        self._logs: dict[str, ContainerLog] = {}
        self._contexts: dict[str, ProcessContext] = {}

    def start_error(self, context: ProcessContext) -> str:
        self.host_files.refresh(context.config.mounts)
        problem = self.programs.start_error(context)
        served = self.find(context.identifier)
        if problem or served is None:
            return problem
        log = ContainerLog(served.log_path, self._clock)
        try:
            log.open()
        except RuntimeCallError as error:
            return str(error)
        self._logs[context.identifier] = log
        return ""

    def make(self, context: ProcessContext) -> ContainerProcess:
        process = self.programs.make(context)
        log = self._logs.get(context.identifier)
        if log is not None:
            process_log = process.log  # type: ignore[attr-defined]
            process_log.attached = [*(process_log.attached or ()), log.wrote]
        self._contexts[context.identifier] = context
        served = self.find(context.identifier)
        if isinstance(process, ShellProcess) and served is not None:
            _show_kernel(process.files, context, served)
            process.kernel.permissions = _permissions(served)
        return process

    def reopen_log(self, container_id: str) -> None:
        """Raises RuntimeCallError."""
        log = self._logs.get(container_id)
        if log is not None:
            log.open()

    def ended(self, container_id: str, exit: Exit) -> None:
        log = self._logs.pop(container_id, None)
        if log is not None:
            log.close()
        context = self._contexts.pop(container_id, None)
        if context is not None:
            path = context.container.termination_message_path
            write_termination_message(context.config.mounts, path, exit.message)

    def close(self) -> None:
        for log in self._logs.values():
            log.close()
        self._logs.clear()


def _show_kernel(files: VirtualFiles, context: ProcessContext, served: ServedContainer) -> None:
    security, config = served.message.linux.security_context, context.config
    for path, text in image_files(normalized(context.container.image)).items():
        if files.root.get(path) is None:
            files.root.write(path, text)
    for mount in served.message.mounts:
        if mount.HasField("image"):
            files.mount(mount.container_path, Volume(), read_only=True)
    for path in host_tables(config.namespaces):
        files.mount(path, Volume({"table": read_kernel_file(path)}), sub_path="table", read_only=True)
    users = id_map(config.namespaces, read_kernel_file("/proc/self/uid_map"))
    status = process_status(security, config.user)
    files.mount("/proc/self", Volume({"status": status, "uid_map": users, "gid_map": users}), read_only=True)
    words = command_line(context.container, dict(config.env))
    files.mount("/proc/1", Volume({"cmdline": first_command_line(words, config.namespaces)}), read_only=True)
    for path in security.readonly_paths if not security.privileged else ():
        if files.is_directory(path):
            files.mount(path, files.root, sub_path=path.strip("/"), read_only=True)
    for path in security.masked_paths if not security.privileged else ():
        if files.file(path) is not None:
            files.mount(path, Volume({"empty": ""}), sub_path="empty", read_only=True)
        elif files.exists(path):
            files.mount(path, Volume(), read_only=True)


def _permissions(served: ServedContainer) -> Permissions:
    security = served.message.linux.security_context
    if security.privileged:
        return Permissions(no_new_privileges=security.no_new_privs)
    masked = frozenset(name for path in security.masked_paths if (name := program_name(path)) != path)
    return Permissions(capability_set(security), served.blocked_calls, masked, security.no_new_privs)

"""The simulated node behind a CRI server: its runtime and the other objects that calls need."""

from __future__ import annotations

from dataclasses import field

from kubesim.clock import LoopClock
from kubesim.runtime.containerd.sandbox_rules import NameIndex
from kubesim.runtime.cri.server.containers.host_files import HostFiles
from kubesim.runtime.cri.server.containers.published_ports import PublishedNetwork
from kubesim.runtime.cri.server.containers.served_programs import ServedPrograms
from kubesim.runtime.cri.server.images.image_calls import ImageCalls
from kubesim.runtime.cri.server.store import Index, ServedContainer, ServedSandbox
from kubesim.runtime.protocol import Runtime
from kubesim.runtime.simulated.runtime import SimulatedRuntime
from kubesim.shell import Ports
from kubesim.values import part


@part
class ServedNode:
    """`runtime` is what calls go to, faults included; `simulated` is the runtime itself. `published` is None if ports
    exist only in the simulation, or in real namespaces."""

    clock: LoopClock
    runtime: Runtime
    simulated: SimulatedRuntime
    programs: ServedPrograms
    host_files: HostFiles
    published: PublishedNetwork | None
    images: ImageCalls
    sandboxes: Index[ServedSandbox] = field(default_factory=Index)
    containers: Index[ServedContainer] = field(default_factory=Index)
    sandbox_names: NameIndex = field(default_factory=NameIndex)
    container_names: NameIndex = field(default_factory=NameIndex)

    def __post_init__(self) -> None:
        self.programs.find = self.containers.known
        self.simulated.on_exit(self.programs.ended)

    def ports_of(self, uid: str) -> Ports | None:
        """Those of a pod; None if nothing ever ran in it."""
        try:
            return self.programs.programs.ports_of(uid)
        except KeyError:
            return None

    def containers_of(self, sandbox_id: str) -> list[ServedContainer]:
        return [each for each in self.containers if each.sandbox_id == sandbox_id]

    def close(self) -> None:
        self.programs.close()
        if self.published is not None:
            self.published.close()

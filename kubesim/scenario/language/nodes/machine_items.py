"""Rarely used parts of a node in the scenario language: its topology, its docker daemon, its sandbox faults."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from kubesim.scenario.language.strict import Amount, Strict, Texts, as_list

Amounts = Annotated[tuple[Amount, ...], BeforeValidator(as_list)]  # one for each NUMA node
Distances = Annotated[tuple[Annotated[tuple[int, ...], BeforeValidator(as_list)], ...], BeforeValidator(as_list)]


class TopologyItem(Strict):
    """How the CPUs and the memory of the capacity are divided among NUMA nodes. Default: evenly."""

    sockets: int = Field(default=1, ge=1)
    numa_nodes: int | None = Field(default=None, ge=1, le=64)  # default: one for each socket
    threads_per_core: int = Field(default=1, ge=1)
    uncore_caches: int | None = Field(default=None, ge=1)  # default: one for each socket
    memory: Amounts = ()
    hugepages: dict[str, Amounts] = Field(default_factory=dict)  # by page size: 2Mi, 1Gi
    distances: Distances = ()  # from each NUMA node to each; default: 10 to itself and 20 to the others


class DockerItem(Strict):
    """The docker daemon of a node, in profiles v1.6 and v1.12."""

    cgroup_driver: Literal["", "cgroupfs", "systemd"] = ""  # empty: that of the kubelet
    api_version: str = Field(default="1.38", pattern=r"^[0-9]+\.[0-9]+$")
    log_driver: str = "json-file"
    nsenter: bool = True  # whether the program is on the node; the network plugin cni needs it
    # The next calls to docker for sandbox containers fail with these errors, by call.
    errors: dict[Literal["pull", "create", "start", "stop"], Texts] = Field(default_factory=dict)


def is_sandbox_step(name: str) -> str:
    from kubesim.runtime.simulated.cri.sandbox_steps import BY_NAME

    if name not in BY_NAME:
        problem = f"{name!r} is not a step of RunPodSandbox: {', '.join(BY_NAME)}"
        raise PydanticCustomError("step", "{problem}", {"problem": problem})
    return name


class SandboxFaultItem(Strict):
    """A step of RunPodSandbox that fails in the runtime; containerd's own text precedes the error."""

    step: Annotated[str, AfterValidator(is_sandbox_step)]
    error: str = Field(min_length=1)
    pod: str = "*"  # a glob
    times: int | None = Field(default=None, ge=1)  # default: always
    clean_up_error: str = ""  # the clean-up also fails, with this error: the sandbox stays and is not ready

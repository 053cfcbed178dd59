"""What few scenarios say about a node: its machine, its docker daemon, and sandboxes that its runtime cannot make."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from kubesim.scenario.language.strict import Amount, Strict, Texts, as_list

Amounts = Annotated[tuple[Amount, ...], BeforeValidator(as_list)]  # one for each NUMA node
Distances = Annotated[tuple[Annotated[tuple[int, ...], BeforeValidator(as_list)], ...], BeforeValidator(as_list)]


class TopologyItem(Strict):
    """How the CPUs and the memory of the capacity are divided. All of it evenly, unless amounts are given."""

    sockets: int = Field(default=1, ge=1)
    numa_nodes: int | None = Field(default=None, ge=1, le=64)  # one for each socket
    threads_per_core: int = Field(default=1, ge=1)
    uncore_caches: int | None = Field(default=None, ge=1)  # one for each socket
    memory: Amounts = ()
    hugepages: dict[str, Amounts] = Field(default_factory=dict)  # by page size: 2Mi, 1Gi
    distances: Distances = ()  # from each NUMA node to each; 10 to itself and 20 to others


class DockerItem(Strict):
    """The docker daemon of a node, in profiles v1.6 and v1.12."""

    cgroup_driver: Literal["", "cgroupfs", "systemd"] = ""  # empty: the kubelet's
    api_version: str = Field(default="1.38", pattern=r"^[0-9]+\.[0-9]+$")
    log_driver: str = "json-file"
    nsenter: bool = True  # is the program on the node? The network plugin cni needs it
    # The next calls about sandbox containers fail with these texts, by call.
    errors: dict[Literal["pull", "create", "start", "stop"], Texts] = Field(default_factory=dict)


def is_sandbox_step(name: str) -> str:
    from kubesim.runtime.simulated.cri.sandbox_steps import BY_NAME

    if name not in BY_NAME:
        problem = f"{name!r} is not a step of RunPodSandbox: {', '.join(BY_NAME)}"
        raise PydanticCustomError("step", "{problem}", {"problem": problem})
    return name


class SandboxFaultItem(Strict):
    """A step of RunPodSandbox that fails in the runtime; the error gets containerd's words before it."""

    step: Annotated[str, AfterValidator(is_sandbox_step)]
    error: str = Field(min_length=1)
    pod: str = "*"  # a glob
    times: int | None = Field(default=None, ge=1)  # always if it is not given
    clean_up_error: str = ""  # with which removing what was created fails, too: the sandbox stays, and is not ready

"""What a scenario says about a node, beside its name and capacity, and why no kubelet would start on one.

`NodeFiles`: `/etc/resolv.conf` and others that the kubelet or a hostPath volume reads. `TopologyItem`: its machine.
Mirrors: pkg/kubelet/cm/container_manager_linux.go NewContainerManager, setupNode
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from kubesim.kubelet.cm.node_allocatable import invalid_node_allocatable
from kubesim.kubelet.node.node_status import DEFAULT_CAPACITY
from kubesim.scenario.language.strict import Strict, as_list, is_amount
from kubesim.scenario.load.kubelet_configuration import KubeletConfiguration

UNSTARTABLE = "unstartable_node"  # the type of the error
SWAP_IS_ON = "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false"

Names = Annotated[tuple[str, ...], BeforeValidator(as_list)]


def _absolute(path: str) -> str:
    if not path.startswith("/") or posixpath.normpath(path) != path or path == "/":
        raise PydanticCustomError("path", "{path} must be the absolute path of a file", {"path": repr(path)})
    return path


FilePath = Annotated[str, AfterValidator(_absolute)]
NodeFiles = dict[FilePath, str]
Amounts = Annotated[
    tuple[Annotated[str | int | float, AfterValidator(is_amount)], ...], BeforeValidator(as_list)
]  # one for each NUMA node
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
    errors: dict[Literal["pull", "create", "start", "stop"], Names] = Field(default_factory=dict)


class SecurityProfilesItem(Strict):
    """The profiles that pods with a profile of type Localhost can use on a node; names may be globs."""

    app_armor_enabled: bool = True
    app_armor: Names = ()  # names of loaded profiles
    seccomp: Names = ()  # paths below /var/lib/kubelet/seccomp


def _step(name: str) -> str:
    from kubesim.runtime.simulated.cri.sandbox_steps import BY_NAME

    if name not in BY_NAME:
        problem = f"{name!r} is not a step of RunPodSandbox: {', '.join(BY_NAME)}"
        raise PydanticCustomError("step", "{problem}", {"problem": problem})
    return name


class SandboxFaultItem(Strict):
    """A step of RunPodSandbox that fails in the runtime; the error gets containerd's words before it."""

    step: Annotated[str, AfterValidator(_step)]
    error: str = Field(min_length=1)
    pod: str = "*"  # a glob
    times: int | None = Field(default=None, ge=1)  # always if it is not given
    clean_up_error: str = ""  # with which removing what was made fails, too: the sandbox stays, and is not ready


def sandbox_fault_problem(faults: Iterable[SandboxFaultItem], containerd: str) -> str:
    """Why a fault cannot happen in this version of containerd; empty if all can."""
    for fault in faults:
        from kubesim.runtime.simulated.cri import containerd_1, sandbox_steps

        is_first = containerd == "1.7"
        names = list(containerd_1.STEPS if is_first else sandbox_steps.BY_NAME)
        cleaning = containerd_1.CLEANING_STEPS if is_first else sandbox_steps.CLEANING_STEPS
        if fault.step not in names:
            return f"step {fault.step} is not there in containerd {containerd}: use {', '.join(names)}"
        if fault.clean_up_error and fault.step not in cleaning:
            return f"cleanUpError: nothing is made yet before step {fault.step}; use {', '.join(cleaning)}"
    return ""


def why_no_kubelet_starts(
    capacity: Mapping[str, str | int | float], has_swap: bool, configuration: KubeletConfiguration
) -> tuple[str, str]:
    """The field of the node, and the problem; both empty if a kubelet would start."""
    if has_swap and configuration.values["failSwapOn"]:
        return "swap", SWAP_IS_ON
    problem = invalid_node_allocatable({**DEFAULT_CAPACITY, **capacity}, configuration.node_allocatable)
    return ("capacity", problem) if problem else ("", "")

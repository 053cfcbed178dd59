"""Files and security profiles of a node in the scenario language, and configurations with which no kubelet starts.

`NodeFiles`: `/etc/resolv.conf` and others that the kubelet or a hostPath volume reads.
Mirrors: pkg/kubelet/cm/container_manager_linux.go NewContainerManager, setupNode
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from kubesim.features.rules import Rules
from kubesim.kubelet.cm.node_allocatable import invalid_node_allocatable
from kubesim.kubelet.node.node_status import DEFAULT_CAPACITY
from kubesim.scenario.language.strict import Strict, Texts
from kubesim.scenario.load.kubelet_configuration import KubeletConfiguration

if TYPE_CHECKING:
    from kubesim.scenario.language.nodes.machine_items import SandboxFaultItem

UNSTARTABLE = "unstartable_node"  # the type of the error
SWAP_IS_ON = "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false"


def is_absolute(path: str) -> str:
    if not path.startswith("/") or posixpath.normpath(path) != path or path == "/":
        raise PydanticCustomError("path", "{path} must be the absolute path of a file", {"path": repr(path)})
    return path


FilePath = Annotated[str, AfterValidator(is_absolute)]
NodeFiles = dict[FilePath, str]


class SecurityProfilesItem(Strict):
    """The profiles on a node for pods with a profile of type Localhost; names may be globs."""

    app_armor_enabled: bool = True
    app_armor: Texts = ()  # names of loaded profiles
    seccomp: Texts = ()  # paths below /var/lib/kubelet/seccomp


def sandbox_fault_problem(faults: Iterable[SandboxFaultItem], rules: Rules) -> str:
    """Why a fault cannot happen in this version of containerd; empty if it can."""
    containerd = rules.containerd
    for fault in faults:
        if rules.sandbox_order != "containerd":
            return "the steps are those of containerd, and this kubelet uses docker: use docker.errors of the node"
        from kubesim.runtime.simulated.cri import containerd_1, sandbox_steps

        is_first = containerd == "1.7"
        names = list(containerd_1.STEPS if is_first else sandbox_steps.BY_NAME)
        cleaning = containerd_1.CLEANING_STEPS if is_first else sandbox_steps.CLEANING_STEPS
        if fault.step not in names:
            return f"step {fault.step} does not exist in containerd {containerd}: use {', '.join(names)}"
        if fault.clean_up_error and fault.step not in cleaning:
            return f"cleanUpError: nothing exists yet before step {fault.step}; use {', '.join(cleaning)}"
    return ""


def why_no_kubelet_starts(
    capacity: Mapping[str, str | int | float], has_swap: bool, configuration: KubeletConfiguration
) -> tuple[str, str]:
    """The field of the node that prevents the kubelet from starting, and the problem; both empty if it starts."""
    if has_swap and configuration.values["failSwapOn"]:
        return "swap", SWAP_IS_ON
    problem = invalid_node_allocatable({**DEFAULT_CAPACITY, **capacity}, configuration.node_allocatable)
    return ("capacity", problem) if problem else ("", "")

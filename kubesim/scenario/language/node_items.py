"""What a scenario says about the machine of a node beside its capacity, and why no kubelet would start on one.

Mirrors: pkg/kubelet/cm/container_manager_linux.go NewContainerManager, setupNode
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator

from kubesim.kubelet.cm.node_allocatable import invalid_node_allocatable
from kubesim.kubelet.node.node_status import DEFAULT_CAPACITY
from kubesim.scenario.language.strict import Strict, as_list
from kubesim.scenario.load.kubelet_configuration import KubeletConfiguration

UNSTARTABLE = "unstartable_node"  # the type of the error
SWAP_IS_ON = "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false"

Names = Annotated[tuple[str, ...], BeforeValidator(as_list)]


class SecurityProfilesItem(Strict):
    """The profiles that pods with a profile of type Localhost can use on a node; names may be globs."""

    app_armor_enabled: bool = True
    app_armor: Names = ()  # names of loaded profiles
    seccomp: Names = ()  # paths below /var/lib/kubelet/seccomp


def why_no_kubelet_starts(
    capacity: Mapping[str, str | int | float], has_swap: bool, configuration: KubeletConfiguration
) -> tuple[str, str]:
    """The field of the node, and the problem; both empty if a kubelet would start."""
    if has_swap and configuration.values["failSwapOn"]:
        return "swap", SWAP_IS_ON
    problem = invalid_node_allocatable({**DEFAULT_CAPACITY, **capacity}, configuration.node_allocatable)
    return ("capacity", problem) if problem else ("", "")

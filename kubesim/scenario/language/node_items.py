"""What a scenario says about the machine of a node beside its capacity, and which machines no kubelet would start on.

Mirrors: pkg/kubelet/cm/container_manager_linux.go NewContainerManager, setupNode
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.kubelet.cm.node_allocatable import invalid_node_allocatable
from kubesim.kubelet.node.node_status import DEFAULT_CAPACITY
from kubesim.scenario.load.kubelet_configuration import KubeletConfiguration

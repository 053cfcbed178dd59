"""A kubelet's disk: the state that survives its crash or restart.

All other state is in memory, and is rebuilt from the sources and the runtime.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from kubesim.runtime.allocation.actuated import ActuatedState
from kubesim.runtime.allocation.allocated import AllocationState
from kubesim.runtime.allocation.cgroups import PodCgroups
from kubesim.runtime.images.pull_records import PullRecords
from kubesim.runtime.kuberuntime.logs import LogDirectory
from kubesim.runtime.pod_directories import PodDirectories
from kubesim.values import value_object


@value_object
class KubeletDisk:
    """The kubelet's disk of one node; it outlives every kubelet process."""

    logs: LogDirectory = field(default_factory=LogDirectory)  # /var/log/pods
    allocated: AllocationState = field(default_factory=AllocationState)  # the allocated_pods_state checkpoint
    actuated: ActuatedState = field(default_factory=ActuatedState)  # the actuated_pods_state checkpoint
    user_namespaces: dict[str, str] = field(default_factory=dict)  # content of each pod's userns file, by UID
    pulls: PullRecords = field(default_factory=PullRecords)  # image_manager/pulled and /pulling
    state_files: dict[str, Any] = field(default_factory=dict)  # of the container manager, by file name
    directories: PodDirectories = field(default_factory=PodDirectories)  # /var/lib/kubelet/pods
    cgroups: PodCgroups = field(default_factory=PodCgroups)  # in the kernel, and lost when the machine reboots

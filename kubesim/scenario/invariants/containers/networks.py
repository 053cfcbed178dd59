"""No container starts before its sandbox has a network.

RunPodSandbox returns after the network of the pod is set up; a pod with hostNetwork uses the network of the node. The
kubelet starts containers only in a sandbox that is ready.
"""

from __future__ import annotations

from kubesim.runtime.protocol import ContainerInfo
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import PodSeen


def connected(pod: PodSeen, info: ContainerInfo, has_network: bool) -> str:
    return "" if has_network else f"container {info.name} started in sandbox {info.sandbox_id[:12]} without a network"


INVARIANT = Invariant("networks", connected=connected)

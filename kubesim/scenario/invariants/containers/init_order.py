"""Init containers run in order, before the regular containers.

In each sandbox, a container starts only after every init container before it is done: a regular init container has
succeeded, a sidecar has started. A new sandbox begins from the start (computePodActions with CreateSandbox). Ephemeral
containers start at any time.

The v1.6 kubelet violates it when a sandbox dies: earlier results of init containers still count. Kubelets before v1.37
violate it after a reboot or after failed calls: a container of the old sandbox that was created but never started
counts as proof that the pod is initialized, so init containers are skipped in the new sandbox.
"""

from __future__ import annotations

from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.runtime.protocol import ContainerInfo
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import PodSeen


def started(pod: PodSeen, info: ContainerInfo, now: int) -> str:
    if not pod.init_containers or pod.spec.spec.find_container(info.name) is None:
        return ""
    sandbox = pod.sandboxes[info.sandbox_id]
    for init in pod.init_containers:
        if init.name == info.name:
            return ""
        if is_restartable_init_container(init):
            if init.name not in sandbox.started:
                return f"container {info.name} started before sidecar {init.name} had started in its sandbox"
        elif init.name not in sandbox.succeeded:
            return f"container {info.name} started before init container {init.name} had succeeded in its sandbox"
    return ""


INVARIANT = Invariant("init-order", started=started)

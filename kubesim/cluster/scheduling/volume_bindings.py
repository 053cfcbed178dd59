"""Binds the volumes of a pod that was given a node: reserves or provisions them, and waits.

The claims are checked once a second, as upstream does. The pod is bound when all of them are.

Mirrors: pkg/scheduler/framework/plugins/volumebinding/binder.go BindPodVolumes, bindAPIUpdate, checkBindings
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.cluster.scheduling.framework.listers import Listers, field
from kubesim.cluster.scheduling.framework.status import CycleError
from kubesim.cluster.scheduling.plugins.volumes.matching_volume import bound_to_claim, matches_volume_affinity
from kubesim.cluster.scheduling.plugins.volumes.pod_claims import SELECTED_NODE, is_fully_bound, volume_name
from kubesim.cluster.scheduling.plugins.volumes.volume_binding import PodVolumes
from kubesim.cluster.scheduling.scheduler_client import SchedulerClient

POLL = 1 * SECOND
BIND_TIMEOUT = 600 * SECOND
_PROBLEM = 'running PreBind plugin "VolumeBinding": binding volumes: '


def bind_pod_volumes(client: SchedulerClient, pod: Pod, node: str, volumes: PodVolumes) -> None:
    """Write each volume's claimRef, and the selected node of claims to provision."""
    user = f"pod {pod.metadata.name} goes to {node}"
    for volume, claim in volumes.static:
        why = f"{user} and this volume suits its claim {claim.metadata.name}, so it is reserved for it"
        client.patch(volume, bound_to_claim(volume, claim), why)
    for claim in volumes.dynamic:
        annotations = {**claim.metadata.annotations, SELECTED_NODE: node}
        why = f"{user} and no volume suits the claim, so one is to be provisioned for that node"
        client.patch(claim, claim.changed(metadata=claim.metadata.changed(annotations=annotations)), why)


def check_bindings(listers: Listers, pod: Pod, node: str, volumes: PodVolumes) -> bool:
    """Whether all claims are bound. Raises a `CycleError` if the pod cannot get this node."""
    found = listers.store.find("Node", "", node)
    if found is None:
        raise CycleError(f'{_PROBLEM}failed to get node "{node}": node "{node}" not found')
    current = listers.store.find("Pod", pod.metadata.namespace, pod.metadata.name)
    if current is None or current.metadata.uid != pod.metadata.uid:
        raise CycleError(f'{_PROBLEM}pod does not exist any more: pod "{pod.metadata.name}" not found')
    for reserved, wanted in volumes.static:
        volume, claim = listers.volume(reserved.metadata.name), _claim(listers, wanted, "check binding")
        if volume is None:
            name = reserved.metadata.name
            raise CycleError(f'{_PROBLEM}failed to check binding: persistentvolumes "{name}" not found')
        _check_affinity(volume, found)
        if not (field(volume, "spec").get("claimRef") or {}).get("uid"):
            raise CycleError(f'{_PROBLEM}ClaimRef got reset for pv "{volume.metadata.name}"')
        if not is_fully_bound(claim):
            return False
    for wanted in volumes.dynamic:
        claim = _claim(listers, wanted, "check provisioning pvc")
        if claim.metadata.annotations.get(SELECTED_NODE) != node:
            raise CycleError(f'{_PROBLEM}provisioning failed for PVC "{claim.metadata.name}"')
        volume = listers.volume(volume_name(claim)) if volume_name(claim) else None
        if volume is None:
            return False
        _check_affinity(volume, found)
        if not is_fully_bound(claim):
            return False
    return True


def _claim(listers: Listers, wanted: ApiObject, what: str) -> ApiObject:
    metadata = wanted.metadata
    claim = listers.claim(metadata.namespace, metadata.name)
    if claim is None:
        named = f"{metadata.namespace}/{metadata.name}"
        raise CycleError(f'{_PROBLEM}failed to {what}: persistentvolumeclaims "{named}" not found')
    return claim


def _check_affinity(volume: ApiObject, node: ApiObject) -> None:
    if not matches_volume_affinity(volume, node.metadata.labels):
        name = node.metadata.name
        raise CycleError(
            f'{_PROBLEM}pv "{volume.metadata.name}" node affinity doesn\'t match node "{name}": '
            "no matching NodeSelectorTerms"
        )


def timed_out() -> CycleError:
    return CycleError(f"{_PROBLEM}context deadline exceeded")

"""Mirror pods: copies of static pods at the API server.

Mirrors: pkg/kubelet/pod/mirror_client.go, pkg/kubelet/kubelet.go tryReconcileMirrorPods
"""

from __future__ import annotations

from kubesim.api.meta import CONFIG_HASH, CONFIG_MIRROR, OwnerReference
from kubesim.api.node import Node
from kubesim.api.pod import Pod, PodStatus
from kubesim.api.pods.pod_kinds import is_static_pod, pod_full_name
from kubesim.cluster.api_client import ApiClient
from kubesim.errors import ApiError


class MirrorClient:
    """Creates, replaces and deletes mirror pods. Failures are retried by the next sync or by housekeeping."""

    def __init__(self, client: ApiClient, node_name: str) -> None:
        self._client = client
        self._node_name = node_name

    async def reconcile(self, pod: Pod, mirror: Pod | None) -> bool:
        """Replace a missing, terminating or outdated mirror pod.

        Returns whether there was anything to do.
        """
        if not is_static_pod(pod) or (mirror is not None and not _is_outdated(mirror, pod)):
            return False
        if mirror is None or await self.delete(pod_full_name(pod), mirror.metadata.uid):
            await self._create(pod)
        return True

    async def _create(self, pod: Pod) -> None:
        try:
            node = self._client.known_node(self._node_name)
            if node.metadata.deletion_timestamp is None:
                await self._client.create_pod(mirror_pod(pod, node))
        except ApiError:
            pass

    async def delete(self, full_name: str, uid: str | None = None) -> bool:
        """Delete the mirror pod; true if one was deleted. A missing or replaced one is not an error."""
        name, _, namespace = full_name.rpartition("_")
        try:
            await self._client.delete_pod(namespace, name, uid or "", grace_period_seconds=0)
        except ApiError:
            return False
        return True


def mirror_pod(pod: Pod, node: Node) -> Pod:
    """The mirror pod of a static pod."""
    annotations = {**pod.metadata.annotations, CONFIG_MIRROR: pod.metadata.annotations.get(CONFIG_HASH, "")}
    owner = OwnerReference(
        api_version="v1", kind="Node", name=node.metadata.name, uid=node.metadata.uid, controller=True
    )
    metadata = pod.metadata.changed(annotations=annotations, owner_references=(owner,))
    return pod.changed(metadata=metadata, status=PodStatus())


def _is_outdated(mirror: Pod, pod: Pod) -> bool:
    """Whether the mirror pod is terminating or has another configuration hash."""
    same = mirror.metadata.annotations.get(CONFIG_MIRROR) == pod.metadata.annotations.get(CONFIG_HASH)
    return mirror.metadata.deletion_timestamp is not None or not same

"""Volume operations: set up a volume for a pod, and tear it down.

As in the kubelet, an error consists of the operation and its problem.

Mirrors: pkg/volume/util/operationexecutor/operation_generator.go GenerateMountVolumeFunc, GenerateMapVolumeFunc,
GenerateUnmountVolumeFunc
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Pod, ResourceList
from kubesim.cluster.scheduling.node_affinity import matches_node_selector
from kubesim.cluster.store.object_watch import ObjectKey
from kubesim.errors import ApiError
from kubesim.golang.text import quoted
from kubesim.kubelet.volumes.claims import Read
from kubesim.kubelet.volumes.host_paths import check_host_path
from kubesim.kubelet.volumes.object_manager import NotListedYet, ObjectManager, ObjectUnavailable
from kubesim.kubelet.volumes.payload import PAYLOADS
from kubesim.kubelet.volumes.reconcile.actual_state import ActualStateOfWorld, MountedVolume
from kubesim.kubelet.volumes.reconcile.desired_state import VolumeToMount
from kubesim.kubelet.volumes.spec import VolumeError, VolumePlugin, VolumeSpec
from kubesim.kubelet.volumes.tokens import TokenManager
from kubesim.runtime.volume_directories import VolumeDirectories, VolumeDirectory
from kubesim.values import value_object

SET_UP = "MountVolume.SetUp failed"
NEW_MOUNTER = "MountVolume.NewMounter initialization failed"
NODE_AFFINITY = "MountVolume.NodeAffinity check failed"
MAP_NODE_AFFINITY = "MapVolume.NodeAffinity check failed"
_WITH_READ_ONLY = ("nfs", "iscsi", "fc", "csi")
_CSI_SET_UP = "kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode"
_GIT_REPO = (
    "git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate "
    "`GitRepoVolumeDriver`"
)


class OperationError(VolumeError):
    """A failed operation; the text is that of its Event."""

    def __init__(self, doing: str, volume: str, error: object) -> None:
        super().__init__(f"{doing} for volume {quoted(volume)} : {error}")


@value_object
class _Host:
    """The `VolumeHost` of one mount. It does not wait again for objects in `given_up`."""

    objects: ObjectManager
    tokens: TokenManager
    node: Callable[[], Node]
    given_up: Collection[ObjectKey]

    def get_object(self, kind: str, namespace: str, name: str) -> ApiObject:
        try:
            return self.objects.get(kind, namespace, name)
        except NotListedYet as error:
            if error.key in self.given_up:
                raise ObjectUnavailable(str(error)) from None
            raise

    def service_account_token(self, pod: Pod, source: Mapping[str, Any]) -> str:
        return self.tokens.get(pod, source)

    def node_allocatable(self) -> ResourceList:
        return self.node().status.allocatable


class Operations:
    def __init__(
        self,
        node_name: str,
        objects: ObjectManager,
        read: Read,
        tokens: TokenManager,
        directories: VolumeDirectories,
        actual: ActualStateOfWorld,
    ) -> None:
        self._node_name = node_name
        self._objects = objects
        self._read = read
        self._tokens = tokens
        self._directories = directories
        self._actual = actual

    # -- attaching ----------------------------------------------------------------------------------------------

    def is_attachable(self, volume: VolumeToMount) -> bool:
        """Whether the cluster must attach the volume to the node before it can be mounted."""
        if volume.spec.persistent_volume is None or volume.plugin.field != "csi":
            return False
        try:
            driver = self._read("CSIDriver", "", volume.spec.source["csi"].get("driver") or "")
        except ApiError:
            return True
        return (driver.extra.get("spec") or {}).get("attachRequired") is not False

    def is_attached(self, volume_name: str) -> bool:
        """Whether the node's status lists the volume as attached."""
        return any(one.get("name") == volume_name for one in self._node().status.volumes_attached)

    def is_reported_in_use(self, volume_name: str) -> bool:
        return volume_name in self._node().status.volumes_in_use

    # -- mounting -----------------------------------------------------------------------------------------------

    def mount(self, volume: VolumeToMount, given_up: Collection[ObjectKey] = ()) -> bool:
        """Set up the volume and record it. True if existing files changed.

        Raises OperationError, or NotListedYet: the caller waits for that object, or adds it to `given_up`.
        """
        if volume.spec.persistent_volume is not None:
            self._check_persistent_volume(volume)
        changed = self._set_up(volume, given_up)
        self._actual.add_pod_to_volume(volume.uid, MountedVolume(volume.volume_name, volume.plugin))
        return changed

    def _set_up(self, volume: VolumeToMount, given_up: Collection[ObjectKey]) -> bool:
        spec, plugin, uid = volume.spec, volume.plugin, volume.uid
        source: Mapping[str, Any] = spec.source[plugin.field]
        payload: Callable[..., dict[str, str]] | None = PAYLOADS.get(plugin.field)
        try:
            if payload is not None:
                files = payload(source, volume.pod, _Host(self._objects, self._tokens, self._node, given_up))
                return self._directories.set_up(uid, _directory(volume), files)
            if plugin.field == "hostPath":
                check_host_path(source, self._directories)
                self._directories.bind(uid, _directory(volume), source.get("path") or "")
            elif plugin.field == "local":
                self._directories.bind(uid, _directory(volume), source.get("path") or "")
            elif plugin.field == "nfs":
                share = f"{source.get('server', '')}:{source.get('path', '')}"
                self._directories.bind(uid, _directory(volume), share, shared=True)
            elif spec.persistent_volume is not None or plugin.shared:
                self._directories.bind(uid, _directory(volume), volume.volume_name, shared=True)
            elif plugin.field == "gitRepo":
                raise VolumeError(_GIT_REPO)
            elif plugin.field == "csi":
                return self._set_up_inline_csi(volume, source.get("driver") or "")
            else:
                return self._directories.set_up(uid, _directory(volume), None)
        except VolumeError as error:
            raise error if isinstance(error, OperationError) else OperationError(SET_UP, spec.name, error) from None
        return False

    def _set_up_inline_csi(self, volume: VolumeToMount, driver: str) -> bool:
        """Set up an inline CSI volume. A driver with a CSIDriver object for inline volumes always succeeds."""
        try:
            found = self._read("CSIDriver", "", driver)
        except ApiError:
            problem = f'volume mode "Ephemeral" not supported by driver {driver} (no CSIDriver object)'
            raise OperationError(NEW_MOUNTER, volume.spec.name, problem) from None
        modes = (found.extra.get("spec") or {}).get("volumeLifecycleModes") or ["Persistent"]
        if "Ephemeral" not in modes:
            listing = " ".join(quoted(mode) for mode in modes)
            problem = f'volume mode "Ephemeral" not supported by driver {driver} (only supports [{listing}])'
            raise VolumeError(f"{_CSI_SET_UP}: {problem}")
        return self._directories.set_up(volume.uid, _directory(volume), None)

    def _check_persistent_volume(self, volume: VolumeToMount) -> None:
        """Check the volume's node affinity, and whether another pod may use it."""
        spec = volume.spec
        required = (spec.source.get("nodeAffinity") or {}).get("required")
        try:
            if required is not None and not matches_node_selector(required, "", self._node().metadata.labels):
                raise VolumeError("no matching NodeSelectorTerms")
        except VolumeError as error:
            raise OperationError(MAP_NODE_AFFINITY if spec.is_block else NODE_AFFINITY, spec.name, error) from None
        only_pod = spec.source.get("accessModes") == ["ReadWriteOncePod"]
        if only_pod and self._actual.is_mounted_elsewhere(volume.uid, volume.volume_name):
            problem = "volume uses the ReadWriteOncePod access mode and is already in use by another pod"
            raise OperationError(SET_UP, spec.name, problem)

    # -- unmounting ---------------------------------------------------------------------------------------------

    def unmount(self, uid: str, volume_name: str) -> None:
        self._directories.tear_down(uid, volume_name)
        self._actual.delete_pod_from_volume(uid, volume_name)

    def _node(self) -> Node:
        """The Node from the informer's cache; None without an informer."""
        try:
            node = self._read("Node", "", self._node_name)
        except ApiError as error:
            raise VolumeError(str(error)) from None
        assert isinstance(node, Node)
        return node


def _directory(volume: VolumeToMount) -> VolumeDirectory:
    spec, plugin = volume.spec, volume.plugin
    return VolumeDirectory(
        volume_name=volume.volume_name,
        plugin=plugin.field,
        names=volume.outer_names,
        read_only=plugin.read_only or spec.read_only or _is_read_only(spec, plugin),
        in_memory=(spec.source.get("emptyDir") or {}).get("medium") == "Memory",
    )


def _is_read_only(spec: VolumeSpec, plugin: VolumePlugin) -> bool:
    """Whether the mount is read-only. A persistent volume's own setting is ignored; the claim's use decides."""
    if plugin.field not in _WITH_READ_ONLY or spec.persistent_volume is not None:
        return False
    return bool((spec.source.get(plugin.field) or {}).get("readOnly"))

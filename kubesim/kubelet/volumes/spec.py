"""A volume's plugin, source, and unique name in the kubelet.

Mirrors: pkg/volume/plugins.go Spec, FindPluginBySpec; pkg/volume/util/util.go GetUniqueVolumeName*, GetPodVolumeNames
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.errors import KubesimError
from kubesim.golang.text import listed, quoted
from kubesim.values import value_object


class VolumeError(KubesimError):
    """An operation on a volume failed; the text is the kubelet's."""


@value_object
class VolumePlugin:
    """A volume plugin. `field` is the field of its source in a volume or a persistent volume."""

    name: str
    field: str
    requires_remount: bool = False  # every sync of the pod sets it up again, which updates its files
    read_only: bool = False
    device_mountable: bool = False  # mounted once on the node for all its pods
    shared: bool = False  # same content on every node


# Sources of removed in-tree plugins: their CSI driver replaces them, with this source field as volume handle.
MIGRATED: Mapping[str, tuple[str, str]] = {
    "awsElasticBlockStore": ("ebs.csi.aws.com", "volumeID"),
    "azureDisk": ("disk.csi.azure.com", "diskURI"),
    "azureFile": ("file.csi.azure.com", "shareName"),
    "cinder": ("cinder.csi.openstack.org", "volumeID"),
    "gcePersistentDisk": ("pd.csi.storage.gke.io", "pdName"),
    "portworxVolume": ("pxd.portworx.com", "volumeID"),
    "vsphereVolume": ("csi.vsphere.vmware.com", "volumePath"),
}
PLUGINS: Mapping[str, VolumePlugin] = {
    plugin.field: plugin
    for plugin in (
        VolumePlugin("kubernetes.io/configmap", "configMap", requires_remount=True, read_only=True),
        VolumePlugin("kubernetes.io/secret", "secret", requires_remount=True, read_only=True),
        VolumePlugin("kubernetes.io/downward-api", "downwardAPI", requires_remount=True, read_only=True),
        VolumePlugin("kubernetes.io/projected", "projected", requires_remount=True, read_only=True),
        VolumePlugin("kubernetes.io/empty-dir", "emptyDir"),
        VolumePlugin("kubernetes.io/host-path", "hostPath"),
        VolumePlugin("kubernetes.io/git-repo", "gitRepo"),
        VolumePlugin("kubernetes.io/image", "image", read_only=True),
        VolumePlugin("kubernetes.io/nfs", "nfs"),
        VolumePlugin("kubernetes.io/iscsi", "iscsi", device_mountable=True, shared=True),
        VolumePlugin("kubernetes.io/fc", "fc", device_mountable=True, shared=True),
        VolumePlugin("kubernetes.io/local-volume", "local", device_mountable=True),
        VolumePlugin("kubernetes.io/csi", "csi", device_mountable=True),
        *(VolumePlugin("kubernetes.io/csi", field, device_mountable=True, shared=True) for field in MIGRATED),
    )
}


@value_object
class VolumeSpec:
    """A volume of a pod, or the persistent volume of its claim. `name` is the name of either."""

    name: str
    source: Mapping[str, Any]  # the pod's volume, or the persistent volume's spec
    persistent_volume: ApiObject | None = None
    read_only: bool = False

    def plugin(self) -> VolumePlugin:
        """The plugin of the source. Raises VolumeError."""
        for field, plugin in PLUGINS.items():
            if self.source.get(field) is not None:
                return plugin
        raise VolumeError(
            f"failed to get Plugin from volumeSpec for volume {quoted(self.name)} err=no volume plugin matched"
        )

    @property
    def is_block(self) -> bool:
        return self.persistent_volume is not None and self.source.get("volumeMode") == "Block"


def unique_volume_name(spec: VolumeSpec, plugin: VolumePlugin, uid: str) -> str:
    """Unique name of a volume: device-mountable volumes have one for all pods, others one per pod."""
    source = spec.source.get(plugin.field) or {}
    if plugin.field == "iscsi":
        portal = source.get("targetPortal", "")
        portal = portal if ":" in portal else f"{portal}:3260"
        return f"{plugin.name}/{portal}:{source.get('iqn', '')}:{source.get('lun', 0)}"
    if plugin.field == "fc":
        names = source.get("targetWWNs")
        shown = f"{listed(names)}:{source.get('lun', 0)}" if names else listed(source.get("wwids") or ())
        return f"{plugin.name}/{shown}"
    if plugin.field in MIGRATED:
        driver, handle = MIGRATED[plugin.field]
        return f"{plugin.name}/{driver}^{source.get(handle, '')}"
    if not plugin.device_mountable or spec.persistent_volume is None:
        return f"{plugin.name}/{uid}-{spec.name}"
    if plugin.field == "csi":
        return f"{plugin.name}/{source.get('driver', '')}^{source.get('volumeHandle', '')}"
    return f"{plugin.name}/{spec.name}"


def used_names(pod: Pod) -> tuple[dict[str, None], dict[str, None]]:
    """Names of mounted volumes, and of block devices, of all containers."""
    spec = pod.spec
    mounts: dict[str, None] = {}
    devices: dict[str, None] = {}
    for containers in (spec.init_containers, spec.containers, spec.ephemeral_containers):
        for container in containers:
            for mount in container.volume_mounts:
                mounts[mount["name"]] = None
            for device in container.volume_devices:
                devices[device["name"]] = None
    return mounts, devices

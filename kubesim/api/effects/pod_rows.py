"""The table of Pod fields without effect. Fields inside such a field have no effect, either.

A test runs pods with every field and records which fields are read: each field of a PodSpec must be in this table, in
`INERT`, or be read outside of validation.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.effects.rows import FieldRow

_NO_LINUX = "no Linux security is simulated"
_NO_STORAGE = "storage is files in memory"
_NO_MODES = "simulated files have no permission bits"
_FILE_MODE = 0o644  # the API server's default

POD_ROWS: tuple[FieldRow, ...] = (
    FieldRow("PodSpec.hostIPC", "shares the node's IPC namespace", "no shared memory or message queues"),
    FieldRow(
        "PodSpec.schedulingGroup", "the scheduler places the pods of a group together", "pods are placed one by one"
    ),
    FieldRow(
        "Container.stdinOnce",
        "closes stdin after the first attached session",
        "only clients of `kubesim up` attach to a container",
    ),
    FieldRow(
        "VolumeMount.mountPropagation",
        "shows mounts of the node in the container, and the other way round",
        "nothing else is mounted on a simulated node",
        plain=("None",),
    ),
    FieldRow("SecurityContext.capabilities", "adds and drops Linux capabilities", _NO_LINUX),
    FieldRow("SecurityContext.privileged", "gives the container all rights and devices of the node", _NO_LINUX),
    FieldRow(
        "SecurityContext.allowPrivilegeEscalation",
        "false sets no_new_privs for the processes",
        _NO_LINUX,
        plain=(True,),
    ),
    FieldRow("SecurityContext.procMount", "Unmasked shows all of /proc", "no /proc is simulated", plain=("Default",)),
    FieldRow(
        "SecurityContext.seLinuxOptions PodSecurityContext.seLinuxOptions",
        "labels the processes, and the volumes of the pod",
        _NO_LINUX,
    ),
    FieldRow(
        "PodSecurityContext.seLinuxChangePolicy",
        "labels volumes by mount option or file by file",
        _NO_LINUX,
    ),
    FieldRow(
        "SecurityContext.windowsOptions PodSecurityContext.windowsOptions",
        "user and credentials on Windows",
        "nodes are Linux",
    ),
    FieldRow(
        "PodSecurityContext.supplementalGroupsPolicy",
        "Strict leaves out the groups that the image defines",
        "images define no groups",
        plain=("Merge",),
    ),
    FieldRow(
        "PodSecurityContext.fsGroupChangePolicy",
        "decides when the owner of a volume's files is changed",
        _NO_MODES,
        plain=("Always",),
    ),
    FieldRow(
        "SecretVolumeSource.defaultMode ConfigMapVolumeSource.defaultMode DownwardAPIVolumeSource.defaultMode "
        "ProjectedVolumeSource.defaultMode KeyToPath.mode DownwardAPIVolumeFile.mode",
        "permission bits of the files",
        _NO_MODES,
        plain=(_FILE_MODE,),
    ),
    FieldRow(
        "GCEPersistentDiskVolumeSource.fsType AWSElasticBlockStoreVolumeSource.fsType ISCSIVolumeSource.fsType "
        "FCVolumeSource.fsType CSIVolumeSource.fsType CinderVolumeSource.fsType AzureDiskVolumeSource.fsType "
        "PortworxVolumeSource.fsType VsphereVirtualDiskVolumeSource.fsType GCEPersistentDiskVolumeSource.partition "
        "AWSElasticBlockStoreVolumeSource.partition",
        "which file system is made or mounted",
        _NO_STORAGE,
        plain=("ext4",),
    ),
    FieldRow(
        "ISCSIVolumeSource.iscsiInterface ISCSIVolumeSource.portals ISCSIVolumeSource.chapAuthDiscovery "
        "ISCSIVolumeSource.chapAuthSession ISCSIVolumeSource.initiatorName ISCSIVolumeSource.secretRef",
        "how the node logs in to the iSCSI target",
        _NO_STORAGE,
        plain=("default",),
    ),
    FieldRow(
        "CSIVolumeSource.volumeAttributes CSIVolumeSource.nodePublishSecretRef",
        "is passed to the CSI driver",
        "the simulated driver has no options",
    ),
    FieldRow(
        "GCEPersistentDiskVolumeSource.readOnly AWSElasticBlockStoreVolumeSource.readOnly "
        "AzureDiskVolumeSource.readOnly AzureFileVolumeSource.readOnly CinderVolumeSource.readOnly "
        "PortworxVolumeSource.readOnly AzureDiskVolumeSource.cachingMode AzureDiskVolumeSource.kind "
        "CinderVolumeSource.secretRef AzureFileVolumeSource.secretName "
        "VsphereVirtualDiskVolumeSource.storagePolicyName VsphereVirtualDiskVolumeSource.storagePolicyID",
        "is passed to the cloud's CSI driver",
        "the simulated driver has no options",
        plain=("ReadWrite", "Shared"),
    ),
    FieldRow(
        "VolumeDevice.devicePath", "the block device appears there in the container", "containers have no devices"
    ),
    FieldRow(
        "ClusterTrustBundleProjection.name ClusterTrustBundleProjection.signerName "
        "ClusterTrustBundleProjection.labelSelector ClusterTrustBundleProjection.optional",
        "the file holds these certificates",
        "ClusterTrustBundles are stored only, so the file is empty",
    ),
    FieldRow(
        "VolumeProjection.podCertificate", "the kubelet requests a certificate and writes it", "no signer is simulated"
    ),
)

_NO_PLUGIN = "kubelet v1.36 has no plugin for this volume either, so the pod waits for it"

# Fields that change nothing on a real cluster either, or whose use the test cannot observe: not reported.
INERT: Mapping[str, str] = {
    "ObjectMeta.selfLink": "not set since v1.20",
    "ObjectMeta.managedFields": "records who changed what",
    "OwnerReference.apiVersion": "identifies the owner together with its kind",
    "PodSchedulingGate.name": "any gate holds the pod back, whatever its name",
    "AzureDiskVolumeSource.diskName": "diskURI identifies the disk",
    "GitRepoVolumeSource.repository": "the kubelet refuses gitRepo volumes",
    "GitRepoVolumeSource.revision": "the kubelet refuses gitRepo volumes",
    "GitRepoVolumeSource.directory": "the kubelet refuses gitRepo volumes",
    **dict.fromkeys(
        (
            "Volume.glusterfs", "Volume.rbd", "Volume.flexVolume", "Volume.cephfs", "Volume.flocker", "Volume.quobyte",
            "Volume.photonPersistentDisk", "Volume.scaleIO", "Volume.storageos",
        ),
        _NO_PLUGIN,
    ),
}  # fmt: skip

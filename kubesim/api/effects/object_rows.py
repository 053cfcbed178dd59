"""The table of fields without effect of all kinds but Pod; see `pod_rows`."""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.effects.rows import FieldRow

_NO_PROXY = "no kube-proxy is simulated: pods talk to pods"
_NO_CLOUD = "no cloud is simulated"
_NO_OPTIONS = "the simulated driver has no options"
_NO_STORAGE = "storage is files in memory"

OBJECT_ROWS: tuple[FieldRow, ...] = (
    FieldRow("ServicePort.nodePort", "opens this port on every node", _NO_PROXY),
    FieldRow("ServiceSpec.externalIPs", "accepts traffic for these addresses", _NO_PROXY),
    FieldRow(
        "ServiceSpec.sessionAffinity ServiceSpec.sessionAffinityConfig",
        "sends a client to the same pod each time",
        _NO_PROXY,
        plain=("None",),
    ),
    FieldRow(
        "ServiceSpec.externalTrafficPolicy ServiceSpec.internalTrafficPolicy",
        "Local keeps traffic on the node",
        _NO_PROXY,
        plain=("Cluster",),
    ),
    FieldRow("ServiceSpec.trafficDistribution Endpoint.hints", "prefers near endpoints", _NO_PROXY),
    FieldRow("ServiceSpec.externalName", "the DNS name is an alias of this one", "no cluster DNS is simulated"),
    FieldRow(
        "ServiceSpec.loadBalancerIP ServiceSpec.loadBalancerSourceRanges ServiceSpec.loadBalancerClass "
        "ServiceSpec.healthCheckNodePort",
        "asks the cloud for a load balancer",
        _NO_CLOUD,
    ),
    FieldRow(
        "RollingUpdateStatefulSetStrategy.maxUnavailable",
        "updates several pods at once, with the gate MaxUnavailableStatefulSet",
        "pods are updated one at a time",
        plain=(1,),
    ),
    FieldRow("NodeSpec.podCIDR NodeSpec.podCIDRs", "addresses for the node's pods", "the runtime chooses addresses"),
    FieldRow("NodeSpec.providerID", "the cloud's name of the machine", _NO_CLOUD),
    FieldRow("StorageClass.parameters VolumeResourceRequirements.limits", "is passed to the provisioner", _NO_OPTIONS),
    FieldRow("PersistentVolumeSpec.mountOptions", "options of the mount", _NO_STORAGE),
    FieldRow(
        "PersistentVolumeClaimSpec.dataSource PersistentVolumeClaimSpec.dataSourceRef",
        "fills the volume from a snapshot or another claim",
        "new volumes are empty",
    ),
    FieldRow(
        "CSIPersistentVolumeSource.fsType LocalVolumeSource.fsType ISCSIPersistentVolumeSource.fsType "
        "CinderPersistentVolumeSource.fsType",
        "which file system is made or mounted",
        _NO_STORAGE,
        plain=("ext4",),
    ),
    FieldRow(
        "ISCSIPersistentVolumeSource.iscsiInterface ISCSIPersistentVolumeSource.portals "
        "ISCSIPersistentVolumeSource.chapAuthDiscovery ISCSIPersistentVolumeSource.chapAuthSession "
        "ISCSIPersistentVolumeSource.initiatorName ISCSIPersistentVolumeSource.secretRef",
        "how the node logs in to the iSCSI target",
        _NO_STORAGE,
        plain=("default",),
    ),
    FieldRow(
        "CSIPersistentVolumeSource.readOnly CinderPersistentVolumeSource.readOnly "
        "AzureFilePersistentVolumeSource.readOnly CSIPersistentVolumeSource.volumeAttributes "
        "CSIPersistentVolumeSource.controllerPublishSecretRef "
        "CSIPersistentVolumeSource.nodeStageSecretRef CSIPersistentVolumeSource.nodePublishSecretRef "
        "CSIPersistentVolumeSource.controllerExpandSecretRef CSIPersistentVolumeSource.nodeExpandSecretRef "
        "CinderPersistentVolumeSource.secretRef AzureFilePersistentVolumeSource.secretName "
        "AzureFilePersistentVolumeSource.secretNamespace",
        "is passed to the CSI driver",
        _NO_OPTIONS,
    ),
    FieldRow(
        "CSIDriverSpec.podInfoOnMount CSIDriverSpec.tokenRequests CSIDriverSpec.requiresRepublish "
        "CSIDriverSpec.serviceAccountTokenInSecrets",
        "what the kubelet passes to the driver about a pod",
        _NO_OPTIONS,
    ),
    FieldRow(
        "CSIDriverSpec.fsGroupPolicy CSIDriverSpec.seLinuxMount",
        "owner and label of the volume's files",
        "simulated files have no owner",
        plain=("ReadWriteOnceWithFSType",),
    ),
    FieldRow(
        "CSIDriverSpec.nodeAllocatableUpdatePeriodSeconds CSIDriverSpec.preventPodSchedulingIfMissing",
        "how the scheduler learns of a node's volume limits",
        "the simulated driver reports no limits",
    ),
    FieldRow(
        "DeviceClaimConfiguration.opaque DeviceClassConfiguration.opaque", "is passed to the DRA driver", _NO_OPTIONS
    ),
    FieldRow(
        "DeviceClassSpec.extendedResourceName",
        "pods get the devices by an extended resource, without a claim",
        "a pod that asks for it stays Pending",
    ),
    FieldRow(
        "DeviceTaint.timeAdded DeviceToleration.tolerationSeconds",
        "the eviction of pods whose device has a taint with the effect NoExecute",
        "device taints evict no pods",
    ),
)

_NO_PLUGIN = "kubelet v1.36 has no plugin for this volume either, so the pod waits for it"

INERT: Mapping[str, str] = {
    "ServiceSpec.ipFamilyPolicy": "decides at the API server which addresses the Service gets",
    "ServiceSpec.allocateLoadBalancerNodePorts": "decides at the API server whether node ports are allocated",
    "Endpoint.deprecatedTopology": "replaced by zone and nodeName",
    "NodeSpec.configSource": "removed in v1.26",
    "NodeSpec.externalID": "deprecated, unused",
    "Taint.timeAdded": "controllers set it",
    "ObjectReference.resourceVersion": "part of a reference",
    "ServiceAccount.secrets": "enforced only with an annotation that is deprecated",
    "PriorityClass.description": "text for people",
    "CSINodeDriver.nodeID": "the driver's name of the node",
    "CSINodeDriver.topologyKeys": "the kubelet writes it when a driver registers",
    "ResourceSliceSpec.sharedCounters": "for devices with consumesCounters, which the scheduler refuses",
    "Device.bindingFailureConditions": "together with bindingConditions, which the scheduler refuses",
    "DeviceCapacity.requestPolicy": "together with allowMultipleAllocations, which the scheduler refuses",
    **dict.fromkeys(
        (
            "DeviceAttribute.ints", "DeviceAttribute.bools", "DeviceAttribute.strings", "DeviceAttribute.versions",
        ),
        "the API server drops it, because the gate DRAListTypeAttributes is off",
    ),
    **dict.fromkeys(
        (
            "ExactDeviceRequest.capacity", "DeviceSubRequest.capacity", "Device.consumesCounters",
            "Device.nodeAllocatableResourceMappings",
        ),
        "the scheduler refuses it: an Event of the pod says that it is not simulated",
    ),
    "ISCSIPersistentVolumeSource.readOnly": "the kubelet mounts it as the claim is used",
    "VolumeAttachmentSource.inlineVolumeSpec": "used for migrated inline volumes only",
    **dict.fromkeys(
        (
            "PersistentVolumeSpec.glusterfs", "PersistentVolumeSpec.rbd", "PersistentVolumeSpec.flexVolume",
            "PersistentVolumeSpec.cephfs", "PersistentVolumeSpec.flocker", "PersistentVolumeSpec.quobyte",
            "PersistentVolumeSpec.photonPersistentDisk", "PersistentVolumeSpec.scaleIO",
            "PersistentVolumeSpec.storageos",
        ),
        _NO_PLUGIN,
    ),
}  # fmt: skip

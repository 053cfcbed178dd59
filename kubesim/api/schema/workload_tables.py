"""Declarations of parts of Services, and of the kinds for storage, quotas and devices; see `tables.py`.

Mirrors: k8s.io/api core/v1, discovery/v1, storage/v1, resource/v1 types.go
"""

from __future__ import annotations

SERVICES = """
Condition: type! string, status! ConditionStatus, observedGeneration int64, lastTransitionTime! Time, reason! string,
  message! string
SessionAffinityConfig: clientIP *ClientIPConfig
ClientIPConfig: timeoutSeconds *int32
LoadBalancerStatus: ingress []LoadBalancerIngress
LoadBalancerIngress: ip string, hostname string, ipMode *LoadBalancerIPMode, ports []PortStatus
PortStatus: port! int32, protocol! Protocol, error *string
EndpointHints: forZones []ForZone, forNodes []ForNode
ForZone: name! string
ForNode: name! string
"""

STORAGE = """
PersistentVolumeClaim: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec
  PersistentVolumeClaimSpec, status PersistentVolumeClaimStatus
PersistentVolumeClaimStatus: phase PersistentVolumeClaimPhase, accessModes []PersistentVolumeAccessMode, capacity
  ResourceList, conditions+type []PersistentVolumeClaimCondition, allocatedResources ResourceList,
  allocatedResourceStatuses map[ResourceName]ClaimResourceStatus, currentVolumeAttributesClassName *string,
  modifyVolumeStatus *ModifyVolumeStatus
PersistentVolumeClaimCondition: type! PersistentVolumeClaimConditionType, status! ConditionStatus, lastProbeTime Time,
  lastTransitionTime Time, reason string, message string
ModifyVolumeStatus: targetVolumeAttributesClassName string, status! PersistentVolumeClaimModifyVolumeStatus
PersistentVolume: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec PersistentVolumeSpec, status
  PersistentVolumeStatus
PersistentVolumeSpec: capacity ResourceList, @PersistentVolumeSource, gcePersistentDisk *GCEPersistentDiskVolumeSource,
  awsElasticBlockStore *AWSElasticBlockStoreVolumeSource, hostPath *HostPathVolumeSource, glusterfs
  *GlusterfsPersistentVolumeSource, nfs *NFSVolumeSource, rbd *RBDPersistentVolumeSource, iscsi
  *ISCSIPersistentVolumeSource, cinder *CinderPersistentVolumeSource, cephfs *CephFSPersistentVolumeSource, fc
  *FCVolumeSource, flocker *FlockerVolumeSource, flexVolume *FlexPersistentVolumeSource, azureFile
  *AzureFilePersistentVolumeSource, vsphereVolume *VsphereVirtualDiskVolumeSource, quobyte *QuobyteVolumeSource,
  azureDisk *AzureDiskVolumeSource, photonPersistentDisk *PhotonPersistentDiskVolumeSource, portworxVolume
  *PortworxVolumeSource, scaleIO *ScaleIOPersistentVolumeSource, local *LocalVolumeSource, storageos
  *StorageOSPersistentVolumeSource, csi *CSIPersistentVolumeSource, @, accessModes []PersistentVolumeAccessMode,
  claimRef *ObjectReference, persistentVolumeReclaimPolicy PersistentVolumeReclaimPolicy, storageClassName string,
  mountOptions []string, volumeMode *PersistentVolumeMode, nodeAffinity *VolumeNodeAffinity, volumeAttributesClassName
  *string
PersistentVolumeStatus: phase PersistentVolumePhase, message string, reason string, lastPhaseTransitionTime *Time
VolumeNodeAffinity: required *NodeSelector
GlusterfsPersistentVolumeSource: endpoints! string, path! string, readOnly bool, endpointsNamespace *string
RBDPersistentVolumeSource: monitors! []string, image! string, fsType string, pool string, user string, keyring string,
  secretRef *SecretReference, readOnly bool
ISCSIPersistentVolumeSource: targetPortal! string, iqn! string, lun! int32, iscsiInterface string, fsType string,
  readOnly bool, portals []string, chapAuthDiscovery bool, chapAuthSession bool, secretRef *SecretReference,
  initiatorName *string
CinderPersistentVolumeSource: volumeID! string, fsType string, readOnly bool, secretRef *SecretReference
CephFSPersistentVolumeSource: monitors! []string, path string, user string, secretFile string, secretRef
  *SecretReference, readOnly bool
FlexPersistentVolumeSource: driver! string, fsType string, secretRef *SecretReference, readOnly bool, options
  map[string]string
AzureFilePersistentVolumeSource: secretName! string, shareName! string, readOnly bool, secretNamespace! *string
ScaleIOPersistentVolumeSource: gateway! string, system! string, secretRef! *SecretReference, sslEnabled bool,
  protectionDomain string, storagePool string, storageMode string, volumeName string, fsType string, readOnly bool
LocalVolumeSource: path! string, fsType *string
StorageOSPersistentVolumeSource: volumeName string, volumeNamespace string, fsType string, readOnly bool, secretRef
  *ObjectReference
CSIPersistentVolumeSource: driver! string, volumeHandle! string, readOnly bool, fsType string, volumeAttributes
  map[string]string, controllerPublishSecretRef *SecretReference, nodeStageSecretRef *SecretReference,
  nodePublishSecretRef *SecretReference, controllerExpandSecretRef *SecretReference, nodeExpandSecretRef
  *SecretReference
SecretReference: name string, namespace string
StorageClass: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, provisioner! string, parameters
  map[string]string, reclaimPolicy *PersistentVolumeReclaimPolicy, mountOptions []string, allowVolumeExpansion *bool,
  volumeBindingMode *VolumeBindingMode, allowedTopologies []TopologySelectorTerm
TopologySelectorTerm: matchLabelExpressions []TopologySelectorLabelRequirement
TopologySelectorLabelRequirement: key! string, values! []string
CSIDriver: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec! CSIDriverSpec
CSIDriverSpec: attachRequired *bool, podInfoOnMount *bool, volumeLifecycleModes []VolumeLifecycleMode, storageCapacity
  *bool, fsGroupPolicy *FSGroupPolicy, tokenRequests []TokenRequest, requiresRepublish *bool, seLinuxMount *bool,
  nodeAllocatableUpdatePeriodSeconds *int64, serviceAccountTokenInSecrets *bool, preventPodSchedulingIfMissing *bool
TokenRequest: audience! string, expirationSeconds *int64
CSINode: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec! CSINodeSpec
CSINodeSpec: drivers!+name []CSINodeDriver
CSINodeDriver: name! string, nodeID! string, topologyKeys! []string, allocatable *VolumeNodeResources
VolumeNodeResources: count *int32
VolumeAttachment: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec! VolumeAttachmentSpec, status
  VolumeAttachmentStatus
VolumeAttachmentSpec: attacher! string, source! VolumeAttachmentSource, nodeName! string
VolumeAttachmentSource: persistentVolumeName *string, inlineVolumeSpec *PersistentVolumeSpec
VolumeAttachmentStatus: attached! bool, attachmentMetadata map[string]string, attachError *VolumeError, detachError
  *VolumeError
VolumeError: time Time, message string, errorCode *int32
VolumeAttributesClass: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, driverName! string,
  parameters map[string]string
"""

QUOTAS = """
LimitRange: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec LimitRangeSpec
LimitRangeSpec: limits! []LimitRangeItem
LimitRangeItem: type! LimitType, max ResourceList, min ResourceList, default ResourceList, defaultRequest ResourceList,
  maxLimitRequestRatio ResourceList
ResourceQuota: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec ResourceQuotaSpec, status
  ResourceQuotaStatus
ResourceQuotaSpec: hard ResourceList, scopes []ResourceQuotaScope, scopeSelector *ScopeSelector
ResourceQuotaStatus: hard ResourceList, used ResourceList
ScopeSelector: matchExpressions []ScopedResourceSelectorRequirement
ScopedResourceSelectorRequirement: scopeName! ResourceQuotaScope, operator! ScopeSelectorOperator, values []string
"""

# `ResourceClaim` is the kind here; the claims of a container are `ContainerResourceClaim`.
DEVICES = """
ResourceSlice: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec! ResourceSliceSpec
ResourceSliceSpec: driver! string, pool! ResourcePool, nodeName *string, nodeSelector *NodeSelector, allNodes *bool,
  devices []Device, perDeviceNodeSelection *bool, sharedCounters []CounterSet
CounterSet: name! string, counters map[string]Counter
ResourcePool: name! string, generation! int64, resourceSliceCount! int64
Device: name! string, attributes map[QualifiedName]DeviceAttribute, capacity map[QualifiedName]DeviceCapacity,
  consumesCounters []DeviceCounterConsumption, nodeName *string, nodeSelector *NodeSelector, allNodes *bool, taints
  []DeviceTaint, bindsToNode *bool, bindingConditions []string, bindingFailureConditions []string,
  allowMultipleAllocations *bool, nodeAllocatableResourceMappings map[ResourceName]NodeAllocatableResourceMapping
NodeAllocatableResourceMapping: capacityKey *QualifiedName, allocationMultiplier *Quantity
DeviceCounterConsumption: counterSet! string, counters map[string]Counter
DeviceCapacity: value! Quantity, requestPolicy *CapacityRequestPolicy
Counter: value! Quantity
CapacityRequestPolicy: default! *Quantity, validValues []Quantity, validRange *CapacityRequestPolicyRange
CapacityRequestPolicyRange: min *Quantity, max *Quantity, step *Quantity
DeviceAttribute: int *int64, bool *bool, string *string, version *string, ints []int64, bools []bool, strings []string,
  versions []string
DeviceTaint: key! string, value string, effect! DeviceTaintEffect, timeAdded *Time
ResourceClaim: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec! ResourceClaimSpec, status
  ResourceClaimStatus
ResourceClaimSpec: devices! DeviceClaim
DeviceClaim: requests! []DeviceRequest, constraints []DeviceConstraint, config []DeviceClaimConfiguration
DeviceRequest: name! string, exactly *ExactDeviceRequest, firstAvailable []DeviceSubRequest
ExactDeviceRequest: deviceClassName! string, selectors []DeviceSelector, allocationMode DeviceAllocationMode, count
  int64, adminAccess *bool, tolerations []DeviceToleration, capacity *CapacityRequirements
DeviceSubRequest: name! string, deviceClassName! string, selectors []DeviceSelector, allocationMode
  DeviceAllocationMode, count int64, tolerations []DeviceToleration, capacity *CapacityRequirements
CapacityRequirements: requests map[QualifiedName]Quantity
DeviceSelector: cel *CELDeviceSelector
CELDeviceSelector: expression! string
DeviceConstraint: requests []string, matchAttribute *FullyQualifiedName, distinctAttribute *FullyQualifiedName
DeviceClaimConfiguration: requests []string, @DeviceConfiguration, opaque *OpaqueDeviceConfiguration
OpaqueDeviceConfiguration: driver! string, parameters! RawExtension
DeviceToleration: key string, operator DeviceTolerationOperator, value string, effect DeviceTaintEffect,
  tolerationSeconds *int64
ResourceClaimStatus: allocation *AllocationResult, reservedFor+uid []ResourceClaimConsumerReference, devices
  []AllocatedDeviceStatus
ResourceClaimConsumerReference: apiGroup string, resource! string, name! string, uid! UID
AllocationResult: devices DeviceAllocationResult, nodeSelector *NodeSelector, allocationTimestamp *Time
DeviceAllocationResult: results []DeviceRequestAllocationResult, config []DeviceAllocationConfiguration
DeviceRequestAllocationResult: request! string, driver! string, pool! string, device! string, adminAccess *bool,
  tolerations []DeviceToleration, bindingConditions []string, bindingFailureConditions []string, shareID *UID,
  consumedCapacity map[QualifiedName]Quantity
DeviceAllocationConfiguration: source! AllocationConfigSource, requests []string, @DeviceConfiguration, opaque
  *OpaqueDeviceConfiguration
DeviceClass: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec! DeviceClassSpec
DeviceClassSpec: selectors []DeviceSelector, config []DeviceClassConfiguration, extendedResourceName *string
DeviceClassConfiguration: @DeviceConfiguration, opaque *OpaqueDeviceConfiguration
ResourceClaimTemplate: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec!
  ResourceClaimTemplateSpec
ResourceClaimTemplateSpec: metadata ObjectMeta, spec! ResourceClaimSpec
AllocatedDeviceStatus: driver! string, pool! string, device! string, shareID *string, conditions! []Condition, data
  *RawExtension, networkData *NetworkDeviceData
NetworkDeviceData: interfaceName string, ips []string, hardwareAddress string
"""

ALL = (SERVICES, STORAGE, QUOTAS, DEVICES)

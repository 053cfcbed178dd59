"""The structs of Pod and PodList without a class (see `kubesim.api.pod`), one line per field.

`field type` in the order of the declaration; `!` marks a field that is written even if empty; `+key` a list that a
strategic merge patch merges by that key; `@Name` opens, and `@` closes, the fields of an embedded struct. Types without
a declaration are named strings (`PullPolicy`) or have rules of their own (`Time`, `Quantity`, `IntOrString`,
`ResourceList`).

Mirrors: k8s.io/api/core/v1/types.go, apimachinery/pkg/apis/meta/v1/types.go
"""

from __future__ import annotations

META = """
ManagedFieldsEntry: manager string, operation ManagedFieldsOperationType, apiVersion string, time *Time, fieldsType
  string, fieldsV1 *FieldsV1, subresource string
LabelSelector: matchLabels map[string]string, matchExpressions []LabelSelectorRequirement
LabelSelectorRequirement: key! string, operator! LabelSelectorOperator, values []string
ListMeta: selfLink string, resourceVersion string, continue string, remainingItemCount *int64, shardInfo *ShardInfo
ShardInfo: selector! string
"""

POD = """
Volume: name! string, @VolumeSource, hostPath *HostPathVolumeSource, emptyDir *EmptyDirVolumeSource, gcePersistentDisk
  *GCEPersistentDiskVolumeSource, awsElasticBlockStore *AWSElasticBlockStoreVolumeSource, gitRepo *GitRepoVolumeSource,
  secret *SecretVolumeSource, nfs *NFSVolumeSource, iscsi *ISCSIVolumeSource, glusterfs *GlusterfsVolumeSource,
  persistentVolumeClaim *PersistentVolumeClaimVolumeSource, rbd *RBDVolumeSource, flexVolume *FlexVolumeSource, cinder
  *CinderVolumeSource, cephfs *CephFSVolumeSource, flocker *FlockerVolumeSource, downwardAPI *DownwardAPIVolumeSource,
  fc *FCVolumeSource, azureFile *AzureFileVolumeSource, configMap *ConfigMapVolumeSource, vsphereVolume
  *VsphereVirtualDiskVolumeSource, quobyte *QuobyteVolumeSource, azureDisk *AzureDiskVolumeSource, photonPersistentDisk
  *PhotonPersistentDiskVolumeSource, projected *ProjectedVolumeSource, portworxVolume *PortworxVolumeSource, scaleIO
  *ScaleIOVolumeSource, storageos *StorageOSVolumeSource, csi *CSIVolumeSource, ephemeral *EphemeralVolumeSource, image
  *ImageVolumeSource
ObjectFieldSelector: apiVersion string, fieldPath! string
ResourceFieldSelector: containerName string, resource! string, divisor Quantity
EnvFromSource: prefix string, configMapRef *ConfigMapEnvSource, secretRef *SecretEnvSource
ConfigMapEnvSource: @LocalObjectReference, name string, @, optional *bool
SecretEnvSource: @LocalObjectReference, name string, @, optional *bool
EnvVarSource: fieldRef *ObjectFieldSelector, resourceFieldRef *ResourceFieldSelector, configMapKeyRef
  *ConfigMapKeySelector, secretKeyRef *SecretKeySelector, fileKeyRef *FileKeySelector
ConfigMapKeySelector: @LocalObjectReference, name string, @, key! string, optional *bool
SecretKeySelector: @LocalObjectReference, name string, @, key! string, optional *bool
FileKeySelector: volumeName! string, path! string, key! string, optional *bool
ContainerResourceClaim: name! string, request string
VolumeMount: name! string, readOnly bool, recursiveReadOnly *RecursiveReadOnlyMode, mountPath! string, subPath string,
  mountPropagation *MountPropagationMode, subPathExpr string
VolumeDevice: name! string, devicePath! string
SecurityContext: capabilities *Capabilities, privileged *bool, seLinuxOptions *SELinuxOptions, windowsOptions
  *WindowsSecurityContextOptions, runAsUser *int64, runAsGroup *int64, runAsNonRoot *bool, readOnlyRootFilesystem *bool,
  allowPrivilegeEscalation *bool, procMount *ProcMountType, seccompProfile *SeccompProfile, appArmorProfile
  *AppArmorProfile
Capabilities: add []Capability, drop []Capability
SELinuxOptions: user string, role string, type string, level string
WindowsSecurityContextOptions: gmsaCredentialSpecName *string, gmsaCredentialSpec *string, runAsUserName *string,
  hostProcess *bool
SeccompProfile: type! SeccompProfileType, localhostProfile *string
AppArmorProfile: type! AppArmorProfileType, localhostProfile *string
PodSecurityContext: seLinuxOptions *SELinuxOptions, windowsOptions *WindowsSecurityContextOptions, runAsUser *int64,
  runAsGroup *int64, runAsNonRoot *bool, supplementalGroups []int64, supplementalGroupsPolicy *SupplementalGroupsPolicy,
  fsGroup *int64, sysctls []Sysctl, fsGroupChangePolicy *PodFSGroupChangePolicy, seccompProfile *SeccompProfile,
  appArmorProfile *AppArmorProfile, seLinuxChangePolicy *PodSELinuxChangePolicy
Sysctl: name! string, value! string
Affinity: nodeAffinity *NodeAffinity, podAffinity *PodAffinity, podAntiAffinity *PodAntiAffinity
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution *NodeSelector,
  preferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm
NodeSelector: nodeSelectorTerms! []NodeSelectorTerm
NodeSelectorTerm: matchExpressions []NodeSelectorRequirement, matchFields []NodeSelectorRequirement
NodeSelectorRequirement: key! string, operator! NodeSelectorOperator, values []string
PreferredSchedulingTerm: weight! int32, preference! NodeSelectorTerm
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm,
  preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm
PodAffinityTerm: labelSelector *LabelSelector, namespaces []string, topologyKey! string, namespaceSelector
  *LabelSelector, matchLabelKeys []string, mismatchLabelKeys []string
WeightedPodAffinityTerm: weight! int32, podAffinityTerm! PodAffinityTerm
PodAntiAffinity: requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm,
  preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm
HostAlias: ip! string, hostnames []string
PodDNSConfig: nameservers []string, searches []string, options []PodDNSConfigOption
PodDNSConfigOption: name string, value *string
TopologySpreadConstraint: maxSkew! int32, topologyKey! string, whenUnsatisfiable! UnsatisfiableConstraintAction,
  labelSelector *LabelSelector, minDomains *int32, nodeAffinityPolicy *NodeInclusionPolicy, nodeTaintsPolicy
  *NodeInclusionPolicy, matchLabelKeys []string
PodSchedulingGate: name! string
PodResourceClaim: name! string, resourceClaimName *string, resourceClaimTemplateName *string
PodSchedulingGroup: podGroupName *string
PodList: @TypeMeta, kind string, apiVersion string, @, metadata ListMeta, items! []Pod
"""

VOLUMES = """
HostPathVolumeSource: path! string, type *HostPathType
EmptyDirVolumeSource: medium StorageMedium, sizeLimit *Quantity
GCEPersistentDiskVolumeSource: pdName! string, fsType string, partition int32, readOnly bool
AWSElasticBlockStoreVolumeSource: volumeID! string, fsType string, partition int32, readOnly bool
GitRepoVolumeSource: repository! string, revision string, directory string
SecretVolumeSource: secretName string, items []KeyToPath, defaultMode *int32, optional *bool
KeyToPath: key! string, path! string, mode *int32
NFSVolumeSource: server! string, path! string, readOnly bool
ISCSIVolumeSource: targetPortal! string, iqn! string, lun! int32, iscsiInterface string, fsType string, readOnly bool,
  portals []string, chapAuthDiscovery bool, chapAuthSession bool, secretRef *LocalObjectReference, initiatorName *string
GlusterfsVolumeSource: endpoints! string, path! string, readOnly bool
PersistentVolumeClaimVolumeSource: claimName! string, readOnly bool
RBDVolumeSource: monitors! []string, image! string, fsType string, pool string, user string, keyring string, secretRef
  *LocalObjectReference, readOnly bool
FlexVolumeSource: driver! string, fsType string, secretRef *LocalObjectReference, readOnly bool, options
  map[string]string
CinderVolumeSource: volumeID! string, fsType string, readOnly bool, secretRef *LocalObjectReference
CephFSVolumeSource: monitors! []string, path string, user string, secretFile string, secretRef *LocalObjectReference,
  readOnly bool
FlockerVolumeSource: datasetName string, datasetUUID string
DownwardAPIVolumeSource: items []DownwardAPIVolumeFile, defaultMode *int32
DownwardAPIVolumeFile: path! string, fieldRef *ObjectFieldSelector, resourceFieldRef *ResourceFieldSelector, mode
  *int32
FCVolumeSource: targetWWNs []string, lun *int32, fsType string, readOnly bool, wwids []string
AzureFileVolumeSource: secretName! string, shareName! string, readOnly bool
ConfigMapVolumeSource: @LocalObjectReference, name string, @, items []KeyToPath, defaultMode *int32, optional *bool
VsphereVirtualDiskVolumeSource: volumePath! string, fsType string, storagePolicyName string, storagePolicyID string
QuobyteVolumeSource: registry! string, volume! string, readOnly bool, user string, group string, tenant string
AzureDiskVolumeSource: diskName! string, diskURI! string, cachingMode *AzureDataDiskCachingMode, fsType *string,
  readOnly *bool, kind *AzureDataDiskKind
PhotonPersistentDiskVolumeSource: pdID! string, fsType string
ProjectedVolumeSource: sources! []VolumeProjection, defaultMode *int32
VolumeProjection: secret *SecretProjection, downwardAPI *DownwardAPIProjection, configMap *ConfigMapProjection,
  serviceAccountToken *ServiceAccountTokenProjection, clusterTrustBundle *ClusterTrustBundleProjection, podCertificate
  *PodCertificateProjection
SecretProjection: @LocalObjectReference, name string, @, items []KeyToPath, optional *bool
DownwardAPIProjection: items []DownwardAPIVolumeFile
ConfigMapProjection: @LocalObjectReference, name string, @, items []KeyToPath, optional *bool
ServiceAccountTokenProjection: audience string, expirationSeconds *int64, path! string
ClusterTrustBundleProjection: name *string, signerName *string, labelSelector *LabelSelector, optional *bool, path!
  string
PodCertificateProjection: signerName string, keyType string, maxExpirationSeconds *int32, credentialBundlePath string,
  keyPath string, certificateChainPath string, userAnnotations map[string]string
PortworxVolumeSource: volumeID! string, fsType string, readOnly bool
ScaleIOVolumeSource: gateway! string, system! string, secretRef! *LocalObjectReference, sslEnabled bool,
  protectionDomain string, storagePool string, storageMode string, volumeName string, fsType string, readOnly bool
StorageOSVolumeSource: volumeName string, volumeNamespace string, fsType string, readOnly bool, secretRef
  *LocalObjectReference
CSIVolumeSource: driver! string, readOnly *bool, fsType *string, volumeAttributes map[string]string,
  nodePublishSecretRef *LocalObjectReference
EphemeralVolumeSource: volumeClaimTemplate *PersistentVolumeClaimTemplate
PersistentVolumeClaimTemplate: metadata ObjectMeta, spec! PersistentVolumeClaimSpec
PersistentVolumeClaimSpec: accessModes []PersistentVolumeAccessMode, selector *LabelSelector, resources
  VolumeResourceRequirements, volumeName string, storageClassName *string, volumeMode *PersistentVolumeMode, dataSource
  *TypedLocalObjectReference, dataSourceRef *TypedObjectReference, volumeAttributesClassName *string
VolumeResourceRequirements: limits ResourceList, requests ResourceList
TypedLocalObjectReference: apiGroup! *string, kind! string, name! string
TypedObjectReference: apiGroup! *string, kind! string, name! string, namespace *string
ImageVolumeSource: reference string, pullPolicy PullPolicy
"""

STATUS = """
VolumeMountStatus: name! string, mountPath! string, readOnly bool, recursiveReadOnly *RecursiveReadOnlyMode,
  volumeStatus *VolumeStatus
VolumeStatus: image *ImageVolumeStatus
ImageVolumeStatus: imageRef string
ContainerUser: linux *LinuxContainerUser
LinuxContainerUser: uid! int64, gid! int64, supplementalGroups []int64
ResourceStatus: name! ResourceName, resources []ResourceHealth
ResourceHealth: resourceID! ResourceID, health ResourceHealthStatus, message *string
PodResourceClaimStatus: name! string, resourceClaimName *string
PodExtendedResourceClaimStatus: requestMappings! []ContainerExtendedResourceRequest, resourceClaimName! string
ContainerExtendedResourceRequest: containerName! string, resourceName! string, requestName! string
NodeAllocatableResourceClaimStatus: resourceClaimName! string, containers []string, resources!
  map[ResourceName]Quantity
"""

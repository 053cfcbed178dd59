"""Pod as the API declares it: every struct that a Pod or a PodList is made of, one line of text each.

`field type` in the order of the declaration; `!` marks a field that is written even when it is empty; `@Name` opens,
and `@` closes, the fields of an embedded struct. Types that are not declared here are named strings (`PullPolicy`) or
have rules of their own (`Time`, `Quantity`, `IntOrString`, `ResourceList`).

Mirrors: k8s.io/api/core/v1/types.go, apimachinery/pkg/apis/meta/v1/types.go
"""

from __future__ import annotations

META = """
ObjectMeta: name string, generateName string, namespace string, selfLink string, uid UID, resourceVersion string,
  generation int64, creationTimestamp Time, deletionTimestamp *Time, deletionGracePeriodSeconds *int64, labels
  map[string]string, annotations map[string]string, ownerReferences []OwnerReference, finalizers []string,
  managedFields []ManagedFieldsEntry
OwnerReference: apiVersion! string, kind! string, name! string, uid! UID, controller *bool, blockOwnerDeletion *bool
ManagedFieldsEntry: manager string, operation ManagedFieldsOperationType, apiVersion string, time *Time, fieldsType
  string, fieldsV1 *FieldsV1, subresource string
LabelSelector: matchLabels map[string]string, matchExpressions []LabelSelectorRequirement
LabelSelectorRequirement: key! string, operator! LabelSelectorOperator, values []string
ListMeta: selfLink string, resourceVersion string, continue string, remainingItemCount *int64, shardInfo *ShardInfo
ShardInfo: selector! string
"""

POD = """
Pod: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec PodSpec, status PodStatus
PodSpec: volumes []Volume, initContainers []Container, containers! []Container, ephemeralContainers
  []EphemeralContainer, restartPolicy RestartPolicy, terminationGracePeriodSeconds *int64, activeDeadlineSeconds
  *int64, dnsPolicy DNSPolicy, nodeSelector map[string]string, serviceAccountName string, serviceAccount string,
  automountServiceAccountToken *bool, nodeName string, hostNetwork bool, hostPID bool, hostIPC bool,
  shareProcessNamespace *bool, securityContext *PodSecurityContext, imagePullSecrets []LocalObjectReference, hostname
  string, subdomain string, affinity *Affinity, schedulerName string, tolerations []Toleration, hostAliases
  []HostAlias, priorityClassName string, priority *int32, dnsConfig *PodDNSConfig, readinessGates []PodReadinessGate,
  runtimeClassName *string, enableServiceLinks *bool, preemptionPolicy *PreemptionPolicy, overhead ResourceList,
  topologySpreadConstraints []TopologySpreadConstraint, setHostnameAsFQDN *bool, os *PodOS, hostUsers *bool,
  schedulingGates []PodSchedulingGate, resourceClaims []PodResourceClaim, resources *ResourceRequirements,
  hostnameOverride *string, schedulingGroup *PodSchedulingGroup
Volume: name! string, @VolumeSource, hostPath *HostPathVolumeSource, emptyDir *EmptyDirVolumeSource, gcePersistentDisk
  *GCEPersistentDiskVolumeSource, awsElasticBlockStore *AWSElasticBlockStoreVolumeSource, gitRepo
  *GitRepoVolumeSource, secret *SecretVolumeSource, nfs *NFSVolumeSource, iscsi *ISCSIVolumeSource, glusterfs
  *GlusterfsVolumeSource, persistentVolumeClaim *PersistentVolumeClaimVolumeSource, rbd *RBDVolumeSource, flexVolume
  *FlexVolumeSource, cinder *CinderVolumeSource, cephfs *CephFSVolumeSource, flocker *FlockerVolumeSource, downwardAPI
  *DownwardAPIVolumeSource, fc *FCVolumeSource, azureFile *AzureFileVolumeSource, configMap *ConfigMapVolumeSource,
  vsphereVolume *VsphereVirtualDiskVolumeSource, quobyte *QuobyteVolumeSource, azureDisk *AzureDiskVolumeSource,
  photonPersistentDisk *PhotonPersistentDiskVolumeSource, projected *ProjectedVolumeSource, portworxVolume
  *PortworxVolumeSource, scaleIO *ScaleIOVolumeSource, storageos *StorageOSVolumeSource, csi *CSIVolumeSource,
  ephemeral *EphemeralVolumeSource, image *ImageVolumeSource
LocalObjectReference: name string
ObjectFieldSelector: apiVersion string, fieldPath! string
ResourceFieldSelector: containerName string, resource! string, divisor Quantity
Container: name! string, image string, command []string, args []string, workingDir string, ports []ContainerPort,
  envFrom []EnvFromSource, env []EnvVar, resources ResourceRequirements, resizePolicy []ContainerResizePolicy,
  restartPolicy *ContainerRestartPolicy, restartPolicyRules []ContainerRestartRule, volumeMounts []VolumeMount,
  volumeDevices []VolumeDevice, livenessProbe *Probe, readinessProbe *Probe, startupProbe *Probe, lifecycle
  *Lifecycle, terminationMessagePath string, terminationMessagePolicy TerminationMessagePolicy, imagePullPolicy
  PullPolicy, securityContext *SecurityContext, stdin bool, stdinOnce bool, tty bool
ContainerPort: name string, hostPort int32, containerPort! int32, protocol Protocol, hostIP string
EnvFromSource: prefix string, configMapRef *ConfigMapEnvSource, secretRef *SecretEnvSource
ConfigMapEnvSource: @LocalObjectReference, name string, @, optional *bool
SecretEnvSource: @LocalObjectReference, name string, @, optional *bool
EnvVar: name! string, value string, valueFrom *EnvVarSource
EnvVarSource: fieldRef *ObjectFieldSelector, resourceFieldRef *ResourceFieldSelector, configMapKeyRef
  *ConfigMapKeySelector, secretKeyRef *SecretKeySelector, fileKeyRef *FileKeySelector
ConfigMapKeySelector: @LocalObjectReference, name string, @, key! string, optional *bool
SecretKeySelector: @LocalObjectReference, name string, @, key! string, optional *bool
FileKeySelector: volumeName! string, path! string, key! string, optional *bool
ResourceRequirements: limits ResourceList, requests ResourceList, claims []ResourceClaim
ResourceClaim: name! string, request string
ContainerResizePolicy: resourceName! ResourceName, restartPolicy! ResourceResizeRestartPolicy
ContainerRestartRule: action ContainerRestartRuleAction, exitCodes *ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: operator ContainerRestartRuleOnExitCodesOperator, values []int32
VolumeMount: name! string, readOnly bool, recursiveReadOnly *RecursiveReadOnlyMode, mountPath! string, subPath string,
  mountPropagation *MountPropagationMode, subPathExpr string
VolumeDevice: name! string, devicePath! string
Probe: @ProbeHandler, exec *ExecAction, httpGet *HTTPGetAction, tcpSocket *TCPSocketAction, grpc *GRPCAction, @,
  initialDelaySeconds int32, timeoutSeconds int32, periodSeconds int32, successThreshold int32, failureThreshold
  int32, terminationGracePeriodSeconds *int64
ExecAction: command []string
HTTPGetAction: path string, port! IntOrString, host string, scheme URIScheme, httpHeaders []HTTPHeader
HTTPHeader: name! string, value! string
TCPSocketAction: port! IntOrString, host string
GRPCAction: port! int32, service! *string
Lifecycle: postStart *LifecycleHandler, preStop *LifecycleHandler, stopSignal *Signal
LifecycleHandler: exec *ExecAction, httpGet *HTTPGetAction, tcpSocket *TCPSocketAction, sleep *SleepAction
SleepAction: seconds! int64
SecurityContext: capabilities *Capabilities, privileged *bool, seLinuxOptions *SELinuxOptions, windowsOptions
  *WindowsSecurityContextOptions, runAsUser *int64, runAsGroup *int64, runAsNonRoot *bool, readOnlyRootFilesystem
  *bool, allowPrivilegeEscalation *bool, procMount *ProcMountType, seccompProfile *SeccompProfile, appArmorProfile
  *AppArmorProfile
Capabilities: add []Capability, drop []Capability
SELinuxOptions: user string, role string, type string, level string
WindowsSecurityContextOptions: gmsaCredentialSpecName *string, gmsaCredentialSpec *string, runAsUserName *string,
  hostProcess *bool
SeccompProfile: type! SeccompProfileType, localhostProfile *string
AppArmorProfile: type! AppArmorProfileType, localhostProfile *string
EphemeralContainer: @EphemeralContainerCommon, name! string, image string, command []string, args []string, workingDir
  string, ports []ContainerPort, envFrom []EnvFromSource, env []EnvVar, resources ResourceRequirements, resizePolicy
  []ContainerResizePolicy, restartPolicy *ContainerRestartPolicy, restartPolicyRules []ContainerRestartRule,
  volumeMounts []VolumeMount, volumeDevices []VolumeDevice, livenessProbe *Probe, readinessProbe *Probe, startupProbe
  *Probe, lifecycle *Lifecycle, terminationMessagePath string, terminationMessagePolicy TerminationMessagePolicy,
  imagePullPolicy PullPolicy, securityContext *SecurityContext, stdin bool, stdinOnce bool, tty bool, @,
  targetContainerName string
PodSecurityContext: seLinuxOptions *SELinuxOptions, windowsOptions *WindowsSecurityContextOptions, runAsUser *int64,
  runAsGroup *int64, runAsNonRoot *bool, supplementalGroups []int64, supplementalGroupsPolicy
  *SupplementalGroupsPolicy, fsGroup *int64, sysctls []Sysctl, fsGroupChangePolicy *PodFSGroupChangePolicy,
  seccompProfile *SeccompProfile, appArmorProfile *AppArmorProfile, seLinuxChangePolicy *PodSELinuxChangePolicy
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
Toleration: key string, operator TolerationOperator, value string, effect TaintEffect, tolerationSeconds *int64
HostAlias: ip! string, hostnames []string
PodDNSConfig: nameservers []string, searches []string, options []PodDNSConfigOption
PodDNSConfigOption: name string, value *string
PodReadinessGate: conditionType! PodConditionType
TopologySpreadConstraint: maxSkew! int32, topologyKey! string, whenUnsatisfiable! UnsatisfiableConstraintAction,
  labelSelector *LabelSelector, minDomains *int32, nodeAffinityPolicy *NodeInclusionPolicy, nodeTaintsPolicy
  *NodeInclusionPolicy, matchLabelKeys []string
PodOS: name! OSName
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
  portals []string, chapAuthDiscovery bool, chapAuthSession bool, secretRef *LocalObjectReference, initiatorName
  *string
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
  VolumeResourceRequirements, volumeName string, storageClassName *string, volumeMode *PersistentVolumeMode,
  dataSource *TypedLocalObjectReference, dataSourceRef *TypedObjectReference, volumeAttributesClassName *string
VolumeResourceRequirements: limits ResourceList, requests ResourceList
TypedLocalObjectReference: apiGroup! *string, kind! string, name! string
TypedObjectReference: apiGroup! *string, kind! string, name! string, namespace *string
ImageVolumeSource: reference string, pullPolicy PullPolicy
"""

STATUS = """
PodStatus: observedGeneration int64, phase PodPhase, conditions []PodCondition, message string, reason string,
  nominatedNodeName string, hostIP string, hostIPs []HostIP, podIP string, podIPs []PodIP, startTime *Time,
  initContainerStatuses []ContainerStatus, containerStatuses []ContainerStatus, qosClass PodQOSClass,
  ephemeralContainerStatuses []ContainerStatus, resize PodResizeStatus, resourceClaimStatuses
  []PodResourceClaimStatus, extendedResourceClaimStatus *PodExtendedResourceClaimStatus, allocatedResources
  ResourceList, resources *ResourceRequirements, nodeAllocatableResourceClaimStatuses
  []NodeAllocatableResourceClaimStatus
PodCondition: type! PodConditionType, observedGeneration int64, status! ConditionStatus, lastProbeTime Time,
  lastTransitionTime Time, reason string, message string
HostIP: ip! string
PodIP: ip! string
ContainerStatus: name! string, state ContainerState, lastState ContainerState, ready! bool, restartCount! int32,
  image! string, imageID! string, containerID string, started *bool, allocatedResources ResourceList, resources
  *ResourceRequirements, volumeMounts []VolumeMountStatus, user *ContainerUser, allocatedResourcesStatus
  []ResourceStatus, stopSignal *Signal
ContainerState: waiting *ContainerStateWaiting, running *ContainerStateRunning, terminated *ContainerStateTerminated
ContainerStateWaiting: reason string, message string
ContainerStateRunning: startedAt Time
ContainerStateTerminated: exitCode! int32, signal int32, reason string, message string, startedAt Time, finishedAt
  Time, containerID string
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

"""The feature gates of each profile: data.

Each column is a profile. A letter is the stage (Alpha, Beta, Generally available, Deprecated), the sign is the default,
and `!` locks the default. A dot: the kubelet does not know the gate. A lone `+`: the kubelet no longer knows the gate,
because the behaviour is always on. A gate that can restore an old behaviour also has a value for versions that had this
behaviour without a gate.

Mirrors: pkg/features/kube_features.go at v1.6.13, v1.12.4, v1.30.0, v1.35.8, v1.36.4 and v1.37.0-rc.1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Profile = Literal["v1.6", "v1.12", "v1.30", "v1.35", "v1.36", "v1.37"]
PROFILES: tuple[Profile, ...] = get_args(Profile)

# name                                              v1.6 v1.12 v1.30 v1.35 v1.36 v1.37
TABLE = """\
APIListChunking                                     .    B+    G+!   .     .     .
APIPriorityAndFairness                              .    .     G+!   .     .     .
APIResponseCompression                              .    A-    B+    B+    B+    B+
APIServerIdentity                                   .    .     B+    B+    B+    B+
APIServerTracing                                    .    .     B+    G+!   G+!   +
APIServerWebhookAuthenticationToken                 .    .     .     .     .     A-
APIServingWithRoutine                               .    .     B+    A-    A-    A-
Accelerators                                        A-   .     .     .     .     .
AdmissionWebhookMatchConditions                     .    .     G+!   .     .     .
AdvancedAuditing                                    .    G+    .     .     .     .
AffinityInAnnotations                               A-   .     .     .     .     .
AggregatedDiscoveryEndpoint                         .    .     G+!   .     .     .
AggregatedDiscoveryRemoveBetaType                   G-   G-    G-    D+!   D+!   D+!
AllowDNSOnlyNodeCSR                                 G+   G+    G+    D-    D-    D-
AllowExtTrafficLocalEndpoints                       B+   .     .     .     .     .
AllowInsecureKubeletCertificateSigningRequests      G+   G+    G+    D-    D-    D-
AllowOverwriteTerminationGracePeriodSeconds         G+   G+    G+    D-!   D-!   D-!
AllowParsingUserUIDFromCertAuth                     .    .     .     B+    B+    B+
AllowServiceExternalIPs                             G+   G+    G+    G+    G+    G+
AllowServiceLBStatusOnNonLB                         .    .     D-    .     .     .
AllowUnsafeMalformedObjectDeletion                  .    .     .     A-    A-    B+
AnonymousAuthConfigurableEndpoints                  .    .     .     G+!   G+!   +
AnyVolumeDataSource                                 .    .     B+    G+!   G+!   +
AppArmor                                            B+   B+    B+    .     .     .
AppArmorFields                                      .    .     B+    .     .     .
AtomicWriteVolumeUserFields                         .    .     .     .     .     A-
AttachVolumeLimit                                   .    B+    .     .     .     .
AuthorizeNodeWithSelectors                          .    .     .     G+!   G+!   +
AuthorizePodWebsocketUpgradeCreatePermission        .    .     .     B+    B+    B+
AuthorizeWithSelectors                              .    .     .     G+!   G+!   +
BalanceAttachedNodeVolumes                          .    A-    .     .     .     .
BlockVolume                                         .    A-    .     .     .     .
BoundServiceAccountTokenVolume                      .    .     +     +     +     +
BtreeWatchCache                                     .    .     .     G+!   G+!   +
CBORServingAndStorage                               .    .     .     A-    A-    A-
CPUManager                                          .    B+    G+!   .     .     .
CPUManagerPolicyAlphaOptions                        .    .     A-    A-    A-    A-
CPUManagerPolicyBetaOptions                         .    .     B+    B+    B+    B+
CPUManagerPolicyOptions                             .    .     B+    G+!   G+!   G+!
CRDObservedGenerationTracking                       .    .     .     B-    B+    B+
CRDValidationRatcheting                             .    .     B+    G+!   G+!   G+!
CRIContainerLogRotation                             .    B+    .     .     .     .
CRIListStreaming                                    .    .     .     .     A-    A-
CSIBlockVolume                                      .    A-    .     .     .     .
CSIDriverRegistry                                   .    A-    .     .     .     .
CSIMigrationPortworx                                .    .     B-    G+!   .     .
CSIMigrationRBD                                     .    .     D-    .     .     .
CSINodeExpandSecret                                 .    .     G+!   .     .     .
CSINodeInfo                                         .    A-    .     .     .     .
CSIPersistentVolume                                 .    B+    .     .     .     .
CSIServiceAccountTokenSecrets                       .    .     .     B+    G+!   G+!
CSIVolumeHealth                                     .    .     A-    A-    A-    A-
ChangeContainerStatusOnKubeletRestart               G+   G+    G+    D-    D-    D-
ClearingNominatedNodeNameAfterBinding               .    .     .     B+    B+    B+
CloudControllerManagerWatchBasedRoutesReconciliation .    .     .     A-    A-    A-
CloudControllerManagerWebhook                       .    .     A-    A-    A-    A-
CloudDualStackNodeIPs                               .    .     G+!   .     .     .
ClusterTrustBundle                                  .    .     A-    B-    B-    G+
ClusterTrustBundleProjection                        .    .     A-    B-    B-    G+
ComponentFlagz                                      .    .     .     A-    B+    B+
ComponentStatusz                                    .    .     .     A-    B+    B+
CompositePodGroup                                   .    .     .     .     .     A-
ConcurrentWatchObjectDecode                         .    .     .     B-    B-    B+
ConsistentHTTPGetHandlers                           .    .     G+!   .     .     .
ConsistentListFromCache                             .    .     A-    G+!   G+!   +
ConsistentListFromCacheSkipTimeoutFallback          .    .     .     .     .     A-
ConstrainedImpersonation                            .    .     .     A-    B+    B+
ContainerCheckpoint                                 .    .     B+    B+    B+    B+
ContainerRestartRules                               .    .     .     B+    B+    B+
ContainerStopSignals                                .    .     .     A-    A-    A-
CoordinatedLeaderElection                           .    .     .     B-    B-    B-
CronJobsScheduledAnnotation                         .    .     B+    .     .     .
CrossNamespaceVolumeDataSource                      .    .     A-    A-    A-    A-
CustomCPUCFSQuotaPeriod                             .    A-    A-    A-    G+    G+
CustomPodDNS                                        .    B+    .     .     .     .
CustomResourceFieldSelectors                        .    .     A-    G+!   G+!   G+!
CustomResourceSubresources                          .    B+    .     .     .     .
CustomResourceValidation                            .    B+    .     .     .     .
CustomResourceValidationExpressions                 .    .     G+!   .     .     .
DRAAdminAccess                                      .    .     .     B+    G+!   G+!
DRAConsumableCapacity                               .    .     .     A-    B+    B+
DRADerivedAttributes                                .    .     .     .     .     A-
DRADeviceBindingConditions                          .    .     .     A-    B+    B+
DRADeviceCompatibilityGroups                        .    .     .     .     .     A-
DRADeviceTaintRules                                 .    .     .     A-    B-    G+
DRADeviceTaints                                     .    .     .     A-    B+    G+
DRAExtendedResource                                 .    .     .     A-    B+    G+!
DRAFractionalCapacityRange                          .    .     .     .     .     B+
DRAListTypeAttributes                               .    .     .     .     A-    A-
DRANodeAllocatableResources                         .    .     .     .     A-    A-
DRAOptionalNodeOperations                           .    .     .     .     .     A-
DRAPartitionableDevices                             .    .     .     A-    B+    B+
DRAPartitionableDevicesType                         .    .     .     .     .     A-
DRAPrioritizedList                                  .    .     .     B+    G+    G+!
DRAResourceClaimDeviceStatus                        .    .     .     B+    B+    G+!
DRAResourceClaimGranularStatusAuthorization         .    .     .     .     B+    B+
DRAResourcePoolStatus                               .    .     .     .     A-    A-
DRASchedulerFilterTimeout                           .    .     .     B+    B+    B+
DRAWorkloadResourceClaims                           .    .     .     .     A-    B-
DebugContainers                                     .    A-    .     .     .     .
DeclarativeValidation                               .    .     .     B+    G+!   G+!
DeclarativeValidationBeta                           .    .     .     .     B+    B+
DeclarativeValidationTakeover                       .    .     .     B-    D-    D-!
DefaultHostNetworkHostPortsInPodTemplates           .    .     D-    .     .     .
DefaultPodSysctls                                   .    .     .     .     .     A-
DeploymentReplicaSetTerminatingReplicas             .    .     .     B+    B+    B+
DetectCacheInconsistency                            .    .     .     B+    B+    B+
DevicePluginCDIDevices                              .    .     B+    .     .     .
DevicePlugins                                       .    B+    .     .     .     .
DisableAllocatorDualWrite                           .    .     .     G+!   G+!   G+!
DisableCPUQuotaWithExclusiveCPUs                    .    .     .     B+    D+    D+!
DisableCloudProviders                               .    .     B+    .     .     .
DisableKubeletCloudCredentialProviders              .    .     B+    .     .     .
DisableNodeKubeProxyVersion                         .    .     A-    D+    D+!   D+!
DryRun                                              .    A-    .     .     .     .
DynamicKubeletConfig                                A-   B+    .     .     .     .
DynamicResourceAllocation                           .    .     A-    G+!   G+!   G+!
DynamicVolumeProvisioning                           A+   .     .     .     .     .
EfficientWatchResumption                            .    .     G+!   .     .     .
ElasticIndexedJob                                   .    .     B+    .     .     .
EmptyDirVolumeMode                                  .    .     .     .     .     A-
EnableEquivalenceClassCache                         .    A-    .     .     .     .
EnvFiles                                            .    .     .     B+    B+    B+
EtcdRangeStream                                     .    .     .     .     .     B+
EventedPLEG                                         .    .     A-    A-    A-    A-
EvictionRequestAPI                                  .    .     .     .     .     A-
ExcludeAdmissionWebhookVirtualResources             .    .     .     .     .     B+
ExecProbeTimeout                                    .    .     G+    G+!   G+!   G+!
ExpandInUsePersistentVolumes                        .    A-    .     .     .     .
ExpandPersistentVolumes                             .    B+    .     .     .     .
ExperimentalCriticalPodAnnotation                   A-   A-    .     .     .     .
ExperimentalHostUserNamespaceDefaulting             B-   B-    .     .     .     .
ExtendWebSocketsToKubelet                           .    .     .     .     B+    B+
ExternalServiceAccountTokenSigner                   .    .     .     B+    G+!   G+!
GCERegionalPersistentDisk                           .    B+    .     .     .     .
GRPCContainerProbeTLS                               .    .     .     .     .     A-
GangScheduling                                      .    .     .     A-    A-    .
GenericWorkload                                     .    .     .     A-    A-    B-
GitRepoVolumeDriver                                 G+   G+    G+    D-    D-!   D-!
GracefulNodeShutdown                                .    .     B+    B+    B+    B+
GracefulNodeShutdownBasedOnPodPriority              .    .     B+    B+    B+    B+
H2CContainerProbe                                   .    .     .     .     .     A-
HPAConfigurableTolerance                            .    .     .     B+    B+    G+!
HPAContainerMetrics                                 .    .     G+!   .     .     .
HPAGeneration                                       .    .     .     .     .     B+
HPAOptimizedSelectorStore                           .    .     .     .     .     B+
HPAScaleToZero                                      .    .     A-    A-    A-    B+
HonorPVReclaimPolicy                                .    .     A-    G+!   .     .
HostnameOverride                                    .    .     .     B+    B+    G+!
HugePages                                           .    B+    .     .     .     .
HugepageAwareEviction                               .    .     .     .     .     B+
HyperVContainer                                     .    A-    .     .     .     .
ImageMaximumGCAge                                   .    .     B+    G+!   G+!   G+!
ImageVolume                                         .    .     .     B+    G+!   G+!
ImageVolumeWithDigest                               .    .     .     .     A-    A-
InPlacePodLevelResourcesVerticalScaling             .    .     .     A-    B+    B+
InPlacePodVerticalScaling                           .    .     A-    G+!   G+!   G+!
InPlacePodVerticalScalingAllocatedStatus            .    .     .     D-    .     .
InPlacePodVerticalScalingExclusiveCPUs              .    .     .     A-    A-    A-
InPlacePodVerticalScalingExclusiveMemory            .    .     .     A-    A-    A-
InPlacePodVerticalScalingInitContainers             .    .     .     .     B+    G+!
InPlacePodVerticalScalingMemoryBackedVolumes        .    .     .     .     .     A-
InPlacePodVerticalScalingSchedulerPreemption        .    .     .     .     .     A-
InTreePluginAWSUnregister                           .    .     A-    .     .     .
InTreePluginAzureDiskUnregister                     .    .     A-    .     .     .
InTreePluginAzureFileUnregister                     .    .     A-    .     .     .
InTreePluginGCEUnregister                           .    .     A-    .     .     .
InTreePluginOpenStackUnregister                     .    .     A-    .     .     .
InTreePluginPortworxUnregister                      .    .     A-    A-    .     .
InTreePluginRBDUnregister                           .    .     D-    .     .     .
InTreePluginvSphereUnregister                       .    .     A-    .     .     .
Initializers                                        .    A-    .     .     .     .
InterPodAffinityHostnameFastPath                    .    .     .     .     .     A-
JobBackoffLimitPerIndex                             .    .     B+    G+!   G+!   +
JobManagedBy                                        .    .     A-    G+!   G+!   G+!
JobPodFailurePolicy                                 .    .     B+    .     .     .
JobPodReplacementPolicy                             .    .     B+    G+!   G+!   +
JobReadyPods                                        .    .     G+!   .     .     .
JobSuccessPolicy                                    .    .     A-    G+!   G+!   +
KMSv1                                               G+   G+    D-    D-    D-    D-
KMSv2                                               .    .     G+!   .     .     .
KMSv2KDF                                            .    .     G+!   .     .     .
KubeProxyDrainingTerminatingNodes                   .    .     B+    .     .     .
KubeProxyIPVS                                       .    .     .     .     .     D+
KubeProxyNFTablesLocalhostNodePorts                 .    .     .     .     .     A-
KubeletAllocatedPodsEndpoint                        .    .     .     .     .     A-
KubeletCgroupDriverFromCRI                          .    .     A-    G+!   G+!   G+!
KubeletCrashLoopBackOffMax                          .    .     .     B+    B+    B+
KubeletEnsureSecretPulledImages                     .    .     .     B+    B+    B+
KubeletFineGrainedAuthz                             .    .     .     B+    G+!   G+!
KubeletInUserNamespace                              .    .     A-    A-    A-    B+
KubeletPSI                                          .    .     .     B+    G+!   G+!
KubeletPluginsWatcher                               .    B+    .     .     .     .
KubeletPodResourcesDynamicResources                 .    .     A-    B+    G+!   G+!
KubeletPodResourcesGet                              .    .     A-    B+    G+!   G+!
KubeletPodResourcesListUseActivePods                G-   G-    G-    D+    D+    D+
KubeletRegistrationGetOnExistsOnly                  G+   G+    G+    D-    D-    D-
KubeletSeparateDiskGC                               .    .     A-    B+    B+    B+
KubeletServiceAccountTokenForCredentialProviders    .    .     .     B+    B+    B+
KubeletTracing                                      .    .     B+    G+!   G+!   G+!
LegacyServiceAccountTokenCleanUp                    .    .     G+!   .     .     .
ListFromCacheSnapshot                               .    .     .     B+    B+    B+
LoadBalancerIPMode                                  .    .     B+    .     .     .
LocalStorageCapacityIsolation                       .    B+    .     .     .     .
LocalStorageCapacityIsolationFSQuotaMonitoring      .    .     A-    B-    B-    B-
LogarithmicScaleDown                                .    .     B+    G+!   G+!   +
ManifestBasedAdmissionControlConfig                 .    .     .     .     A-    B+
MatchLabelKeysInPodAffinity                         .    .     A-    G+!   G+!   G+!
MatchLabelKeysInPodTopologySpread                   .    .     B+    B+    B+    B+
MatchLabelKeysInPodTopologySpreadSelectorMerge      .    .     .     B+    B+    B+
MaxUnavailableStatefulSet                           .    .     A-    B-    B-    B+
MemoryManager                                       .    .     B+    G+!   .     .
MemoryQoS                                           .    .     A-    A-    A-    B+
MinDomainsInPodTopologySpread                       .    .     G+!   .     .     .
MountContainers                                     .    A-    .     .     .     .
MountPropagation                                    .    G+    .     .     .     .
MultiCIDRServiceAllocator                           .    .     A-    G+!   G+!   G+!
MutableCSINodeAllocatableCount                      .    .     .     B+    G+!   G+!
MutablePVNodeAffinity                               .    .     .     A-    A-    A-
MutablePodResourcesForSuspendedJobs                 .    .     .     A-    B+    B+
MutableSchedulingDirectivesForSuspendedJobs         .    .     .     A-    B+    B+
MutatingAdmissionPolicy                             .    .     A-    B-    G+    G+
NFTablesNetlink                                     .    .     .     .     .     B+
NFTablesProxyMode                                   .    .     A-    G+!   G+!   G+!
NewVolumeManagerReconstruction                      .    .     G+!   .     .     .
NodeControllerLeaseCircuitBreaker                   .    .     .     .     .     B+
NodeDeclaredFeatures                                .    .     .     A-    B+    G+!
NodeInclusionPolicyInPodTopologySpread              .    .     B+    G+!   G+!   G+!
NodeLease                                           .    A-    .     .     .     .
NodeLifecycleConditions                             .    .     .     .     .     A-
NodeLogQuery                                        .    .     B-    B-    G+!   G+!
NodeOutOfServiceVolumeDetach                        .    .     G+!   .     .     .
NodeSwap                                            .    .     B+    G+!   G+!   G+!
NominatedNodeNameForExpectation                     .    .     .     B+    B+    B+
OpenAPIEnums                                        .    .     B+    B+    B+    B+
OpportunisticBatching                               .    .     .     B+    B+    B+
OrderedNamespaceDeletion                            .    .     .     G+!   G+!   +
PDBUnhealthyPodEvictionPolicy                       .    .     B+    .     .     .
PLEGOnDemandRelist                                  .    .     .     .     B+    G+!
PersistentLocalVolumes                              .    B+    .     .     .     .
PersistentVolumeClaimUnusedSinceTime                .    .     .     .     A-    B+
PersistentVolumeLastPhaseTransitionTime             .    .     B+    .     .     .
PodAndContainerStatsFromCRI                         .    .     A-    A-    A-    B-
PodCertificateRequest                               .    .     .     B-    B-    G+
PodDeletionCost                                     .    .     B+    B+    B+    B+
PodDisruptionConditions                             .    .     B+    .     .     .
PodGroupPreemptionPolicy                            .    .     .     .     .     A-
PodHostIPs                                          .    .     G+!   .     .     .
PodIndexLabel                                       .    .     B+    .     .     .
PodLevelResourceManagers                            .    .     .     .     A-    B-
PodLevelResources                                   .    .     .     B+    B+    B+
PodLevelResourcesFixDefaulting                      .    .     .     .     .     B+
PodLevelResourcesFixKubeletQOSClass                 .    .     .     .     .     B+
PodLifecycleSleepAction                             .    .     B+    G+!   G+!   +
PodLifecycleSleepActionAllowZero                    .    .     .     G+!   G+!   +
PodLogsQuerySplitStreams                            .    .     .     A-    A-    A-
PodObservedGenerationTracking                       .    .     .     G+!   G+!   G+!
PodPriority                                         .    B+    .     .     .     .
PodReadinessGates                                   .    B+    .     .     .     .
PodReadyToStartContainersCondition                  .    .     B+    B+    B+    G+!
PodSchedulingReadiness                              .    .     G+!   G+!   G+!   G+!
PodShareProcessNamespace                            .    B+    .     .     .     .
PodTopologyLabelsAdmission                          .    .     .     B+    B+    B+
PodsAPI                                             .    .     .     .     A-    B+
PortForwardWebsockets                               .    .     A-    B+    B+    B+
PreferSameTrafficDistribution                       .    .     .     G+!   G+!   G+!
PreventStaticPodAPIReferences                       .    .     .     B+    B+    +
ProcMountType                                       .    A-    A-    B+    G+!   G+!
QOSReserved                                         .    A-    A-    A-    A-    A-
ReadWriteOncePod                                    .    .     G+!   .     .     .
RecoverVolumeExpansionFailure                       .    .     A-    G+!   G+!   G+!
RecursiveReadOnlyMounts                             .    .     A-    G+!   G+!   G+!
ReduceDefaultCrashLoopBackOffDecay                  .    .     .     A-    A-    A-
RelaxedDNSSearchValidation                          .    .     .     G+!   G+!   +
RelaxedEnvironmentVariableValidation                .    .     A-    G+!   G+!   G+!
RelaxedServiceNameValidation                        .    .     .     A-    B+    G+!
ReloadKubeletClientCAFile                           .    .     .     .     B+    B+
ReloadKubeletServerCertificateFile                  .    .     .     B+    B+    B+
RemainingItemCount                                  .    .     G+!   .     .     .
RemoteRequestHeaderUID                              .    .     .     B+    B+    B+
ResilientWatchCacheInitialization                   .    .     .     G+!   G+!   +
ResourceHealthStatus                                .    .     .     A-    B+    B+
ResourceHealthStatusMessage                         .    .     .     .     B+    B+
ResourceLimitsPriorityFunction                      .    A-    .     .     .     .
ResourceQuotaScopeSelectors                         .    B+    .     .     .     .
RestartAllContainersOnContainerExits                .    .     .     A-    B+    B+
RetryGenerateName                                   .    .     A-    G+!   G+!   +
RotateKubeletClientCertificate                      .    B+    .     .     .     .
RotateKubeletServerCertificate                      .    B+    B+    B+    B+    B+
RunAsGroup                                          .    A-    .     .     .     .
RuntimeClass                                        .    A-    +     +     +     +
RuntimeClassInImageCriApi                           .    .     A-    A-    A-    A-
SCTPSupport                                         .    A-    .     .     .     .
SELinuxChangePolicy                                 .    .     .     B+    G+!   G+!
SELinuxMount                                        .    .     A-    B-    B-    G+
SELinuxMountReadWriteOncePod                        .    .     B+    B+    G+!   G+!
ScheduleDaemonSetPods                               .    B+    .     .     .     .
SchedulerAsyncAPICalls                              .    .     .     B-    B-    B-
SchedulerAsyncPreemption                            .    .     .     B+    B+    B+
SchedulerPopFromBackoffQ                            .    .     .     B+    B+    B+
SchedulerPreQueueingHints                           .    .     .     .     .     A-
SchedulerQueueingHints                              .    .     B-    G+!   G+!   +
SeparateCacheWatchRPC                               .    .     B+    D-    D-!   D-!
SeparateTaintEvictionController                     .    .     B+    G+!   G+!   G+!
ServerSideApply                                     .    .     G+!   .     .     .
ServerSideFieldValidation                           .    .     G+!   .     .     .
ServiceAccountNodeAudienceRestriction               .    .     .     B+    B+    B+
ServiceAccountTokenJTI                              .    .     B+    G+!   G+!   G+!
ServiceAccountTokenNodeBinding                      .    .     A-    G+!   G+!   G+!
ServiceAccountTokenNodeBindingValidation            .    .     B+    G+!   G+!   G+!
ServiceAccountTokenPodNodeInfo                      .    .     B+    G+!   G+!   G+!
ServiceCIDRStatusFieldWiping                        G-   G-    G-    G-    D+    D+
ServiceNodeExclusion                                .    A-    .     .     .     .
ServiceNodePortStaticSubrange                       .    .     G+!   .     .     .
ServiceTrafficDistribution                          .    .     A-    G+!   .     .
ShardedListAndWatch                                 .    .     .     .     A-    A-
SidecarContainers                                   .    .     B+    G+!   G+!   +
SizeBasedListCostEstimate                           .    .     .     B+    B+    B+
SizeMemoryBackedVolumes                             .    .     B+    .     .     .
SkipReadOnlyValidationGCE                           .    .     D+    .     .     .
StableLoadBalancerNodeSet                           .    .     G+!   .     .     .
StaleControllerConsistencyDaemonSet                 .    .     .     .     B+    B+
StaleControllerConsistencyHPA                       .    .     .     .     .     B+
StaleControllerConsistencyJob                       .    .     .     .     B+    B+
StaleControllerConsistencyReplicaSet                .    .     .     .     B+    B+
StaleControllerConsistencyStatefulSet               .    .     .     .     B+    B+
StartupProbe                                        .    .     +     +     +     +
StatefulSetAutoDeletePVC                            .    .     B+    .     .     .
StatefulSetRecreateStrategy                         .    .     .     .     .     A-
StatefulSetSemanticRevisionComparison               B+   B+    B+    B+    B+    B+
StatefulSetStartOrdinal                             .    .     B+    .     .     .
StorageCapacityScoring                              .    .     .     A-    A-    B+
StorageNamespaceIndex                               .    .     B+    D+    D+    D+
StorageObjectInUseProtection                        .    G+    .     .     .     .
StorageVersionAPI                                   .    .     A-    A-    A-    A-
StorageVersionHash                                  .    .     B+    B+    B+    B+
StorageVersionMigrator                              .    .     A-    B-    B-    G+
StreamingCollectionEncodingToJSON                   .    .     .     G+!   G+!   +
StreamingCollectionEncodingToProtobuf               .    .     .     G+!   G+!   +
StreamingProxyRedirects                             B+   B+    .     .     .     .
StrictIPCIDRValidation                              .    .     .     A-    B+    B+
StructuredAuthenticationConfiguration               .    .     B+    G+!   G+!   +
StructuredAuthenticationConfigurationEgressSelector .    .     .     B+    B+    B+
StructuredAuthenticationConfigurationJWKSMetrics    .    .     .     B+    B+    B+
StructuredAuthorizationConfiguration                .    .     B+    G+!   .     .
SupplementalGroupsPolicy                            .    .     .     G+!   G+!   G+!
SupportIPVSProxyMode                                .    G+    .     .     .     .
SupportPodPidsLimit                                 .    A-    .     .     .     .
Sysctls                                             .    B+    .     .     .     .
SystemdWatchdog                                     .    .     .     G+!   G+!   G+!
TTLAfterFinished                                    .    A-    .     .     .     .
TaintBasedEvictions                                 A-   A-    .     .     .     .
TaintNodesByCondition                               .    B+    .     .     .     .
TaintTolerationComparisonOperators                  .    .     .     A-    A-    A-
TokenRequest                                        .    B+    .     .     .     .
TokenRequestProjection                              .    B+    .     .     .     .
TokenRequestServiceAccountUIDValidation             .    .     .     B+    B+    B+
TopologyAwareHints                                  .    .     B+    G+!   .     .
TopologyAwareWorkloadScheduling                     .    .     .     .     A-    A-
TopologyManagerPolicyAlphaOptions                   .    .     A-    A-    A-    A-
TopologyManagerPolicyBetaOptions                    .    .     B+    B+    B+    B+
TopologyManagerPolicyOptions                        .    .     B+    G+    G+!   G+!
TranslateStreamCloseWebsocketRequests               .    .     B+    B+    B+    B+
UnauthenticatedHTTP2DOSMitigation                   .    .     B+    B+    B+    B+
UnknownVersionInteroperabilityProxy                 .    .     A-    A-    B+    B+
UserNamespacesHostNetworkSupport                    .    .     .     A-    A-    A-
UserNamespacesPodSecurityStandards                  .    .     A-    .     .     .
UserNamespacesSupport                               .    .     B-    B+    G+!   G+!
ValidatingAdmissionPolicy                           .    .     G+!   .     .     .
VolumeAttributesClass                               .    .     A-    G+    G+!   G+!
VolumeBindMountOptions                              .    .     .     .     .     A-
VolumeCapacityPriority                              .    .     A-    .     .     .
VolumeLimitScaling                                  .    .     .     A-    A-    B+
VolumeScheduling                                    .    B+    .     .     .     .
VolumeSnapshotDataSource                            .    A-    .     .     .     .
VolumeSubpath                                       .    G+    .     .     .     .
VolumeSubpathEnvExpansion                           .    A-    .     .     .     .
WatchBookmark                                       .    .     G+!   .     .     .
WatchCacheInitializationPostStartHook               .    .     .     B-    B+    G+!
WatchFromStorageWithoutResourceVersion              .    .     B-    D-!   .     .
WatchList                                           .    .     A-    B+    B+    B+
WatchListCompression                                .    .     .     .     .     B+
WebhookRoundTripLoadBalancing                       .    .     .     .     .     B+
WinDSR                                              .    .     A-    G+!   G+!   G+!
WinOverlay                                          .    .     B+    G+!   G+!   G+!
WindowsCPUAndMemoryAffinity                         .    .     .     A-    A-    A-
WindowsGracefulNodeShutdown                         .    .     .     B+    B+    B+
WindowsHostNetwork                                  .    .     A+    D-    D-    D-
WorkloadAwarePreemption                             .    .     .     .     A-    .
WorkloadWithJob                                     .    .     .     .     A-    A-
ZeroLimitedNominalConcurrencyShares                 .    .     G+!   .     .     .
"""

# Each gate with the gates that it requires.
_DEPENDENCIES = """\
AuthorizeNodeWithSelectors: AuthorizeWithSelectors
ClusterTrustBundleProjection: ClusterTrustBundle
CompositePodGroup: GenericWorkload TopologyAwareWorkloadScheduling
DRAAdminAccess: DynamicResourceAllocation
DRAConsumableCapacity: DynamicResourceAllocation
DRADerivedAttributes: DynamicResourceAllocation
DRADeviceBindingConditions: DynamicResourceAllocation DRAResourceClaimDeviceStatus
DRADeviceCompatibilityGroups: DynamicResourceAllocation DRAPartitionableDevices
DRADeviceTaintRules: DRADeviceTaints
DRADeviceTaints: DynamicResourceAllocation
DRAExtendedResource: DynamicResourceAllocation
DRAFractionalCapacityRange: DRAConsumableCapacity
DRAListTypeAttributes: DynamicResourceAllocation
DRANodeAllocatableResources: DynamicResourceAllocation
DRAOptionalNodeOperations: DynamicResourceAllocation NodeDeclaredFeatures
DRAPartitionableDevices: DynamicResourceAllocation
DRAPartitionableDevicesType: DynamicResourceAllocation DRAPartitionableDevices DRAResourcePoolStatus
DRAPrioritizedList: DynamicResourceAllocation
DRAResourceClaimGranularStatusAuthorization: DynamicResourceAllocation DRAResourceClaimDeviceStatus
DRAResourcePoolStatus: DynamicResourceAllocation
DRASchedulerFilterTimeout: DynamicResourceAllocation
DRAWorkloadResourceClaims: DynamicResourceAllocation GenericWorkload
DeclarativeValidationBeta: DeclarativeValidation
DeclarativeValidationTakeover: DeclarativeValidation
DisableAllocatorDualWrite: MultiCIDRServiceAllocator
ExtendWebSocketsToKubelet: NodeDeclaredFeatures
GangScheduling: GenericWorkload
GracefulNodeShutdownBasedOnPodPriority: GracefulNodeShutdown
H2CContainerProbe: NodeDeclaredFeatures
ImageVolumeWithDigest: ImageVolume
InPlacePodLevelResourcesVerticalScaling: InPlacePodVerticalScaling PodLevelResources NodeDeclaredFeatures
InPlacePodVerticalScalingAllocatedStatus: InPlacePodVerticalScaling
InPlacePodVerticalScalingExclusiveCPUs: InPlacePodVerticalScaling
InPlacePodVerticalScalingExclusiveMemory: InPlacePodVerticalScaling
InPlacePodVerticalScalingInitContainers: InPlacePodVerticalScaling NodeDeclaredFeatures
InPlacePodVerticalScalingMemoryBackedVolumes: InPlacePodVerticalScaling NodeDeclaredFeatures
InPlacePodVerticalScalingSchedulerPreemption: InPlacePodVerticalScaling
KubeletAllocatedPodsEndpoint: InPlacePodVerticalScaling
MatchLabelKeysInPodTopologySpreadSelectorMerge: MatchLabelKeysInPodTopologySpread
PodCertificateRequest: AuthorizeNodeWithSelectors
PodGroupPreemptionPolicy: GenericWorkload
PodLevelResourceManagers: PodLevelResources
PodLevelResourcesFixDefaulting: PodLevelResources
PodLevelResourcesFixKubeletQOSClass: PodLevelResources
PodLifecycleSleepActionAllowZero: PodLifecycleSleepAction
ProcMountType: UserNamespacesSupport
ResourceHealthStatus: DynamicResourceAllocation
ResourceHealthStatusMessage: ResourceHealthStatus
RestartAllContainersOnContainerExits: ContainerRestartRules NodeDeclaredFeatures
ServiceAccountTokenNodeBinding: ServiceAccountTokenNodeBindingValidation
StorageVersionAPI: APIServerIdentity
StructuredAuthenticationConfigurationEgressSelector: StructuredAuthenticationConfiguration
StructuredAuthenticationConfigurationJWKSMetrics: StructuredAuthenticationConfiguration
TopologyAwareWorkloadScheduling: GenericWorkload
UnknownVersionInteroperabilityProxy: APIServerIdentity
UserNamespacesHostNetworkSupport: UserNamespacesSupport
WindowsGracefulNodeShutdown: GracefulNodeShutdown
WorkloadAwarePreemption: GangScheduling
WorkloadWithJob: GenericWorkload
"""
_SINCE_1_36 = "UserNamespacesHostNetworkSupport: NodeDeclaredFeatures\n"
_SINCE_1_37 = "EventedPLEG: PLEGOnDemandRelist\n"

# Old kubelets do not check dependencies.
DEPENDENCIES: Mapping[str, str] = {
    "v1.35": _DEPENDENCIES,
    "v1.36": _DEPENDENCIES + _SINCE_1_36,
    "v1.37": _DEPENDENCIES + _SINCE_1_36 + _SINCE_1_37,
}

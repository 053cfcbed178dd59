"""The feature gates of each profile: data.

A column is a profile. The letter is the stage (Alpha, Beta, Generally available, Deprecated), the sign the default, and
`!` says that the default cannot be changed; a dot: that kubelet does not know the gate. Gates that keep an old
behaviour switchable have a value also where the behaviour was not yet a gate.

Mirrors: pkg/features/kube_features.go at v1.6.13, v1.12.4, v1.30.0 and v1.36.4
"""

from __future__ import annotations

from typing import Literal, get_args

Profile = Literal["v1.6", "v1.12", "v1.30", "v1.36"]
PROFILES: tuple[Profile, ...] = get_args(Profile)

# name                                              v1.6 v1.12 v1.30 v1.36
TABLE = """\
APIListChunking                                     .    B+    G+!   .
APIPriorityAndFairness                              .    .     G+!   .
APIResponseCompression                              .    A-    B+    B+
APIServerIdentity                                   .    .     B+    B+
APIServerTracing                                    .    .     B+    G+!
APIServingWithRoutine                               .    .     B+    A-
Accelerators                                        A-   .     .     .
AdmissionWebhookMatchConditions                     .    .     G+!   .
AdvancedAuditing                                    .    G+    .     .
AffinityInAnnotations                               A-   .     .     .
AggregatedDiscoveryEndpoint                         .    .     G+!   .
AggregatedDiscoveryRemoveBetaType                   G-   G-    G-    D+!
AllowDNSOnlyNodeCSR                                 G+   G+    G+    D-
AllowExtTrafficLocalEndpoints                       B+   .     .     .
AllowInsecureKubeletCertificateSigningRequests      G+   G+    G+    D-
AllowOverwriteTerminationGracePeriodSeconds         G+   G+    G+    D-!
AllowParsingUserUIDFromCertAuth                     .    .     .     B+
AllowServiceExternalIPs                             G+   G+    G+    G+
AllowServiceLBStatusOnNonLB                         .    .     D-    .
AllowUnsafeMalformedObjectDeletion                  .    .     .     A-
AnonymousAuthConfigurableEndpoints                  .    .     .     G+!
AnyVolumeDataSource                                 .    .     B+    G+!
AppArmor                                            B+   B+    B+    .
AppArmorFields                                      .    .     B+    .
AttachVolumeLimit                                   .    B+    .     .
AuthorizeNodeWithSelectors                          .    .     .     G+!
AuthorizePodWebsocketUpgradeCreatePermission        .    .     .     B+
AuthorizeWithSelectors                              .    .     .     G+!
BalanceAttachedNodeVolumes                          .    A-    .     .
BlockVolume                                         .    A-    .     .
BtreeWatchCache                                     .    .     .     G+!
CBORServingAndStorage                               .    .     .     A-
CPUManager                                          .    B+    G+!   .
CPUManagerPolicyAlphaOptions                        .    .     A-    A-
CPUManagerPolicyBetaOptions                         .    .     B+    B+
CPUManagerPolicyOptions                             .    .     B+    G+!
CRDObservedGenerationTracking                       .    .     .     B+
CRDValidationRatcheting                             .    .     B+    G+!
CRIContainerLogRotation                             .    B+    .     .
CRIListStreaming                                    .    .     .     A-
CSIBlockVolume                                      .    A-    .     .
CSIDriverRegistry                                   .    A-    .     .
CSIMigrationPortworx                                .    .     B-    .
CSIMigrationRBD                                     .    .     D-    .
CSINodeExpandSecret                                 .    .     G+!   .
CSINodeInfo                                         .    A-    .     .
CSIPersistentVolume                                 .    B+    .     .
CSIServiceAccountTokenSecrets                       .    .     .     G+!
CSIVolumeHealth                                     .    .     A-    A-
ChangeContainerStatusOnKubeletRestart               G+   G+    G+    D-
ClearingNominatedNodeNameAfterBinding               .    .     .     B+
CloudControllerManagerWatchBasedRoutesReconciliation .    .     .     A-
CloudControllerManagerWebhook                       .    .     A-    A-
CloudDualStackNodeIPs                               .    .     G+!   .
ClusterTrustBundle                                  .    .     A-    B-
ClusterTrustBundleProjection                        .    .     A-    B-
ComponentFlagz                                      .    .     .     B+
ComponentStatusz                                    .    .     .     B+
ConcurrentWatchObjectDecode                         .    .     .     B-
ConsistentHTTPGetHandlers                           .    .     G+!   .
ConsistentListFromCache                             .    .     A-    G+!
ConstrainedImpersonation                            .    .     .     B+
ContainerCheckpoint                                 .    .     B+    B+
ContainerRestartRules                               .    .     .     B+
ContainerStopSignals                                .    .     .     A-
CoordinatedLeaderElection                           .    .     .     B-
CronJobsScheduledAnnotation                         .    .     B+    .
CrossNamespaceVolumeDataSource                      .    .     A-    A-
CustomCPUCFSQuotaPeriod                             .    A-    A-    G+
CustomPodDNS                                        .    B+    .     .
CustomResourceFieldSelectors                        .    .     A-    G+!
CustomResourceSubresources                          .    B+    .     .
CustomResourceValidation                            .    B+    .     .
CustomResourceValidationExpressions                 .    .     G+!   .
DRAAdminAccess                                      .    .     .     G+!
DRAConsumableCapacity                               .    .     .     B+
DRADeviceBindingConditions                          .    .     .     B+
DRADeviceTaintRules                                 .    .     .     B-
DRADeviceTaints                                     .    .     .     B+
DRAExtendedResource                                 .    .     .     B+
DRAListTypeAttributes                               .    .     .     A-
DRANodeAllocatableResources                         .    .     .     A-
DRAPartitionableDevices                             .    .     .     B+
DRAPrioritizedList                                  .    .     .     G+
DRAResourceClaimDeviceStatus                        .    .     .     B+
DRAResourceClaimGranularStatusAuthorization         .    .     .     B+
DRAResourcePoolStatus                               .    .     .     A-
DRASchedulerFilterTimeout                           .    .     .     B+
DRAWorkloadResourceClaims                           .    .     .     A-
DebugContainers                                     .    A-    .     .
DeclarativeValidation                               .    .     .     G+!
DeclarativeValidationBeta                           .    .     .     B+
DeclarativeValidationTakeover                       .    .     .     D-
DefaultHostNetworkHostPortsInPodTemplates           .    .     D-    .
DeploymentReplicaSetTerminatingReplicas             .    .     .     B+
DetectCacheInconsistency                            .    .     .     B+
DevicePluginCDIDevices                              .    .     B+    .
DevicePlugins                                       .    B+    .     .
DisableAllocatorDualWrite                           .    .     .     G+!
DisableCPUQuotaWithExclusiveCPUs                    .    .     .     D+
DisableCloudProviders                               .    .     B+    .
DisableKubeletCloudCredentialProviders              .    .     B+    .
DisableNodeKubeProxyVersion                         .    .     A-    D+!
DryRun                                              .    A-    .     .
DynamicKubeletConfig                                A-   B+    .     .
DynamicResourceAllocation                           .    .     A-    G+!
DynamicVolumeProvisioning                           A+   .     .     .
EfficientWatchResumption                            .    .     G+!   .
ElasticIndexedJob                                   .    .     B+    .
EnableEquivalenceClassCache                         .    A-    .     .
EnvFiles                                            .    .     .     B+
EventedPLEG                                         .    .     A-    A-
ExecProbeTimeout                                    .    .     G+    G+!
ExpandInUsePersistentVolumes                        .    A-    .     .
ExpandPersistentVolumes                             .    B+    .     .
ExperimentalCriticalPodAnnotation                   A-   A-    .     .
ExperimentalHostUserNamespaceDefaulting             B-   B-    .     .
ExtendWebSocketsToKubelet                           .    .     .     B+
ExternalServiceAccountTokenSigner                   .    .     .     G+!
GCERegionalPersistentDisk                           .    B+    .     .
GangScheduling                                      .    .     .     A-
GenericWorkload                                     .    .     .     A-
GitRepoVolumeDriver                                 G+   G+    G+    D-!
GracefulNodeShutdown                                .    .     B+    B+
GracefulNodeShutdownBasedOnPodPriority              .    .     B+    B+
HPAConfigurableTolerance                            .    .     .     B+
HPAContainerMetrics                                 .    .     G+!   .
HPAScaleToZero                                      .    .     A-    A-
HonorPVReclaimPolicy                                .    .     A-    .
HostnameOverride                                    .    .     .     B+
HugePages                                           .    B+    .     .
HyperVContainer                                     .    A-    .     .
ImageMaximumGCAge                                   .    .     B+    G+!
ImageVolume                                         .    .     .     G+!
ImageVolumeWithDigest                               .    .     .     A-
InPlacePodLevelResourcesVerticalScaling             .    .     .     B+
InPlacePodVerticalScaling                           .    .     A-    G+!
InPlacePodVerticalScalingExclusiveCPUs              .    .     .     A-
InPlacePodVerticalScalingExclusiveMemory            .    .     .     A-
InPlacePodVerticalScalingInitContainers             .    .     .     B+
InTreePluginAWSUnregister                           .    .     A-    .
InTreePluginAzureDiskUnregister                     .    .     A-    .
InTreePluginAzureFileUnregister                     .    .     A-    .
InTreePluginGCEUnregister                           .    .     A-    .
InTreePluginOpenStackUnregister                     .    .     A-    .
InTreePluginPortworxUnregister                      .    .     A-    .
InTreePluginRBDUnregister                           .    .     D-    .
InTreePluginvSphereUnregister                       .    .     A-    .
Initializers                                        .    A-    .     .
JobBackoffLimitPerIndex                             .    .     B+    G+!
JobManagedBy                                        .    .     A-    G+!
JobPodFailurePolicy                                 .    .     B+    .
JobPodReplacementPolicy                             .    .     B+    G+!
JobReadyPods                                        .    .     G+!   .
JobSuccessPolicy                                    .    .     A-    G+!
KMSv1                                               G+   G+    D-    D-
KMSv2                                               .    .     G+!   .
KMSv2KDF                                            .    .     G+!   .
KubeProxyDrainingTerminatingNodes                   .    .     B+    .
KubeletCgroupDriverFromCRI                          .    .     A-    G+!
KubeletCrashLoopBackOffMax                          .    .     .     B+
KubeletEnsureSecretPulledImages                     .    .     .     B+
KubeletFineGrainedAuthz                             .    .     .     G+!
KubeletInUserNamespace                              .    .     A-    A-
KubeletPSI                                          .    .     .     G+!
KubeletPluginsWatcher                               .    B+    .     .
KubeletPodResourcesDynamicResources                 .    .     A-    G+!
KubeletPodResourcesGet                              .    .     A-    G+!
KubeletPodResourcesListUseActivePods                G-   G-    G-    D+
KubeletRegistrationGetOnExistsOnly                  G+   G+    G+    D-
KubeletSeparateDiskGC                               .    .     A-    B+
KubeletServiceAccountTokenForCredentialProviders    .    .     .     B+
KubeletTracing                                      .    .     B+    G+!
LegacyServiceAccountTokenCleanUp                    .    .     G+!   .
ListFromCacheSnapshot                               .    .     .     B+
LoadBalancerIPMode                                  .    .     B+    .
LocalStorageCapacityIsolation                       .    B+    .     .
LocalStorageCapacityIsolationFSQuotaMonitoring      .    .     A-    B-
LogarithmicScaleDown                                .    .     B+    G+!
ManifestBasedAdmissionControlConfig                 .    .     .     A-
MatchLabelKeysInPodAffinity                         .    .     A-    G+!
MatchLabelKeysInPodTopologySpread                   .    .     B+    B+
MatchLabelKeysInPodTopologySpreadSelectorMerge      .    .     .     B+
MaxUnavailableStatefulSet                           .    .     A-    B-
MemoryManager                                       .    .     B+    .
MemoryQoS                                           .    .     A-    A-
MinDomainsInPodTopologySpread                       .    .     G+!   .
MountContainers                                     .    A-    .     .
MountPropagation                                    .    G+    .     .
MultiCIDRServiceAllocator                           .    .     A-    G+!
MutableCSINodeAllocatableCount                      .    .     .     G+!
MutablePVNodeAffinity                               .    .     .     A-
MutablePodResourcesForSuspendedJobs                 .    .     .     B+
MutableSchedulingDirectivesForSuspendedJobs         .    .     .     B+
MutatingAdmissionPolicy                             .    .     A-    G+
NFTablesProxyMode                                   .    .     A-    G+!
NewVolumeManagerReconstruction                      .    .     G+!   .
NodeDeclaredFeatures                                .    .     .     B+
NodeInclusionPolicyInPodTopologySpread              .    .     B+    G+!
NodeLease                                           .    A-    .     .
NodeLogQuery                                        .    .     B-    G+!
NodeOutOfServiceVolumeDetach                        .    .     G+!   .
NodeSwap                                            .    .     B+    G+!
NominatedNodeNameForExpectation                     .    .     .     B+
OpenAPIEnums                                        .    .     B+    B+
OpportunisticBatching                               .    .     .     B+
OrderedNamespaceDeletion                            .    .     .     G+!
PDBUnhealthyPodEvictionPolicy                       .    .     B+    .
PLEGOnDemandRelist                                  .    .     .     B+
PersistentLocalVolumes                              .    B+    .     .
PersistentVolumeClaimUnusedSinceTime                .    .     .     A-
PersistentVolumeLastPhaseTransitionTime             .    .     B+    .
PodAndContainerStatsFromCRI                         .    .     A-    A-
PodCertificateRequest                               .    .     .     B-
PodDeletionCost                                     .    .     B+    B+
PodDisruptionConditions                             .    .     B+    .
PodHostIPs                                          .    .     G+!   .
PodIndexLabel                                       .    .     B+    .
PodLevelResourceManagers                            .    .     .     A-
PodLevelResources                                   .    .     .     B+
PodLifecycleSleepAction                             .    .     B+    G+!
PodLifecycleSleepActionAllowZero                    .    .     .     G+!
PodLogsQuerySplitStreams                            .    .     .     A-
PodObservedGenerationTracking                       .    .     .     G+!
PodPriority                                         .    B+    .     .
PodReadinessGates                                   .    B+    .     .
PodReadyToStartContainersCondition                  .    .     B+    B+
PodSchedulingReadiness                              .    .     G+!   G+!
PodShareProcessNamespace                            .    B+    .     .
PodTopologyLabelsAdmission                          .    .     .     B+
PodsAPI                                             .    .     .     A-
PortForwardWebsockets                               .    .     A-    B+
PreferSameTrafficDistribution                       .    .     .     G+!
PreventStaticPodAPIReferences                       .    .     .     B+
ProcMountType                                       .    A-    A-    G+!
QOSReserved                                         .    A-    A-    A-
ReadWriteOncePod                                    .    .     G+!   .
RecoverVolumeExpansionFailure                       .    .     A-    G+!
RecursiveReadOnlyMounts                             .    .     A-    G+!
ReduceDefaultCrashLoopBackOffDecay                  .    .     .     A-
RelaxedDNSSearchValidation                          .    .     .     G+!
RelaxedEnvironmentVariableValidation                .    .     A-    G+!
RelaxedServiceNameValidation                        .    .     .     B+
ReloadKubeletClientCAFile                           .    .     .     B+
ReloadKubeletServerCertificateFile                  .    .     .     B+
RemainingItemCount                                  .    .     G+!   .
RemoteRequestHeaderUID                              .    .     .     B+
ResilientWatchCacheInitialization                   .    .     .     G+!
ResourceHealthStatus                                .    .     .     B+
ResourceHealthStatusMessage                         .    .     .     B+
ResourceLimitsPriorityFunction                      .    A-    .     .
ResourceQuotaScopeSelectors                         .    B+    .     .
RestartAllContainersOnContainerExits                .    .     .     B+
RetryGenerateName                                   .    .     A-    G+!
RotateKubeletClientCertificate                      .    B+    .     .
RotateKubeletServerCertificate                      .    B+    B+    B+
RunAsGroup                                          .    A-    .     .
RuntimeClass                                        .    A-    .     .
RuntimeClassInImageCriApi                           .    .     A-    A-
SCTPSupport                                         .    A-    .     .
SELinuxChangePolicy                                 .    .     .     G+!
SELinuxMount                                        .    .     A-    B-
SELinuxMountReadWriteOncePod                        .    .     B+    G+!
ScheduleDaemonSetPods                               .    B+    .     .
SchedulerAsyncAPICalls                              .    .     .     B-
SchedulerAsyncPreemption                            .    .     .     B+
SchedulerPopFromBackoffQ                            .    .     .     B+
SchedulerQueueingHints                              .    .     B-    G+!
SeparateCacheWatchRPC                               .    .     B+    D-!
SeparateTaintEvictionController                     .    .     B+    G+!
ServerSideApply                                     .    .     G+!   .
ServerSideFieldValidation                           .    .     G+!   .
ServiceAccountNodeAudienceRestriction               .    .     .     B+
ServiceAccountTokenJTI                              .    .     B+    G+!
ServiceAccountTokenNodeBinding                      .    .     A-    G+!
ServiceAccountTokenNodeBindingValidation            .    .     B+    G+!
ServiceAccountTokenPodNodeInfo                      .    .     B+    G+!
ServiceCIDRStatusFieldWiping                        G-   G-    G-    D+
ServiceNodeExclusion                                .    A-    .     .
ServiceNodePortStaticSubrange                       .    .     G+!   .
ServiceTrafficDistribution                          .    .     A-    .
ShardedListAndWatch                                 .    .     .     A-
SidecarContainers                                   .    .     B+    G+!
SizeBasedListCostEstimate                           .    .     .     B+
SizeMemoryBackedVolumes                             .    .     B+    .
SkipReadOnlyValidationGCE                           .    .     D+    .
StableLoadBalancerNodeSet                           .    .     G+!   .
StaleControllerConsistencyDaemonSet                 .    .     .     B+
StaleControllerConsistencyJob                       .    .     .     B+
StaleControllerConsistencyReplicaSet                .    .     .     B+
StaleControllerConsistencyStatefulSet               .    .     .     B+
StatefulSetAutoDeletePVC                            .    .     B+    .
StatefulSetSemanticRevisionComparison               B+   B+    B+    B+
StatefulSetStartOrdinal                             .    .     B+    .
StorageCapacityScoring                              .    .     .     A-
StorageNamespaceIndex                               .    .     B+    D+
StorageObjectInUseProtection                        .    G+    .     .
StorageVersionAPI                                   .    .     A-    A-
StorageVersionHash                                  .    .     B+    B+
StorageVersionMigrator                              .    .     A-    B-
StreamingCollectionEncodingToJSON                   .    .     .     G+!
StreamingCollectionEncodingToProtobuf               .    .     .     G+!
StreamingProxyRedirects                             B+   B+    .     .
StrictIPCIDRValidation                              .    .     .     B+
StructuredAuthenticationConfiguration               .    .     B+    G+!
StructuredAuthenticationConfigurationEgressSelector .    .     .     B+
StructuredAuthenticationConfigurationJWKSMetrics    .    .     .     B+
StructuredAuthorizationConfiguration                .    .     B+    .
SupplementalGroupsPolicy                            .    .     .     G+!
SupportIPVSProxyMode                                .    G+    .     .
SupportPodPidsLimit                                 .    A-    .     .
Sysctls                                             .    B+    .     .
SystemdWatchdog                                     .    .     .     G+!
TTLAfterFinished                                    .    A-    .     .
TaintBasedEvictions                                 A-   A-    .     .
TaintNodesByCondition                               .    B+    .     .
TaintTolerationComparisonOperators                  .    .     .     A-
TokenRequest                                        .    B+    .     .
TokenRequestProjection                              .    B+    .     .
TokenRequestServiceAccountUIDValidation             .    .     .     B+
TopologyAwareHints                                  .    .     B+    .
TopologyAwareWorkloadScheduling                     .    .     .     A-
TopologyManagerPolicyAlphaOptions                   .    .     A-    A-
TopologyManagerPolicyBetaOptions                    .    .     B+    B+
TopologyManagerPolicyOptions                        .    .     B+    G+!
TranslateStreamCloseWebsocketRequests               .    .     B+    B+
UnauthenticatedHTTP2DOSMitigation                   .    .     B+    B+
UnknownVersionInteroperabilityProxy                 .    .     A-    B+
UserNamespacesHostNetworkSupport                    .    .     .     A-
UserNamespacesPodSecurityStandards                  .    .     A-    .
UserNamespacesSupport                               .    .     B-    G+!
ValidatingAdmissionPolicy                           .    .     G+!   .
VolumeAttributesClass                               .    .     A-    G+!
VolumeCapacityPriority                              .    .     A-    .
VolumeLimitScaling                                  .    .     .     A-
VolumeScheduling                                    .    B+    .     .
VolumeSnapshotDataSource                            .    A-    .     .
VolumeSubpath                                       .    G+    .     .
VolumeSubpathEnvExpansion                           .    A-    .     .
WatchBookmark                                       .    .     G+!   .
WatchCacheInitializationPostStartHook               .    .     .     B+
WatchFromStorageWithoutResourceVersion              .    .     B-    .
WatchList                                           .    .     A-    B+
WinDSR                                              .    .     A-    G+!
WinOverlay                                          .    .     B+    G+!
WindowsCPUAndMemoryAffinity                         .    .     .     A-
WindowsGracefulNodeShutdown                         .    .     .     B+
WindowsHostNetwork                                  .    .     A+    D-
WorkloadAwarePreemption                             .    .     .     A-
WorkloadWithJob                                     .    .     .     A-
ZeroLimitedNominalConcurrencyShares                 .    .     G+!   .
"""

# v1.36: a gate, and those that must be on if it is.
DEPENDENCIES = """\
AuthorizeNodeWithSelectors: AuthorizeWithSelectors
ClusterTrustBundleProjection: ClusterTrustBundle
DRAAdminAccess: DynamicResourceAllocation
DRAConsumableCapacity: DynamicResourceAllocation
DRADeviceBindingConditions: DynamicResourceAllocation DRAResourceClaimDeviceStatus
DRADeviceTaintRules: DRADeviceTaints
DRADeviceTaints: DynamicResourceAllocation
DRAExtendedResource: DynamicResourceAllocation
DRAListTypeAttributes: DynamicResourceAllocation
DRANodeAllocatableResources: DynamicResourceAllocation
DRAPartitionableDevices: DynamicResourceAllocation
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
ImageVolumeWithDigest: ImageVolume
InPlacePodLevelResourcesVerticalScaling: InPlacePodVerticalScaling PodLevelResources NodeDeclaredFeatures
InPlacePodVerticalScalingExclusiveCPUs: InPlacePodVerticalScaling
InPlacePodVerticalScalingExclusiveMemory: InPlacePodVerticalScaling
InPlacePodVerticalScalingInitContainers: InPlacePodVerticalScaling NodeDeclaredFeatures
MatchLabelKeysInPodTopologySpreadSelectorMerge: MatchLabelKeysInPodTopologySpread
PodCertificateRequest: AuthorizeNodeWithSelectors
PodLevelResourceManagers: PodLevelResources
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
UserNamespacesHostNetworkSupport: UserNamespacesSupport NodeDeclaredFeatures
WindowsGracefulNodeShutdown: GracefulNodeShutdown
WorkloadAwarePreemption: GangScheduling
WorkloadWithJob: GenericWorkload
"""

"""Names in Kubernetes v1.36 and the older profiles: reasons of Events, types of conditions, reasons of states.

Mirrors: pkg/kubelet/events/event.go, pkg/kubelet/container/sync_result.go, pkg/kubelet/images/types.go; the reasons
that pkg/kubelet, pkg/controller, pkg/scheduler and pkg/proxy emit; the condition types of k8s.io/api
"""

from __future__ import annotations

import re
from collections.abc import Mapping


def _names(*texts: str) -> frozenset[str]:
    return frozenset(" ".join(texts).split())


_KUBELET = """
    AlreadyMountedVolume BackOff CheckLimitsForResolvConf ContainerGCFailed Created DNSConfigForming ErrImageNeverPull
    EvictionThresholdMet ExceededGracePeriod Failed FailedAttachVolume FailedCreatePodContainer FailedCreatePodSandBox
    FailedKillPod FailedMapVolume FailedMount FailedMountOnFilesystemMismatch FailedNodeAllocatableEnforcement
    FailedNodeDeclaredFeaturesCheck FailedPodSandBoxStatus FailedPostStartHook FailedPreStopHook
    FailedPrepareDynamicResources FailedSync FailedToRetrieveImagePullSecret FailedValidation FileSystemResizeFailed
    FileSystemResizeSuccessful FreeDiskSpaceFailed HostIPsIPFamilyMismatch ImageGCFailed InspectFailed
    InvalidDiskCapacity InvalidEnvironmentVariableNames InvalidImageID Killing KubeletSetupFailed LifecycleHTTPFallback
    MissingClusterDNS NetworkNotReady NodeAllocatableEnforced NodeHasDiskPressure NodeHasInsufficientMemory
    NodeHasInsufficientPID NodeHasNoDiskPressure NodeHasSufficientMemory NodeHasSufficientPID NodeNotReady
    NodeNotSchedulable NodeReady NodeSchedulable PossibleMemoryBackedVolumesOnDisk Preempting ProbeWarning Pulled
    Pulling Rebooted ResizeCompleted ResizeDeferred ResizeError ResizeInfeasible ResizeStarted SandboxChanged Shutdown
    Started Starting SuccessfulAttachVolume SuccessfulMountVolume SystemOOM Unhealthy VolumeConditionAbnormal
    VolumePermissionChangeInProgress VolumeResizeFailed VolumeResizeSuccessful
"""
_ADMISSION = """
    AppArmor EmptyPodSharedPoolError Evicted InitContainerRestartPolicyForbidden InvalidNodeInfo NodeAffinity NodeName
    NodePorts NodeShutdown NodeUnschedulable PodLevelResourcesNotSupported PodOSNotSupported
    PodOSSelectorNodeLabelDoesNotMatch SupplementalGroupsPolicyNotSupported SysctlForbidden TaintToleration Terminated
    TopologyAffinityError UnexpectedAdmissionError UnknownReason
"""
_OLDER_KUBELETS = """
    DNSSearchForming FailedConversion FailedDetachVolume FailedUnMount FailedUnmapDevice HostNetworkNotSupported
    HostPortConflict InfraChanged InsufficientFreeCPU InsufficientFreeMemory NilShaper NodeHasNoOutOfDisk
    NodeHasSufficientDisk NodeOutOfDisk NodeSelectorMismatching SuccessfulDetachVolume SuccessfulUnMountVolume
    UnfinishedPreStopHook UnsupportedMountOption
"""
_CONTROLLERS = """
    AmbiguousSelector BackoffLimitExceeded CIDRAssignmentFailed CIDRNotAvailable CalculateExpectedPodCountFailed
    Completed ConflictingController DeadlineExceeded DeletingNode DeploymentPaused DeploymentResumed
    DeploymentRollback DeploymentRollbackRevisionNotFound DeploymentRollbackTemplateUnchanged
    DeviceTaintManagerEviction ExternalExpanding ExternalProvisioning FailedBinding FailedComputeMetricsReplicas
    FailedConvertHPA FailedCreate FailedDaemonPod FailedDelete FailedGet FailedGetContainerResourceMetric
    FailedGetExternalMetric FailedGetObjectMetric FailedGetPodsMetric FailedGetResourceMetric FailedGetScale
    FailedIndexes FailedPlacement FailedRescale FailedResourceClaimCreation FailedToCreateEndpoint
    FailedToListEndpointSlices FailedToListPods FailedToUpdateEndpoint FailedToUpdateEndpointSlices FailedUpdate
    FailedUpdateStatus InvalidIPAddress InvalidMetricSourceType InvalidSchedule InvalidSelector JobAlreadyActive
    KubernetesServiceCIDRError MaxFailedIndexesExceeded MissSchedule MissingJob MultiplePodDisruptionBudgets
    MultipleSELinuxLabels NoPods NodeControllerEviction NotDeleted OwnerRefInvalidNamespace PodFailurePolicy
    ProgressDeadlineExceeded ProvisioningCleanupFailed ProvisioningFailed ProvisioningSucceeded RecyclerPod
    RegisteredNode RemovingNode ReplicaSetCreateError Resumed SawCompletedJob ScalingReplicaSet SelectingAll
    SelectorRequired SucceededDaemonPod SuccessPolicy SuccessfulCreate SuccessfulDelete SuccessfulRescale
    SuccessfulUpdate Suspended TaintManagerEviction TooManyAddressesToMirror TooManyMissedTimes TooManySucceededPods
    UnParseableCronJobSchedule UnexpectedJob UnknownCompletionMode UnknownTimeZone UnmanagedPods UnparseableSchedule
    UnsupportedSchedule VolumeDelete VolumeFailedDelete VolumeFailedRecycle VolumeMismatch VolumeRecycled
    WaitForFirstConsumer WaitForPodScheduled
"""
_VOLUME_SIDECARS = """
    FileSystemResizeRequired Provisioning Resizing VolumeModify VolumeModifyFailed VolumeModifySuccessful
"""
_SCHEDULER = "BindingConditionsPending FailedScheduling Preempted Scheduled WorkloadCreated"

_NODES = _names(
    """
    CIDRAssignmentFailed CIDRNotAvailable CheckLimitsForResolvConf ContainerGCFailed DeletingNode EvictionThresholdMet
    FailedNodeAllocatableEnforcement FreeDiskSpaceFailed ImageGCFailed InvalidDiskCapacity KubeletSetupFailed
    NodeAllocatableEnforced NodeHasDiskPressure NodeHasInsufficientMemory NodeHasInsufficientPID NodeHasNoDiskPressure
    NodeHasNoOutOfDisk NodeHasSufficientDisk NodeHasSufficientMemory NodeHasSufficientPID NodeNotSchedulable
    NodeOutOfDisk NodeReady NodeSchedulable PossibleMemoryBackedVolumesOnDisk Rebooted RegisteredNode RemovingNode
    Shutdown Starting SystemOOM
    """
)
_NODES_AND_PODS = _names("MissingClusterDNS NodeNotReady OwnerRefInvalidNamespace")
_PODS_BY_CONTROLLERS = _names(
    """
    DeadlineExceeded DeviceTaintManagerEviction FailedResourceClaimCreation MultiplePodDisruptionBudgets
    NodeControllerEviction TaintManagerEviction
    """
)
# The kubelet also expands volumes.
_VOLUMES_BY_KUBELETS = _names(
    "FileSystemResizeFailed FileSystemResizeSuccessful VolumeResizeFailed VolumeResizeSuccessful"
)
EVENT_REASONS = _names(_KUBELET, _ADMISSION, _OLDER_KUBELETS, _CONTROLLERS, _VOLUME_SIDECARS, _SCHEDULER)
_OF_NODES = _NODES | _NODES_AND_PODS
_OF_PODS = _names(_KUBELET, _ADMISSION, _OLDER_KUBELETS, _SCHEDULER) - _NODES | _NODES_AND_PODS | _PODS_BY_CONTROLLERS
_OF_OTHERS = _names(_CONTROLLERS, _VOLUME_SIDECARS, "WorkloadCreated") - _NODES | _VOLUMES_BY_KUBELETS
# The kubelet rejects a pod with OutOf and the name of the exhausted resource.
_OUT_OF = re.compile("OutOf(cpu|memory|ephemeral-storage|pods|hugepages-[A-Za-z0-9.]+|[a-z0-9.-]+/[A-Za-z0-9._-]+)")


def event_reasons(kind: str) -> frozenset[str]:
    """The reasons of Events about objects of this kind."""
    return {"Pod": _OF_PODS, "Node": _OF_NODES}.get(kind, _OF_OTHERS)


def is_out_of(reason: str) -> bool:
    """`OutOfmemory`, `OutOfexample.com/gpu`."""
    return _OUT_OF.fullmatch(reason) is not None


CONDITIONS: Mapping[str, tuple[str, ...]] = {
    "Pod": (
        "AllContainersRestarting", "ContainersReady", "DisruptionTarget", "Initialized", "PodReadyToStartContainers",
        "PodResizeInProgress", "PodResizePending", "PodScheduled", "Ready",
    ),
    "Node": ("DiskPressure", "MemoryPressure", "NetworkUnavailable", "OutOfDisk", "PIDPressure", "Ready"),
    "Deployment": ("Available", "Progressing", "ReplicaFailure"),
    "ReplicaSet": ("ReplicaFailure",),
    "ReplicationController": ("ReplicaFailure",),
    "Job": ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended"),
    "PodDisruptionBudget": ("DisruptionAllowed",),
    "HorizontalPodAutoscaler": ("AbleToScale", "ScaledToZero", "ScalingActive", "ScalingLimited"),
    "PersistentVolumeClaim": (
        "ControllerResizeError", "FileSystemResizePending", "ModifyVolumeError", "ModifyingVolume", "NodeResizeError",
        "Resizing", "Unused",
    ),
    "Namespace": (
        "NamespaceContentRemaining", "NamespaceDeletionContentFailure", "NamespaceDeletionDiscoveryFailure",
        "NamespaceDeletionGroupVersionParsingFailure", "NamespaceFinalizersRemaining",
    ),
    "CustomResourceDefinition": (
        "Established", "KubernetesAPIApprovalPolicyConformant", "NamesAccepted", "NonStructuralSchema",
        "StorageMigrating", "Terminating",
    ),
}  # fmt: skip

# Values of fields, by the name of their Go type.
VALUES_OF_TYPES: Mapping[str, tuple[str, ...]] = {
    "v1.PodPhase": ("Pending", "Running", "Succeeded", "Failed", "Unknown"),
    "v1.ConditionStatus": ("True", "False", "Unknown"),
    "v1.PodQOSClass": ("Guaranteed", "Burstable", "BestEffort"),
    "v1.RestartPolicy": ("Always", "OnFailure", "Never"),
    "v1.ContainerRestartPolicy": ("Always", "OnFailure", "Never"),
    "v1.PullPolicy": ("Always", "IfNotPresent", "Never"),
    "v1.DNSPolicy": ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
    "v1.TaintEffect": ("NoSchedule", "PreferNoSchedule", "NoExecute"),
    "v1.NamespacePhase": ("Active", "Terminating"),
    "v1.PersistentVolumeClaimPhase": ("Pending", "Bound", "Lost"),
    "v1.PersistentVolumePhase": ("Pending", "Available", "Bound", "Released", "Failed"),
    "v1.ServiceType": ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
    "v1.CompletionMode": ("NonIndexed", "Indexed"),
}

WAITING_REASONS = _names(
    """
    AppArmor Blocked ConfigPodSandboxError ContainerCreating CrashLoopBackOff CreateContainerConfigError
    CreateContainerError CreatePodSandboxError ErrImageNeverPull ErrImagePull ImageInspectError ImagePullBackOff
    InvalidImageName KillContainerError KillPodSandboxError PodInitializing PostStartHookError PreCreateHookError
    PreStartHookError RegistryUnavailable RemoveContainerError ResizePodInPlaceError RunContainerError
    RunInitContainerError SetupNetworkError SignatureValidationFailed TeardownNetworkError VerifyNonRootError
    """
)
TERMINATED_REASONS = _names(
    "Completed ContainerCannotRun ContainerStatusUnknown DeadlineExceeded Error Evicted OOMKilled StartError"
)

RUNTIME_CALLS = _names(
    """
    CreateContainer ExecSync PullImage RemoveContainer RemoveImage RemovePodSandbox RunPodSandbox StartContainer
    StopContainer StopPodSandbox UpdateContainerResources UpdatePodSandboxResources
    """
)
CNI_COMMANDS = _names("ADD CHECK DEL GC STATUS VERSION")
API_VERBS = _names("create delete patch update")
# Kubelet writes that the trace does not record.
UNCOUNTED = ("events", "leases", "create nodes")
UNCOUNTED_REMEDY = "ask for an event, or for the object: exists, field"

"""Declarations of the other kinds in the in-memory API server, in the format of `tables.py`.

Times with microseconds (`MicroTime`) and bytes (`Bytes`, base64 text) keep their original text.

Mirrors: k8s.io/api core/v1, coordination/v1, scheduling/v1, node/v1, policy/v1 types.go
"""

from __future__ import annotations

KINDS = """
NodeConfigSource: configMap *ConfigMapNodeConfigSource
ConfigMapNodeConfigSource: namespace! string, name! string, uid UID, resourceVersion string, kubeletConfigKey! string
NodeDaemonEndpoints: kubeletEndpoint DaemonEndpoint
DaemonEndpoint: Port! int32
NodeSystemInfo: machineID! string, systemUUID! string, bootID! string, kernelVersion! string, osImage! string,
  containerRuntimeVersion! string, kubeletVersion! string, kubeProxyVersion! string, operatingSystem! string,
  architecture! string, swap *NodeSwapStatus
NodeSwapStatus: capacity *int64
ContainerImage: names! []string, sizeBytes int64
AttachedVolume: name! UniqueVolumeName, devicePath! string
NodeConfigStatus: assigned *NodeConfigSource, active *NodeConfigSource, lastKnownGood *NodeConfigSource, error string
NodeRuntimeHandler: name! string, features *NodeRuntimeHandlerFeatures
NodeRuntimeHandlerFeatures: recursiveReadOnlyMounts *bool, userNamespaces *bool
EventSeries: count int32, lastObservedTime MicroTime
ConfigMap: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, immutable *bool, data map[string]string,
  binaryData map[string]Bytes
Secret: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, immutable *bool, data map[string]Bytes,
  stringData map[string]string, type SecretType
Namespace: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec NamespaceSpec, status
  NamespaceStatus
NamespaceSpec: finalizers []FinalizerName
NamespaceStatus: phase NamespacePhase, conditions+type []NamespaceCondition
NamespaceCondition: type! NamespaceConditionType, status! ConditionStatus, lastTransitionTime Time, reason string,
  message string
ServiceAccount: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, secrets+name []ObjectReference,
  imagePullSecrets []LocalObjectReference, automountServiceAccountToken *bool
Lease: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec LeaseSpec
LeaseSpec: holderIdentity *string, leaseDurationSeconds *int32, acquireTime *MicroTime, renewTime *MicroTime,
  leaseTransitions *int32, strategy *CoordinatedLeaseStrategy, preferredHolder *string
PriorityClass: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, value! int32, globalDefault bool,
  description string, preemptionPolicy *PreemptionPolicy
RuntimeClass: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, handler! string, overhead
  *RuntimeClassOverhead, scheduling *RuntimeClassScheduling
RuntimeClassOverhead: podFixed ResourceList
RuntimeClassScheduling: nodeSelector map[string]string, tolerations []Toleration
Binding: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, target! ObjectReference
Eviction: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, deleteOptions *DeleteOptions
DeleteOptions: @TypeMeta, kind string, apiVersion string, @, gracePeriodSeconds *int64, preconditions *Preconditions,
  orphanDependents *bool, propagationPolicy *DeletionPropagation, dryRun []string,
  ignoreStoreReadErrorWithClusterBreakingPotential *bool
Preconditions: uid *UID, resourceVersion *string
"""

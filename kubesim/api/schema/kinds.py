"""The other kinds that the in-memory API server has, declared as in `tables.py`.

Times with microseconds (`MicroTime`) and bytes (`Bytes`, base64 text) keep the text they came as.

Mirrors: k8s.io/api core/v1, coordination/v1, scheduling/v1, node/v1, policy/v1 types.go
"""

from __future__ import annotations

KINDS = """
Node: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec NodeSpec, status NodeStatus
NodeSpec: podCIDR string, podCIDRs []string, providerID string, unschedulable bool, taints []Taint, configSource
  *NodeConfigSource, externalID string
Taint: key! string, value string, effect! TaintEffect, timeAdded *Time
NodeConfigSource: configMap *ConfigMapNodeConfigSource
ConfigMapNodeConfigSource: namespace! string, name! string, uid UID, resourceVersion string, kubeletConfigKey! string
NodeStatus: capacity ResourceList, allocatable ResourceList, phase NodePhase, conditions []NodeCondition, addresses
  []NodeAddress, daemonEndpoints NodeDaemonEndpoints, nodeInfo NodeSystemInfo, images []ContainerImage, volumesInUse
  []UniqueVolumeName, volumesAttached []AttachedVolume, config *NodeConfigStatus, runtimeHandlers
  []NodeRuntimeHandler, features *NodeFeatures, declaredFeatures []string
NodeCondition: type! NodeConditionType, status! ConditionStatus, lastHeartbeatTime Time, lastTransitionTime Time,
  reason string, message string
NodeAddress: type! NodeAddressType, address! string
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
NodeFeatures: supplementalGroupsPolicy *bool
Event: @TypeMeta, kind string, apiVersion string, @, metadata! ObjectMeta, involvedObject! ObjectReference, reason
  string, message string, source EventSource, firstTimestamp Time, lastTimestamp Time, count int32, type string,
  eventTime MicroTime, series *EventSeries, action string, related *ObjectReference, reportingComponent! string,
  reportingInstance! string
EventSeries: count int32, lastObservedTime MicroTime
EventSource: component string, host string
ObjectReference: kind string, namespace string, name string, uid UID, apiVersion string, resourceVersion string,
  fieldPath string
ConfigMap: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, immutable *bool, data map[string]string,
  binaryData map[string]Bytes
Secret: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, immutable *bool, data map[string]Bytes,
  stringData map[string]string, type SecretType
Namespace: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec NamespaceSpec, status
  NamespaceStatus
NamespaceSpec: finalizers []FinalizerName
NamespaceStatus: phase NamespacePhase, conditions []NamespaceCondition
NamespaceCondition: type! NamespaceConditionType, status! ConditionStatus, lastTransitionTime Time, reason string,
  message string
ServiceAccount: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, secrets []ObjectReference,
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

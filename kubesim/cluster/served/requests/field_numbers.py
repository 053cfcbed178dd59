"""Protobuf field numbers of the API types.

Format: `Type: field field 7=field`. Fields are numbered from 1. Each follows the previous one unless it names its own
number.

Mirrors: the generated.proto files of k8s.io/api and apimachinery
"""

NUMBERS = """
AWSElasticBlockStoreVolumeSource: volumeID fsType partition readOnly
AccountTokenRequest: metadata spec status
Affinity: nodeAffinity podAffinity podAntiAffinity
AggregationRule: clusterRoleSelectors
AllocatedDeviceStatus: driver pool device conditions data networkData shareID
AllocationResult: devices 3=nodeSelector 5=allocationTimestamp
AppArmorProfile: type localhostProfile
AttachedVolume: name devicePath
AzureDiskVolumeSource: diskName diskURI cachingMode fsType readOnly kind
AzureFilePersistentVolumeSource: secretName shareName readOnly secretNamespace
AzureFileVolumeSource: secretName shareName readOnly
Binding: metadata target
BoundObjectReference: kind apiVersion name uid
CELDeviceSelector: expression
CPUAutoscaler: metadata spec status
CPUAutoscalerSpec: scaleTargetRef minReplicas maxReplicas targetCPUUtilizationPercentage
CPUAutoscalerStatus: observedGeneration lastScaleTime currentReplicas desiredReplicas currentCPUUtilizationPercentage
CSIDriver: metadata spec
CSIDriverSpec: attachRequired podInfoOnMount volumeLifecycleModes storageCapacity fsGroupPolicy tokenRequests
  requiresRepublish seLinuxMount nodeAllocatableUpdatePeriodSeconds serviceAccountTokenInSecrets
  preventPodSchedulingIfMissing
CSINode: metadata spec
CSINodeDriver: name nodeID topologyKeys allocatable
CSINodeSpec: drivers
CSIPersistentVolumeSource: driver volumeHandle readOnly fsType volumeAttributes controllerPublishSecretRef
  nodeStageSecretRef nodePublishSecretRef controllerExpandSecretRef nodeExpandSecretRef
CSIVolumeSource: driver readOnly fsType volumeAttributes nodePublishSecretRef
Capabilities: add drop
CapacityRequestPolicy: default 3=validValues validRange
CapacityRequestPolicyRange: min max step
CapacityRequirements: requests
CephFSPersistentVolumeSource: monitors path user secretFile secretRef readOnly
CephFSVolumeSource: monitors path user secretFile secretRef readOnly
CinderPersistentVolumeSource: volumeID fsType readOnly secretRef
CinderVolumeSource: volumeID fsType readOnly secretRef
ClientIPConfig: timeoutSeconds
ClusterRole: metadata rules aggregationRule
ClusterRoleBinding: metadata subjects roleRef
ClusterTrustBundleProjection: name signerName labelSelector path optional
Condition: type status observedGeneration lastTransitionTime reason message
ConfigMap: metadata data binaryData immutable
ConfigMapEnvSource: localObjectReference optional
ConfigMapKeySelector: localObjectReference key optional
ConfigMapNodeConfigSource: namespace name uid resourceVersion kubeletConfigKey
ConfigMapProjection: localObjectReference items 4=optional
ConfigMapVolumeSource: localObjectReference items defaultMode optional
Container: name image command args workingDir ports env resources volumeMounts livenessProbe readinessProbe lifecycle
  terminationMessagePath imagePullPolicy securityContext stdin stdinOnce tty envFrom terminationMessagePolicy
  volumeDevices startupProbe resizePolicy restartPolicy restartPolicyRules
ContainerExtendedResourceRequest: containerName resourceName requestName
ContainerImage: names sizeBytes
ContainerPort: name hostPort containerPort protocol hostIP
ContainerResizePolicy: resourceName restartPolicy
ContainerResourceClaim: name request
ContainerResourceMetricSource: name target container
ContainerResourceMetricStatus: name current container
ContainerRestartRule: action exitCodes
ContainerRestartRuleOnExitCodes: operator values
ContainerState: waiting running terminated
ContainerStateRunning: startedAt
ContainerStateTerminated: exitCode signal reason message startedAt finishedAt containerID
ContainerStateWaiting: reason message
ContainerStatus: name state lastState ready restartCount image imageID containerID started allocatedResources resources
  volumeMounts user allocatedResourcesStatus stopSignal
ContainerUser: linux
ControllerRevision: metadata data revision
Counter: value
CounterSet: name counters
CronJob: metadata spec status
CronJobSpec: schedule startingDeadlineSeconds concurrencyPolicy suspend jobTemplate successfulJobsHistoryLimit
  failedJobsHistoryLimit timeZone
CronJobStatus: active 4=lastScheduleTime lastSuccessfulTime
CrossVersionObjectReference: kind name apiVersion
DaemonEndpoint: Port
DaemonSet: metadata spec status
DaemonSetCondition: type status lastTransitionTime reason message
DaemonSetSpec: selector template updateStrategy minReadySeconds 6=revisionHistoryLimit
DaemonSetStatus: currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady observedGeneration
  updatedNumberScheduled numberAvailable numberUnavailable collisionCount conditions
DaemonSetUpdateStrategy: type rollingUpdate
DeleteOptions: gracePeriodSeconds preconditions orphanDependents propagationPolicy dryRun
  ignoreStoreReadErrorWithClusterBreakingPotential
Deployment: metadata spec status
DeploymentCondition: type status 4=reason message lastUpdateTime lastTransitionTime
DeploymentSpec: replicas selector template strategy minReadySeconds revisionHistoryLimit paused
  9=progressDeadlineSeconds
DeploymentStatus: observedGeneration replicas updatedReplicas availableReplicas unavailableReplicas conditions
  readyReplicas collisionCount terminatingReplicas
DeploymentStrategy: type rollingUpdate
Device: name attributes capacity consumesCounters nodeName nodeSelector allNodes taints bindsToNode bindingConditions
  bindingFailureConditions allowMultipleAllocations nodeAllocatableResourceMappings
DeviceAllocationConfiguration: source requests deviceConfiguration
DeviceAllocationResult: results config
DeviceAttribute: 2=int bool string version ints bools strings versions
DeviceCapacity: value requestPolicy
DeviceClaim: requests constraints config
DeviceClaimConfiguration: requests deviceConfiguration
DeviceClass: metadata spec
DeviceClassConfiguration: deviceConfiguration
DeviceClassSpec: selectors config 4=extendedResourceName
DeviceConfiguration: opaque
DeviceConstraint: requests matchAttribute distinctAttribute
DeviceCounterConsumption: counterSet counters
DeviceRequest: name exactly firstAvailable
DeviceRequestAllocationResult: request driver pool device adminAccess tolerations bindingConditions
  bindingFailureConditions shareID consumedCapacity
DeviceSelector: cel
DeviceSubRequest: name deviceClassName selectors allocationMode count tolerations capacity
DeviceTaint: key value effect timeAdded
DeviceToleration: key operator value effect tolerationSeconds
DownwardAPIProjection: items
DownwardAPIVolumeFile: path fieldRef resourceFieldRef mode
DownwardAPIVolumeSource: items defaultMode
EmptyDirVolumeSource: medium sizeLimit
Endpoint: addresses conditions hostname targetRef deprecatedTopology nodeName zone hints
EndpointAddress: ip targetRef hostname nodeName
EndpointConditions: ready serving terminating
EndpointHints: forZones forNodes
EndpointPort: name port protocol appProtocol
EndpointSlice: metadata endpoints ports addressType
EndpointSubset: addresses notReadyAddresses ports
EndpointSubsetPort: name port protocol appProtocol
Endpoints: metadata subsets
EnvFromSource: prefix configMapRef secretRef
EnvVar: name value valueFrom
EnvVarSource: fieldRef resourceFieldRef configMapKeyRef secretKeyRef fileKeyRef
EphemeralContainer: ephemeralContainerCommon targetContainerName
EphemeralContainerCommon: name image command args workingDir ports env resources volumeMounts livenessProbe
  readinessProbe lifecycle terminationMessagePath imagePullPolicy securityContext stdin stdinOnce tty envFrom
  terminationMessagePolicy volumeDevices startupProbe resizePolicy restartPolicy restartPolicyRules
EphemeralVolumeSource: volumeClaimTemplate
Event: metadata involvedObject reason message source firstTimestamp lastTimestamp count type eventTime series action
  related reportingComponent reportingInstance
EventSeries: count lastObservedTime
EventSource: component host
Eviction: metadata deleteOptions
ExactDeviceRequest: deviceClassName selectors allocationMode count adminAccess tolerations capacity
ExecAction: command
ExternalMetricSource: metric target
ExternalMetricStatus: metric current
FCVolumeSource: targetWWNs lun fsType readOnly wwids
FileKeySelector: volumeName path key optional
FlexPersistentVolumeSource: driver fsType secretRef readOnly options
FlexVolumeSource: driver fsType secretRef readOnly options
FlockerVolumeSource: datasetName datasetUUID
ForNode: name
ForZone: name
GCEPersistentDiskVolumeSource: pdName fsType partition readOnly
GRPCAction: port service
GitRepoVolumeSource: repository revision directory
GlusterfsPersistentVolumeSource: endpoints path readOnly endpointsNamespace
GlusterfsVolumeSource: endpoints path readOnly
HPAScalingPolicy: type value periodSeconds
HPAScalingRules: selectPolicy policies stabilizationWindowSeconds tolerance
HTTPGetAction: path port host scheme httpHeaders
HTTPHeader: name value
HTTPIngressPath: path backend pathType
HTTPIngressRuleValue: paths
HorizontalPodAutoscaler: metadata spec status
HorizontalPodAutoscalerBehavior: scaleUp scaleDown
HorizontalPodAutoscalerCondition: type status lastTransitionTime reason message
HorizontalPodAutoscalerSpec: scaleTargetRef minReplicas maxReplicas metrics behavior
HorizontalPodAutoscalerStatus: observedGeneration lastScaleTime currentReplicas desiredReplicas currentMetrics
  conditions
HostAlias: ip hostnames
HostIP: ip
HostPathVolumeSource: path type
IPBlock: cidr except
ISCSIPersistentVolumeSource: targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery 10=secretRef
  chapAuthSession initiatorName
ISCSIVolumeSource: targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery 10=secretRef
  chapAuthSession initiatorName
ImageVolumeSource: reference pullPolicy
ImageVolumeStatus: imageRef
Ingress: metadata spec status
IngressBackend: 3=resource service
IngressClass: metadata spec
IngressClassParametersReference: apiGroup kind name scope namespace
IngressClassSpec: controller parameters
IngressLoadBalancerIngress: ip hostname 4=ports
IngressLoadBalancerStatus: ingress
IngressPortStatus: port protocol error
IngressRule: host ingressRuleValue
IngressRuleValue: http
IngressServiceBackend: name port
IngressSpec: defaultBackend tls rules ingressClassName
IngressStatus: loadBalancer
IngressTLS: hosts secretName
Job: metadata spec status
JobCondition: type status lastProbeTime lastTransitionTime reason message
JobSpec: parallelism completions activeDeadlineSeconds selector manualSelector template backoffLimit
  ttlSecondsAfterFinished completionMode suspend podFailurePolicy backoffLimitPerIndex maxFailedIndexes
  podReplacementPolicy managedBy successPolicy
JobStatus: conditions startTime completionTime active succeeded failed completedIndexes uncountedTerminatedPods ready
  failedIndexes terminating
JobTemplateSpec: metadata spec
KeyToPath: key path mode
LabelSelector: matchLabels matchExpressions
LabelSelectorRequirement: key operator values
Lease: metadata spec
LeaseSpec: holderIdentity leaseDurationSeconds acquireTime renewTime leaseTransitions strategy preferredHolder
Lifecycle: postStart preStop stopSignal
LifecycleHandler: exec httpGet tcpSocket sleep
LimitRange: metadata spec
LimitRangeItem: type max min default defaultRequest maxLimitRequestRatio
LimitRangeSpec: limits
LinuxContainerUser: uid gid supplementalGroups
ListMeta: selfLink resourceVersion continue remainingItemCount shardInfo
LoadBalancerIngress: ip hostname ipMode ports
LoadBalancerStatus: ingress
LocalObjectReference: name
LocalSubjectAccessReview: metadata spec status
LocalVolumeSource: path fsType
ManagedFieldsEntry: manager operation apiVersion time 6=fieldsType fieldsV1 subresource
MetricIdentifier: name selector
MetricSpec: type object pods resource external 7=containerResource
MetricStatus: type object pods resource external 7=containerResource
MetricTarget: type value averageValue averageUtilization
MetricValueStatus: value averageValue averageUtilization
ModifyVolumeStatus: targetVolumeAttributesClassName status
NFSVolumeSource: server path readOnly
Namespace: metadata spec status
NamespaceCondition: type status 4=lastTransitionTime reason message
NamespaceSpec: finalizers
NamespaceStatus: phase conditions
NetworkDeviceData: interfaceName ips hardwareAddress
NetworkPolicy: metadata spec
NetworkPolicyEgressRule: ports to
NetworkPolicyIngressRule: ports from
NetworkPolicyPeer: podSelector namespaceSelector ipBlock
NetworkPolicyPort: protocol port endPort
NetworkPolicySpec: podSelector ingress egress policyTypes
Node: metadata spec status
NodeAddress: type address
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution
NodeAllocatableResourceClaimStatus: resourceClaimName containers resources
NodeAllocatableResourceMapping: capacityKey allocationMultiplier
NodeCondition: type status lastHeartbeatTime lastTransitionTime reason message
NodeConfigSource: 2=configMap
NodeConfigStatus: assigned active lastKnownGood error
NodeDaemonEndpoints: kubeletEndpoint
NodeFeatures: supplementalGroupsPolicy
NodeRuntimeHandler: name features
NodeRuntimeHandlerFeatures: recursiveReadOnlyMounts userNamespaces
NodeSelector: nodeSelectorTerms
NodeSelectorRequirement: key operator values
NodeSelectorTerm: matchExpressions matchFields
NodeSpec: podCIDR externalID providerID unschedulable taints configSource podCIDRs
NodeStatus: capacity allocatable phase conditions addresses daemonEndpoints nodeInfo images volumesInUse
  volumesAttached config runtimeHandlers features declaredFeatures
NodeSwapStatus: capacity
NodeSystemInfo: machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion kubeletVersion
  kubeProxyVersion operatingSystem architecture swap
NonResourceAttributes: path verb
ObjectFieldSelector: apiVersion fieldPath
ObjectMeta: name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp
  deletionGracePeriodSeconds labels annotations ownerReferences finalizers 17=managedFields
ObjectMetricSource: describedObject target metric
ObjectMetricStatus: metric current describedObject
ObjectReference: kind namespace name uid apiVersion resourceVersion fieldPath
OpaqueDeviceConfiguration: driver parameters
OwnerReference: kind 3=name uid apiVersion controller blockOwnerDeletion
PartialObjectMetadata: metadata
PersistentVolume: metadata spec status
PersistentVolumeClaim: metadata spec status
PersistentVolumeClaimCondition: type status lastProbeTime lastTransitionTime reason message
PersistentVolumeClaimSpec: accessModes resources volumeName selector storageClassName volumeMode dataSource
  dataSourceRef volumeAttributesClassName
PersistentVolumeClaimStatus: phase accessModes capacity conditions allocatedResources 7=allocatedResourceStatuses
  currentVolumeAttributesClassName modifyVolumeStatus
PersistentVolumeClaimTemplate: metadata spec
PersistentVolumeClaimVolumeSource: claimName readOnly
PersistentVolumeSource: gcePersistentDisk awsElasticBlockStore hostPath glusterfs nfs rbd iscsi cinder cephfs fc
  flocker flexVolume azureFile vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO local
  storageos csi
PersistentVolumeSpec: capacity persistentVolumeSource accessModes claimRef persistentVolumeReclaimPolicy
  storageClassName mountOptions volumeMode nodeAffinity volumeAttributesClassName
PersistentVolumeStatus: phase message reason lastPhaseTransitionTime
PhotonPersistentDiskVolumeSource: pdID fsType
Pod: metadata spec status
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution
PodAffinityTerm: labelSelector namespaces topologyKey namespaceSelector matchLabelKeys mismatchLabelKeys
PodAntiAffinity: requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution
PodCertificateProjection: signerName keyType maxExpirationSeconds credentialBundlePath keyPath certificateChainPath
  userAnnotations
PodCondition: type status lastProbeTime lastTransitionTime reason message observedGeneration
PodDNSConfig: nameservers searches options
PodDNSConfigOption: name value
PodDisruptionBudget: metadata spec status
PodDisruptionBudgetSpec: minAvailable selector maxUnavailable unhealthyPodEvictionPolicy
PodDisruptionBudgetStatus: observedGeneration disruptedPods disruptionsAllowed currentHealthy desiredHealthy
  expectedPods conditions
PodExtendedResourceClaimStatus: requestMappings resourceClaimName
PodFailurePolicy: rules
PodFailurePolicyOnExitCodesRequirement: containerName operator values
PodFailurePolicyOnPodConditionsPattern: type status
PodFailurePolicyRule: action onExitCodes onPodConditions
PodIP: ip
PodList: metadata items
PodOS: name
PodReadinessGate: conditionType
PodResourceClaim: name 3=resourceClaimName resourceClaimTemplateName
PodResourceClaimStatus: name resourceClaimName
PodSchedulingGate: name
PodSchedulingGroup: podGroupName
PodSecurityContext: seLinuxOptions runAsUser runAsNonRoot supplementalGroups fsGroup runAsGroup sysctls windowsOptions
  fsGroupChangePolicy seccompProfile appArmorProfile supplementalGroupsPolicy seLinuxChangePolicy
PodSpec: volumes containers restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy nodeSelector
  serviceAccountName serviceAccount nodeName hostNetwork hostPID hostIPC securityContext imagePullSecrets hostname
  subdomain affinity schedulerName initContainers automountServiceAccountToken tolerations hostAliases
  priorityClassName priority dnsConfig shareProcessNamespace readinessGates runtimeClassName enableServiceLinks
  preemptionPolicy overhead topologySpreadConstraints ephemeralContainers setHostnameAsFQDN os hostUsers
  schedulingGates resourceClaims resources hostnameOverride 43=schedulingGroup
PodStatus: phase conditions message reason hostIP podIP startTime containerStatuses qosClass initContainerStatuses
  nominatedNodeName podIPs ephemeralContainerStatuses resize resourceClaimStatuses hostIPs observedGeneration
  extendedResourceClaimStatus allocatedResources resources nodeAllocatableResourceClaimStatuses
PodTemplate: metadata template
PodTemplateSpec: metadata spec
PodsMetricSource: metric target
PodsMetricStatus: metric current
PolicyRule: verbs apiGroups resources resourceNames nonResourceURLs
PortStatus: port protocol error
PortworxVolumeSource: volumeID fsType readOnly
Preconditions: uid resourceVersion
PreferredSchedulingTerm: weight preference
PriorityClass: metadata value globalDefault description preemptionPolicy
Probe: handler 2=initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold
  terminationGracePeriodSeconds
ProbeHandler: exec httpGet tcpSocket grpc
ProjectedVolumeSource: sources defaultMode
QuobyteVolumeSource: registry volume readOnly user group tenant
RBDPersistentVolumeSource: monitors image fsType pool user keyring secretRef readOnly
RBDVolumeSource: monitors image fsType pool user keyring secretRef readOnly
RegardingEvent: metadata eventTime series reportingController reportingInstance action reason regarding related note
  type deprecatedSource deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedCount
ReplicaSet: metadata spec status
ReplicaSetCondition: type status lastTransitionTime reason message
ReplicaSetSpec: replicas selector template minReadySeconds
ReplicaSetStatus: replicas fullyLabeledReplicas observedGeneration readyReplicas availableReplicas conditions
  terminatingReplicas
ReplicationController: metadata spec status
ReplicationControllerCondition: type status lastTransitionTime reason message
ReplicationControllerSpec: replicas selector template minReadySeconds
ReplicationControllerStatus: replicas fullyLabeledReplicas observedGeneration readyReplicas availableReplicas
  conditions
ResourceAttributes: namespace verb group version resource subresource name fieldSelector labelSelector
ResourceClaim: metadata spec status
ResourceClaimConsumerReference: apiGroup 3=resource name uid
ResourceClaimSpec: devices
ResourceClaimStatus: allocation reservedFor 4=devices
ResourceClaimTemplate: metadata spec
ResourceClaimTemplateSpec: metadata spec
ResourceFieldSelector: containerName resource divisor
ResourceHealth: resourceID health 6=message
ResourceMetricSource: name target
ResourceMetricStatus: name current
ResourcePool: name generation resourceSliceCount
ResourceQuota: metadata spec status
ResourceQuotaSpec: hard scopes scopeSelector
ResourceQuotaStatus: hard used
ResourceRequirements: limits requests claims
ResourceSlice: metadata spec
ResourceSliceSpec: driver pool nodeName nodeSelector allNodes devices perDeviceNodeSelection sharedCounters
ResourceStatus: name resources
Role: metadata rules
RoleBinding: metadata subjects roleRef
RoleRef: apiGroup kind name
RollingUpdateDaemonSet: maxUnavailable maxSurge
RollingUpdateDeployment: maxUnavailable maxSurge
RollingUpdateStatefulSetStrategy: partition maxUnavailable
RuntimeClass: metadata handler overhead scheduling
RuntimeClassOverhead: podFixed
RuntimeClassScheduling: nodeSelector tolerations
SELinuxOptions: user role type level
Scale: metadata spec status
ScaleIOPersistentVolumeSource: gateway system secretRef sslEnabled protectionDomain storagePool storageMode volumeName
  fsType readOnly
ScaleIOVolumeSource: gateway system secretRef sslEnabled protectionDomain storagePool storageMode volumeName fsType
  readOnly
ScaleSpec: replicas
ScaleStatus: replicas selector
ScopeSelector: matchExpressions
ScopedResourceSelectorRequirement: scopeName operator values
SeccompProfile: type localhostProfile
Secret: metadata data type stringData immutable
SecretEnvSource: localObjectReference optional
SecretKeySelector: localObjectReference key optional
SecretProjection: localObjectReference items 4=optional
SecretReference: name namespace
SecretVolumeSource: secretName items defaultMode optional
SecurityContext: capabilities privileged seLinuxOptions runAsUser runAsNonRoot readOnlyRootFilesystem
  allowPrivilegeEscalation runAsGroup procMount windowsOptions seccompProfile appArmorProfile
SelfSubjectAccessReview: metadata spec status
SelfSubjectAccessReviewSpec: resourceAttributes nonResourceAttributes
SelfSubjectReview: metadata status
SelfSubjectReviewStatus: userInfo
SelfSubjectRulesReview: metadata spec status
SelfSubjectRulesReviewSpec: namespace
Service: metadata spec status
ServiceAccount: metadata secrets imagePullSecrets automountServiceAccountToken
ServiceAccountTokenProjection: audience expirationSeconds path
ServiceBackendPort: name number
ServicePort: name protocol port targetPort nodePort appProtocol
ServiceSpec: ports selector clusterIP type externalIPs 7=sessionAffinity loadBalancerIP loadBalancerSourceRanges
  externalName externalTrafficPolicy healthCheckNodePort publishNotReadyAddresses sessionAffinityConfig
  17=ipFamilyPolicy clusterIPs ipFamilies allocateLoadBalancerNodePorts loadBalancerClass internalTrafficPolicy
  trafficDistribution
ServiceStatus: loadBalancer conditions
SessionAffinityConfig: clientIP
ShardInfo: selector
SleepAction: seconds
StatefulSet: metadata spec status
StatefulSetCondition: type status lastTransitionTime reason message
StatefulSetOrdinals: start
StatefulSetPersistentVolumeClaimRetentionPolicy: whenDeleted whenScaled
StatefulSetSpec: replicas selector template volumeClaimTemplates serviceName podManagementPolicy updateStrategy
  revisionHistoryLimit minReadySeconds persistentVolumeClaimRetentionPolicy ordinals
StatefulSetStatus: observedGeneration replicas readyReplicas currentReplicas updatedReplicas currentRevision
  updateRevision 9=collisionCount conditions availableReplicas
StatefulSetUpdateStrategy: type rollingUpdate
Status: metadata status message reason details code
StatusCause: reason message field
StatusDetails: name group kind causes retryAfterSeconds uid
StorageClass: metadata provisioner parameters reclaimPolicy mountOptions allowVolumeExpansion volumeBindingMode
  allowedTopologies
StorageOSPersistentVolumeSource: volumeName volumeNamespace fsType readOnly secretRef
StorageOSVolumeSource: volumeName volumeNamespace fsType readOnly secretRef
Subject: kind apiGroup name namespace
SubjectAccessReview: metadata spec status
SubjectAccessReviewSpec: resourceAttributes nonResourceAttributes user groups extra uid
SubjectAccessReviewStatus: allowed reason evaluationError denied
SuccessPolicy: rules
SuccessPolicyRule: succeededIndexes succeededCount
Sysctl: name value
TCPSocketAction: port host
Taint: key value effect timeAdded
TokenRequest: audience expirationSeconds
TokenRequestSpec: audiences 3=boundObjectRef expirationSeconds
TokenRequestStatus: token expirationTimestamp
TokenReview: metadata spec status
TokenReviewSpec: token audiences
TokenReviewStatus: authenticated user error audiences
Toleration: key operator value effect tolerationSeconds
TopologySelectorLabelRequirement: key values
TopologySelectorTerm: matchLabelExpressions
TopologySpreadConstraint: maxSkew topologyKey whenUnsatisfiable labelSelector minDomains nodeAffinityPolicy
  nodeTaintsPolicy matchLabelKeys
TypedLocalObjectReference: apiGroup kind name
TypedObjectReference: apiGroup kind name namespace
UncountedTerminatedPods: succeeded failed
UserInfo: username uid groups extra
Volume: name volumeSource
VolumeAttachment: metadata spec status
VolumeAttachmentSource: persistentVolumeName inlineVolumeSpec
VolumeAttachmentSpec: attacher source nodeName
VolumeAttachmentStatus: attached attachmentMetadata attachError detachError
VolumeAttributesClass: metadata driverName parameters
VolumeDevice: name devicePath
VolumeError: time message errorCode
VolumeMount: name readOnly mountPath subPath mountPropagation subPathExpr recursiveReadOnly
VolumeMountStatus: name mountPath readOnly recursiveReadOnly volumeStatus
VolumeNodeAffinity: required
VolumeNodeResources: count
VolumeProjection: secret downwardAPI configMap serviceAccountToken clusterTrustBundle podCertificate
VolumeResourceRequirements: limits requests
VolumeSource: hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi glusterfs
  persistentVolumeClaim rbd flexVolume cinder cephfs flocker downwardAPI fc azureFile configMap vsphereVolume quobyte
  azureDisk photonPersistentDisk portworxVolume scaleIO projected storageos csi ephemeral image
VolumeStatus: image
VsphereVirtualDiskVolumeSource: volumePath fsType storagePolicyName storagePolicyID
WeightedPodAffinityTerm: weight podAffinityTerm
WindowsSecurityContextOptions: gmsaCredentialSpecName gmsaCredentialSpec runAsUserName hostProcess
"""

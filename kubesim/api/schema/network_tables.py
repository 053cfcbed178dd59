"""Declarations of kinds for network, autoscaling and access, and of pod templates; see `tables.py`.

Mirrors: k8s.io/api networking/v1, autoscaling/v2, rbac/v1, core/v1 types.go
"""

from __future__ import annotations

NETWORK = """
NetworkPolicy: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec NetworkPolicySpec
NetworkPolicySpec: podSelector! LabelSelector, ingress []NetworkPolicyIngressRule, egress []NetworkPolicyEgressRule,
  policyTypes []PolicyType
NetworkPolicyIngressRule: ports []NetworkPolicyPort, from []NetworkPolicyPeer
NetworkPolicyEgressRule: ports []NetworkPolicyPort, to []NetworkPolicyPeer
NetworkPolicyPort: protocol *Protocol, port *IntOrString, endPort *int32
NetworkPolicyPeer: podSelector *LabelSelector, namespaceSelector *LabelSelector, ipBlock *IPBlock
IPBlock: cidr! string, except []string
Ingress: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec IngressSpec, status IngressStatus
IngressSpec: ingressClassName *string, defaultBackend *IngressBackend, tls []IngressTLS, rules []IngressRule
IngressTLS: hosts []string, secretName string
IngressRule: host string, @IngressRuleValue, http *HTTPIngressRuleValue, @
HTTPIngressRuleValue: paths! []HTTPIngressPath
HTTPIngressPath: path string, pathType! *PathType, backend! IngressBackend
IngressBackend: service *IngressServiceBackend, resource *TypedLocalObjectReference
IngressServiceBackend: name! string, port ServiceBackendPort
ServiceBackendPort: name string, number int32
IngressStatus: loadBalancer IngressLoadBalancerStatus
IngressLoadBalancerStatus: ingress []IngressLoadBalancerIngress
IngressLoadBalancerIngress: ip string, hostname string, ports []IngressPortStatus
IngressPortStatus: port! int32, protocol! Protocol, error *string
IngressClass: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec IngressClassSpec
IngressClassSpec: controller string, parameters *IngressClassParametersReference
IngressClassParametersReference: apiGroup *string, kind! string, name! string, scope! *string, namespace *string
Endpoints: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, subsets []EndpointSubset
EndpointSubset: addresses []EndpointAddress, notReadyAddresses []EndpointAddress, ports []EndpointSubsetPort
EndpointAddress: ip! string, hostname string, nodeName *string, targetRef *ObjectReference
EndpointSubsetPort: name string, port! int32, protocol Protocol, appProtocol *string
PodTemplate: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, template PodTemplateSpec
"""

AUTOSCALING = """
HorizontalPodAutoscaler: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec
  HorizontalPodAutoscalerSpec, status HorizontalPodAutoscalerStatus
CPUAutoscaler: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec CPUAutoscalerSpec, status
  CPUAutoscalerStatus
CPUAutoscalerSpec: scaleTargetRef! CrossVersionObjectReference, minReplicas *int32, maxReplicas! int32,
  targetCPUUtilizationPercentage *int32
CPUAutoscalerStatus: observedGeneration *int64, lastScaleTime *Time, currentReplicas! int32, desiredReplicas! int32,
  currentCPUUtilizationPercentage *int32
HorizontalPodAutoscalerSpec: scaleTargetRef! CrossVersionObjectReference, minReplicas *int32, maxReplicas! int32,
  metrics []MetricSpec, behavior *HorizontalPodAutoscalerBehavior
CrossVersionObjectReference: kind! string, name! string, apiVersion string
MetricSpec: type! MetricSourceType, object *ObjectMetricSource, pods *PodsMetricSource, resource *ResourceMetricSource,
  containerResource *ContainerResourceMetricSource, external *ExternalMetricSource
HorizontalPodAutoscalerBehavior: scaleUp *HPAScalingRules, scaleDown *HPAScalingRules
HPAScalingRules: stabilizationWindowSeconds *int32, selectPolicy *ScalingPolicySelect, policies []HPAScalingPolicy,
  tolerance *Quantity
HPAScalingPolicy: type! HPAScalingPolicyType, value! int32, periodSeconds! int32
ObjectMetricSource: describedObject! CrossVersionObjectReference, target! MetricTarget, metric! MetricIdentifier
PodsMetricSource: metric! MetricIdentifier, target! MetricTarget
ResourceMetricSource: name! ResourceName, target! MetricTarget
ContainerResourceMetricSource: name! ResourceName, target! MetricTarget, container! string
ExternalMetricSource: metric! MetricIdentifier, target! MetricTarget
MetricIdentifier: name! string, selector *LabelSelector
MetricTarget: type! MetricTargetType, value *Quantity, averageValue *Quantity, averageUtilization *int32
HorizontalPodAutoscalerStatus: observedGeneration *int64, lastScaleTime *Time, currentReplicas int32, desiredReplicas!
  int32, currentMetrics! []MetricStatus, conditions+type []HorizontalPodAutoscalerCondition
HorizontalPodAutoscalerCondition: type! HorizontalPodAutoscalerConditionType, status! ConditionStatus,
  lastTransitionTime Time, reason string, message string
MetricStatus: type! MetricSourceType, object *ObjectMetricStatus, pods *PodsMetricStatus, resource
  *ResourceMetricStatus, containerResource *ContainerResourceMetricStatus, external *ExternalMetricStatus
ObjectMetricStatus: metric! MetricIdentifier, current! MetricValueStatus, describedObject! CrossVersionObjectReference
PodsMetricStatus: metric! MetricIdentifier, current! MetricValueStatus
ResourceMetricStatus: name! ResourceName, current! MetricValueStatus
ContainerResourceMetricStatus: name! ResourceName, current! MetricValueStatus, container! string
ExternalMetricStatus: metric! MetricIdentifier, current! MetricValueStatus
MetricValueStatus: value *Quantity, averageValue *Quantity, averageUtilization *int32
"""

ACCESS = """
Role: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, rules! []PolicyRule
ClusterRole: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, rules! []PolicyRule, aggregationRule
  *AggregationRule
AggregationRule: clusterRoleSelectors []LabelSelector
PolicyRule: verbs! []string, apiGroups []string, resources []string, resourceNames []string, nonResourceURLs []string
RoleBinding: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, subjects []Subject, roleRef! RoleRef
ClusterRoleBinding: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, subjects []Subject, roleRef!
  RoleRef
Subject: kind! string, apiGroup string, name! string, namespace string
RoleRef: apiGroup! string, kind! string, name! string
"""

ALL = (NETWORK, AUTOSCALING, ACCESS)

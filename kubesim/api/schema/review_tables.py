"""Reviews, tokens and scales, which nobody stores, and Events of their own group, declared as in `tables.py`.

Mirrors: k8s.io/api authentication/v1, authorization/v1, autoscaling/v1, events/v1 types.go
"""

from __future__ import annotations

REVIEWS = """
RegardingEvent: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, eventTime! MicroTime, series
  *EventSeries, reportingController string, reportingInstance string, action string, reason string, regarding
  ObjectReference, related *ObjectReference, note string, type string, deprecatedSource EventSource,
  deprecatedFirstTimestamp Time, deprecatedLastTimestamp Time, deprecatedCount int32
TokenRequest: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec! TokenRequestSpec, status
  TokenRequestStatus
TokenRequestSpec: audiences! []string, expirationSeconds! *int64, boundObjectRef! *BoundObjectReference
TokenRequestStatus: token! string, expirationTimestamp! Time
BoundObjectReference: kind string, apiVersion string, name string, uid UID
TokenReview: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec! TokenReviewSpec, status
  TokenReviewStatus
TokenReviewSpec: token string, audiences []string
TokenReviewStatus: authenticated bool, user UserInfo, audiences []string, error string
UserInfo: username string, uid string, groups []string, extra map[string][]string
SelfSubjectReview: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, status SelfSubjectReviewStatus
SelfSubjectReviewStatus: userInfo UserInfo
SelfSubjectAccessReview: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec!
  SelfSubjectAccessReviewSpec, status SubjectAccessReviewStatus
SelfSubjectAccessReviewSpec: resourceAttributes *ResourceAttributes, nonResourceAttributes *NonResourceAttributes
SubjectAccessReview: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec! SubjectAccessReviewSpec,
  status SubjectAccessReviewStatus
LocalSubjectAccessReview: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec!
  SubjectAccessReviewSpec, status SubjectAccessReviewStatus
SubjectAccessReviewSpec: resourceAttributes *ResourceAttributes, nonResourceAttributes *NonResourceAttributes, user
  string, groups []string, extra map[string][]string, uid string
SubjectAccessReviewStatus: allowed! bool, denied bool, reason string, evaluationError string
ResourceAttributes: namespace string, verb string, group string, version string, resource string, subresource string,
  name string, fieldSelector *FieldSelectorAttributes, labelSelector *LabelSelectorAttributes
FieldSelectorAttributes: rawSelector string, requirements []FieldSelectorRequirement
FieldSelectorRequirement: key! string, operator! string, values []string
LabelSelectorAttributes: rawSelector string, requirements []LabelSelectorRequirement
NonResourceAttributes: path string, verb string
SelfSubjectRulesReview: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec!
  SelfSubjectRulesReviewSpec, status SubjectRulesReviewStatus
SelfSubjectRulesReviewSpec: namespace string
SubjectRulesReviewStatus: resourceRules! []ResourceRule, nonResourceRules! []NonResourceRule, incomplete! bool,
  evaluationError string
ResourceRule: verbs! []string, apiGroups []string, resources []string, resourceNames []string
NonResourceRule: verbs! []string, nonResourceURLs []string
Scale: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec ScaleSpec, status ScaleStatus
ScaleSpec: replicas int32
ScaleStatus: replicas! int32, selector string
"""

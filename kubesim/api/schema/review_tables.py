"""Declarations of types that are not stored (reviews, tokens, scales, statuses), and of Events in their own group.

The format is that of `tables.py`.

Mirrors: k8s.io/api authentication/v1, authorization/v1, autoscaling/v1, events/v1 types.go
"""

from __future__ import annotations

REVIEWS = """
RegardingEvent: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, eventTime! MicroTime, series
  *EventSeries, reportingController string, reportingInstance string, action string, reason string, regarding
  ObjectReference, related *ObjectReference, note string, type string, deprecatedSource EventSource,
  deprecatedFirstTimestamp Time, deprecatedLastTimestamp Time, deprecatedCount int32
AccountTokenRequest: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec! TokenRequestSpec, status
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
Status: @TypeMeta, kind string, apiVersion string, @, metadata ListMeta, status string, message string, reason
  StatusReason, details *StatusDetails, code int32
StatusDetails: name string, group string, kind string, uid UID, causes []StatusCause, retryAfterSeconds int32
StatusCause: reason CauseType, message string, field string
PartialObjectMetadata: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta
UndeclaredObject: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta
ResourceDefinition: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec! DefinitionSpec, status
  DefinitionStatus
DefinitionSpec: group! string, names! DefinitionNames, scope! string, versions! []DefinitionVersion, conversion
  *DefinitionConversion, preserveUnknownFields bool
DefinitionNames: plural! string, singular string, shortNames []string, kind! string, listKind string, categories
  []string
DefinitionVersion: name! string, served! bool, storage! bool, deprecated bool, deprecationWarning *string, schema
  *DefinitionSchema, subresources *DefinitionSubresources, additionalPrinterColumns []DefinitionColumn,
  selectableFields []DefinitionField
DefinitionSchema: openAPIV3Schema *SchemaProps
DefinitionSubresources: status *RawExtension, scale *DefinitionScale
DefinitionScale: specReplicasPath! string, statusReplicasPath! string, labelSelectorPath *string
DefinitionColumn: name! string, type! string, format string, description string, priority int32, jsonPath! string
DefinitionField: jsonPath! string
DefinitionConversion: strategy! string, webhook *RawExtension
DefinitionStatus: conditions! []Condition, acceptedNames! DefinitionNames, storedVersions! []string
SchemaProps: id string, $schema string, $ref *string, description string, type string, format string, title string,
  default *RawExtension, maximum *RawExtension, exclusiveMaximum bool, minimum *RawExtension, exclusiveMinimum bool,
  maxLength *int64, minLength *int64, pattern string, maxItems *int64, minItems *int64, uniqueItems bool, multipleOf
  *RawExtension, enum []RawExtension, maxProperties *int64, minProperties *int64, required []string, items *SchemaProps,
  allOf []SchemaProps, oneOf []SchemaProps, anyOf []SchemaProps, not *SchemaProps, properties map[string]SchemaProps,
  additionalProperties *RawExtension, patternProperties map[string]SchemaProps, example *RawExtension, nullable bool,
  x-kubernetes-preserve-unknown-fields *bool, x-kubernetes-embedded-resource bool, x-kubernetes-int-or-string bool,
  x-kubernetes-list-map-keys []string, x-kubernetes-list-type *string, x-kubernetes-map-type *string,
  x-kubernetes-validations []RawExtension
Scale: @TypeMeta, kind string, apiVersion string, @, metadata ObjectMeta, spec ScaleSpec, status ScaleStatus
ScaleSpec: replicas int32
ScaleStatus: replicas! int32, selector string
"""

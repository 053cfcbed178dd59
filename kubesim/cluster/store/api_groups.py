"""The API groups, versions and resources of an API server v1.36, for discovery.

Mirrors: pkg/controlplane/instance.go DefaultAPIResourceConfigSource, GenericStorageProviders (their order);
pkg/registry/*/rest storage_*.go; the ShortNames and Categories of the storages
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from kubesim.api.schema.versions.conversions import CONVERSIONS
from kubesim.cluster.store.kinds import BY_PATH, RESOURCES, Resource
from kubesim.values import value_object

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_SUBRESOURCE_VERBS = ("get", "patch", "update")

# group/version, then its resources: plural, kind (* if cluster-scoped), and `+subresource:kind=verbs` where they differ
# from the object's own.
_TABLE = """
v1:
  bindings Binding verbs=create
  componentstatuses ComponentStatus* verbs=get,list short=cs
  configmaps ConfigMap short=cm
  endpoints Endpoints short=ep
  events Event short=ev
  limitranges LimitRange short=limits
  namespaces Namespace* verbs=create,delete,get,list,patch,update,watch short=ns +finalize=update +status
  nodes Node* short=no +proxy:NodeProxyOptions=create,delete,get,patch,update +status
  persistentvolumeclaims PersistentVolumeClaim short=pvc +status
  persistentvolumes PersistentVolume* short=pv +status
  pods Pod short=po in=all +attach:PodAttachOptions=create,get +binding:Binding=create +ephemeralcontainers
    +eviction:policy/v1/Eviction=create +exec:PodExecOptions=create,get +log=get
    +portforward:PodPortForwardOptions=create,get +proxy:PodProxyOptions=create,delete,get,patch,update +resize
    +status
  podtemplates PodTemplate
  replicationcontrollers ReplicationController short=rc in=all +scale:autoscaling/v1/Scale +status
  resourcequotas ResourceQuota short=quota +status
  secrets Secret
  serviceaccounts ServiceAccount short=sa +token:authentication.k8s.io/v1/TokenRequest=create
  services Service short=svc in=all +proxy:ServiceProxyOptions=create,delete,get,patch,update +status
apiregistration.k8s.io/v1:
  apiservices APIService* in=api-extensions +status
apps/v1:
  controllerrevisions ControllerRevision
  daemonsets DaemonSet short=ds in=all +status
  deployments Deployment short=deploy in=all +scale:autoscaling/v1/Scale +status
  replicasets ReplicaSet short=rs in=all +scale:autoscaling/v1/Scale +status
  statefulsets StatefulSet short=sts in=all +scale:autoscaling/v1/Scale +status
events.k8s.io/v1:
  events Event short=ev
authentication.k8s.io/v1:
  selfsubjectreviews SelfSubjectReview* verbs=create
  tokenreviews TokenReview* verbs=create
authorization.k8s.io/v1:
  localsubjectaccessreviews LocalSubjectAccessReview verbs=create
  selfsubjectaccessreviews SelfSubjectAccessReview* verbs=create
  selfsubjectrulesreviews SelfSubjectRulesReview* verbs=create
  subjectaccessreviews SubjectAccessReview* verbs=create
autoscaling/v2:
  horizontalpodautoscalers HorizontalPodAutoscaler short=hpa in=all +status
autoscaling/v1:
  horizontalpodautoscalers HorizontalPodAutoscaler short=hpa in=all +status
batch/v1:
  cronjobs CronJob short=cj in=all +status
  jobs Job in=all +status
certificates.k8s.io/v1:
  certificatesigningrequests CertificateSigningRequest* short=csr +approval +status
networking.k8s.io/v1:
  ingressclasses IngressClass*
  ingresses Ingress short=ing +status
  ipaddresses IPAddress* short=ip
  networkpolicies NetworkPolicy short=netpol
  servicecidrs ServiceCIDR* +status
policy/v1:
  poddisruptionbudgets PodDisruptionBudget short=pdb +status
rbac.authorization.k8s.io/v1:
  clusterrolebindings ClusterRoleBinding*
  clusterroles ClusterRole*
  rolebindings RoleBinding
  roles Role
storage.k8s.io/v1:
  csidrivers CSIDriver*
  csinodes CSINode*
  csistoragecapacities CSIStorageCapacity
  storageclasses StorageClass* short=sc
  volumeattachments VolumeAttachment* +status
  volumeattributesclasses VolumeAttributesClass* short=vac
admissionregistration.k8s.io/v1:
  mutatingadmissionpolicies MutatingAdmissionPolicy* in=api-extensions
  mutatingadmissionpolicybindings MutatingAdmissionPolicyBinding* in=api-extensions
  mutatingwebhookconfigurations MutatingWebhookConfiguration* in=api-extensions
  validatingadmissionpolicies ValidatingAdmissionPolicy* in=api-extensions +status
  validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding* in=api-extensions
  validatingwebhookconfigurations ValidatingWebhookConfiguration* in=api-extensions
apiextensions.k8s.io/v1:
  customresourcedefinitions CustomResourceDefinition* short=crd,crds in=api-extensions +status
scheduling.k8s.io/v1:
  priorityclasses PriorityClass* short=pc
coordination.k8s.io/v1:
  leases Lease
node.k8s.io/v1:
  runtimeclasses RuntimeClass*
discovery.k8s.io/v1:
  endpointslices EndpointSlice
resource.k8s.io/v1:
  deviceclasses DeviceClass*
  resourceclaims ResourceClaim +status
  resourceclaimtemplates ResourceClaimTemplate
  resourceslices ResourceSlice*
flowcontrol.apiserver.k8s.io/v1:
  flowschemas FlowSchema* +status
  prioritylevelconfigurations PriorityLevelConfiguration* +status
"""


@value_object
class Subresource:
    """A subresource. `kind` is its input and output: `group/version/Kind`, or only the kind."""

    name: str
    kind: str
    verbs: tuple[str, ...] = _SUBRESOURCE_VERBS


@value_object
class ApiResource:
    """A resource in discovery."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    verbs: tuple[str, ...] = ALL_VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    singular_name: str = ""

    @property
    def group_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def singular(self) -> str:
        return self.singular_name or self.kind.lower()


@cache
def api_resources() -> Mapping[str, tuple[ApiResource, ...]]:
    """Resources by group and version, in the order of discovery."""
    found: dict[str, list[ApiResource]] = {}
    version = ""
    for line in _TABLE.replace("\n    ", " ").strip().splitlines():
        if not line.startswith(" "):
            version = line.rstrip(":")
            found[version] = []
        else:
            found[version].append(_parsed(version, line.split()))
    return {version: tuple(resources) for version, resources in found.items()}


def _parsed(group_version: str, words: list[str]) -> ApiResource:
    group, _, version = group_version.rpartition("/")
    plural, kind, *rest = words
    named = {
        name: tuple(value.split(",")) for name, _, value in (word.partition("=") for word in rest if word[0] != "+")
    }
    subresources = tuple(_subresource(kind.rstrip("*"), word[1:]) for word in rest if word[0] == "+")
    return ApiResource(
        group,
        version,
        plural,
        kind.rstrip("*"),
        not kind.endswith("*"),
        named.get("verbs", ALL_VERBS),
        named.get("short", ()),
        named.get("in", ()),
        subresources,
    )


def _subresource(kind: str, text: str) -> Subresource:
    named, _, verbs = text.partition("=")
    name, _, own_kind = named.partition(":")
    return Subresource(name, own_kind or kind, tuple(verbs.split(",")) if verbs else _SUBRESOURCE_VERBS)


def every_resource() -> Iterator[ApiResource]:
    for resources in api_resources().values():
        yield from resources


@cache
def resources_by_path() -> Mapping[tuple[str, str, str], Resource]:
    """Stored resources by group, version and plural."""
    found = {}
    for each in every_resource():
        declared = BY_PATH.get((each.group, each.plural))
        known = declared if declared is not None and each.version == declared.version else None
        found[(each.group, each.version, each.plural)] = known or _undeclared(each)
    return found


def _undeclared(each: ApiResource) -> Resource:
    """A resource with only its metadata declared; the rest is stored as sent."""
    return Resource(
        each.kind,
        each.plural,
        each.group,
        each.namespaced,
        tuple(subresource.name for subresource in each.subresources),
        each.short_names,
        each.categories,
        version=each.version,
        converted=(each.group_version, each.kind) in CONVERSIONS,
    )


@cache
def _api_resource(group: str, version: str, plural: str) -> ApiResource | None:
    """The resource in discovery; None for custom ones."""
    listed = api_resources().get(f"{group}/{version}" if group else version, ())
    return next((each for each in listed if each.plural == plural), None)


def subresources_of(group: str, version: str, plural: str) -> tuple[str, ...]:
    found = _api_resource(group, version, plural)
    return tuple(subresource.name for subresource in found.subresources) if found is not None else ()


@cache
def verbs_of(group: str, version: str, plural: str, subresource: str = "") -> tuple[str, ...]:
    """The verbs of a resource or of one of its subresources."""
    found = _api_resource(group, version, plural)
    if not subresource:
        return ALL_VERBS if found is None else found.verbs
    listed = found.subresources if found is not None else ()
    return next((each.verbs for each in listed if each.name == subresource), _SUBRESOURCE_VERBS)


@cache
def resource_of_kind(kind: str) -> Resource | None:
    """The resource of a kind in its preferred version."""
    if kind in RESOURCES:
        return RESOURCES[kind]
    return next((found for found in resources_by_path().values() if found.kind == kind), None)

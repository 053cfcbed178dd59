"""What the API says about pods that it does not take."""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubesim.api.defaults import set_pod_defaults
from kubesim.api.gojson import Number
from kubesim.api.schema.codec import DecodeError, decode, encode
from kubesim.api.schema.types import Type, parse_type, struct_fields
from kubesim.api.validation import Options, validate_pod_create
from kubesim.api.validation.formats import ip_address, label_key
from kubesim.features import FeatureGates
from tests.soak import rounds

JsonObject = dict[str, Any]

LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"


def pod_with(spec: JsonObject | None = None, container: JsonObject | None = None, **meta: Any) -> JsonObject:
    pod = {
        "metadata": {"name": "p", "namespace": "default", **meta},
        "spec": {"containers": [{"name": "c", "image": "img", **(container or {})}], **(spec or {})},
    }
    set_pod_defaults(pod)
    return pod


def complaints(pod: JsonObject, options: Options | None = None) -> list[str]:
    return [str(error) for error in validate_pod_create(pod, options or Options())]


def test_a_plain_pod_is_fine() -> None:
    assert complaints(pod_with()) == []


def test_errors_come_in_the_order_of_the_api_and_print_as_a_list() -> None:
    pod = pod_with({"dnsPolicy": "Nope", "volumes": [{"name": "V"}]}, {"imagePullPolicy": "Maybe"}, namespace="Bad_NS")
    assert str(validate_pod_create(pod)) == (
        f'[metadata.namespace: Invalid value: "Bad_NS": {LABEL} '
        f'spec.volumes[0].name: Invalid value: "V": {LABEL} '
        'spec.containers[0].imagePullPolicy: Unsupported value: "Maybe": supported values: "Always", "IfNotPresent", '
        '"Never" spec.dnsPolicy: Unsupported value: "Nope": supported values: "ClusterFirstWithHostNet", '
        '"ClusterFirst", "Default", "None"]'
    )


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({"image": ""}, ["spec.containers[0].image: Required value"]),
        ({"name": "a.b"}, ['spec.containers[0].name: Invalid value: "a.b": must not contain dots']),
        (
            {"ports": [{"containerPort": 0, "protocol": "tcp", "name": "-"}]},
            [
                'spec.containers[0].ports[0].name: Invalid value: "-": must contain at least one letter (a-z)',
                'spec.containers[0].ports[0].name: Invalid value: "-": must not begin or end with a hyphen',
                "spec.containers[0].ports[0].containerPort: Required value",
                'spec.containers[0].ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"',
            ],
        ),
        (
            {
                "env": [
                    {"name": "a=b"},
                    {"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "spec.host"}}},
                ]
            },
            [
                "spec.containers[0].env[0].name: Invalid value: \"a=b\": a valid environment variable name must consist only of printable ASCII characters other than '='",
                'spec.containers[0].env[1].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
            ],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}}]},
            [
                'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"'
            ],
        ),
        (
            {"livenessProbe": {"successThreshold": 2, "exec": {}, "tcpSocket": {"port": "x"}}},
            [
                "spec.containers[0].livenessProbe.exec.command: Required value",
                "spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
                "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
            ],
        ),
        (
            {"lifecycle": {"preStop": {"sleep": {"seconds": 31}}, "stopSignal": "SIGTERM"}},
            [
                "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)",
                "spec.containers[0].lifecycle.stopSignal: Forbidden: may not be set for containers with empty `spec.os.name`",
            ],
        ),
        (
            {"resources": {"requests": {"nvidia.com/gpu": "1500m", "hugepages-2Mi": "3Mi", "foo": "-1"}}},
            [
                'spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: "1500m": must be an integer',
                "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
                "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
                'spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
                'spec.containers[0].resources.requests[foo]: Invalid value: "foo": must be a standard resource type or fully qualified',
                'spec.containers[0].resources.requests[foo]: Invalid value: "foo": must be a standard resource for containers',
                'spec.containers[0].resources.requests[foo]: Invalid value: "-1": must be greater than or equal to 0',
                "spec.containers[0].resources: Forbidden: HugePages require cpu or memory",
            ],
        ),
        (
            {"restartPolicyRules": [{"action": "Jump"}], "restartPolicy": "Sometimes"},
            [
                'spec.containers[0].restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"',
                'spec.containers[0].restartPolicyRules[0].action: Unsupported value: "Jump": supported values: "Restart", "RestartAllContainers"',
                "spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified",
            ],
        ),
        (
            {"securityContext": {"privileged": True, "allowPrivilegeEscalation": False, "procMount": "Unmasked"}},
            [
                'spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`',
                'spec.containers[0].securityContext: Invalid value: {"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":"Unmasked","SeccompProfile":null,"AppArmorProfile":null}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
            ],
        ),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/a", "subPath": "/b", "recursiveReadOnly": "Enabled"}]},
            [
                'spec.containers[0].volumeMounts[0].name: Not found: "v"',
                'spec.containers[0].volumeMounts.subPath: Invalid value: "/b": must be a relative path',
                "spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true",
            ],
        ),
    ],
)
def test_containers(container: JsonObject, expected: list[str]) -> None:
    assert complaints(pod_with(container=container)) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": []}, ["spec.containers: Required value"]),
        (
            {"activeDeadlineSeconds": 0},
            ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
        ),
        ({"runtimeClassName": ""}, [f'spec.runtimeClassName: Invalid value: "": {SUBDOMAIN}']),
        (
            {"tolerations": [{"operator": "Exists", "value": "x", "effect": "NoRun", "tolerationSeconds": 1}]},
            [
                "spec.tolerations[0].effect: Invalid value: \"NoRun\": effect must be 'NoExecute' when `tolerationSeconds` is set",
                "spec.tolerations[0].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'",
                'spec.tolerations[0].effect: Unsupported value: "NoRun": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
            ],
        ),
        (
            {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.2.3", "010.0.0.1", "::ffff:1.2.3.4"]}},
            [
                'spec.dnsConfig.nameservers[0]: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
                'spec.dnsConfig.nameservers[1]: Invalid value: "010.0.0.1": must not have leading 0s',
                'spec.dnsConfig.nameservers[2]: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address',
            ],
        ),
        (
            {"hostUsers": False, "hostPID": True, "hostNetwork": True},
            [
                "spec.hostNetwork: Forbidden: when `hostUsers` is false",
                "spec.HostPID: Forbidden: when `hostUsers` is false",
            ],
        ),
        (
            {"securityContext": {"sysctls": [{"name": "net.core.somaxconn"}, {"name": "A"}]}, "hostNetwork": True},
            [
                "spec.securityContext.sysctls[0].name: Invalid value: \"net.core.somaxconn\": may not be specified when 'hostNetwork' is true",
                'spec.securityContext.sysctls[1].name: Invalid value: "A": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$',
            ],
        ),
        (
            {"os": {"name": "windows"}, "hostIPC": True, "resources": {"limits": {"cpu": "1"}}},
            [
                "spec.resources: Forbidden: may not be set for a windows pod",
                "spec.hostIPC: Forbidden: cannot be set for a windows pod",
            ],
        ),
        (
            {"volumes": [{"name": "a", "emptyDir": {}, "hostPath": {"path": "/x"}}, {"name": "b", "nfs": {}}]},
            [
                "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
                "spec.volumes[1].nfs.server: Required value",
                "spec.volumes[1].nfs.path: Required value",
                'spec.volumes[1].nfs.path: Invalid value: "": must be an absolute path',
            ],
        ),
        (
            {
                "volumes": [
                    {
                        "name": "a",
                        "projected": {
                            "sources": [
                                {"downwardAPI": {"items": [{"path": "x", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                                {"clusterTrustBundle": {"path": "x"}},
                            ]
                        },
                    }
                ]
            },
            [
                "spec.volumes[0].projected.sources[1].clusterTrustBundle: Required value: either name or signerName must be specified",
                'spec.volumes[0].projected: Invalid value: "x": conflicting duplicate paths',
            ],
        ),
        (
            {
                "affinity": {
                    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
                }
            },
            [
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term"
            ],
        ),
        (
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 1},
                    {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"},
                ]
            },
            [
                "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
                'spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, ScheduleAnyway}"',
                "spec.topologySpreadConstraints[0].minDomains: Invalid value: 1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
            ],
        ),
        (
            {"resourceClaims": [{"name": "gpu"}]},
            [
                'spec.resourceClaims[0]: Invalid value: {"Name":"gpu","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'
            ],
        ),
    ],
)
def test_pod_specs(spec: JsonObject, expected: list[str]) -> None:
    assert complaints(pod_with(spec)) == expected


def test_pod_level_resources_bound_the_containers() -> None:
    pod = pod_with(
        {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}},
        {"resources": {"requests": {"cpu": "1500m"}, "limits": {"cpu": "2"}}},
    )
    assert complaints(pod) == [
        'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 1500m',
        'spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1',
    ]


def test_init_and_ephemeral_containers() -> None:
    pod = pod_with(
        {
            "initContainers": [{"name": "c", "image": "i", "readinessProbe": {"exec": {"command": ["x"]}}}],
            "ephemeralContainers": [{"name": "e", "image": "i", "targetContainerName": "?", "ports": []}],
        }
    )
    assert complaints(pod) == [
        'spec.initContainers[0].name: Duplicate value: "c"',
        "spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
        'spec.ephemeralContainers[0].targetContainerName: Not found: "?"',
        "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
        "spec.ephemeralContainers: Forbidden: cannot be set on create",
    ]


def test_metadata() -> None:
    owner = {"apiVersion": "v1", "kind": "Event", "name": "o", "uid": "u", "controller": True}
    pod = pod_with(labels={"a b": "c d"}, finalizers=["x"], ownerReferences=[owner, {**owner, "kind": "Pod"}])
    errors = complaints(pod)
    assert errors[0].startswith('metadata.labels: Invalid value: "a b": name part must consist of')
    assert errors[1].startswith('metadata.labels: Invalid value: "c d": a valid label must be an empty string or')
    assert errors[2] == (
        'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"o","uid":"u","controller":true}: /v1, Kind=Event is disallowed from being an owner'
    )
    assert errors[3].endswith('Found "true" in references for Event/o and Pod/o')
    assert errors[4] == (
        'metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified'
    )


def test_annotations_must_agree_with_fields() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/c"
    context = {"appArmorProfile": {"type": "RuntimeDefault"}}
    pod = pod_with(container={"securityContext": context}, annotations={key: "localhost/x"})
    assert complaints(pod) == [
        "spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match"
    ]


def test_gates_and_surroundings_decide() -> None:
    privileged = pod_with(container={"securityContext": {"privileged": True}})
    assert complaints(privileged) == []
    assert complaints(privileged, Options(allow_privileged=False)) == [
        "spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy"
    ]
    restarted = pod_with(container={"restartPolicy": "Never"})
    assert complaints(restarted, Options(FeatureGates({"ContainerRestartRules": False}))) == [
        "spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers"
    ]


def test_formats() -> None:
    assert label_key("example.com/a") == []
    assert label_key("/a") == ["prefix part must be non-empty"]
    assert label_key("a/b/c")[0].endswith("with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')")
    assert ip_address("fe80::1") == []
    assert ip_address("fe80::1%eth0") != []


TEXTS = st.sampled_from(
    ["", "a", "A_b", "x.y/z", "..", "/p", "Always", "In", "Exists", "Localhost", "linux", "1Mi", "é"]
)


def values_of(type_: Type, depth: int) -> st.SearchStrategy[Any]:
    match type_.kind:
        case "struct":
            fields = struct_fields(type_.struct)
            if depth <= 0:
                return st.just({})
            chosen = st.sets(st.sampled_from(sorted(fields)), max_size=5)
            return chosen.flatmap(
                lambda names: st.fixed_dictionaries({n: values_of(fields[n].type, depth - 1) for n in sorted(names)})
            )
        case "list":
            return st.lists(values_of(type_.of, depth), max_size=2)
        case "map":
            return st.dictionaries(TEXTS, values_of(type_.of, depth), max_size=2)
        case "bool":
            return st.booleans()
        case "int":
            return st.sampled_from([Number("-1"), Number("0"), Number("1"), Number("70000")])
        case "IntOrString":
            return st.one_of(TEXTS, st.just(Number("80")))
        case "Quantity":
            return st.sampled_from(["0", "-1", "1500m", "2Mi", Number("1e3"), None])
        case "Time":
            return st.just("2026-01-01T00:00:00Z")
        case _:
            return TEXTS


@settings(max_examples=rounds(1500), deadline=None, suppress_health_check=list(HealthCheck))
@given(values_of(parse_type("Pod"), depth=9))
def test_whatever_can_be_decoded_can_be_judged_and_written(value: JsonObject) -> None:
    try:
        pod = decode("Pod", value)
    except DecodeError:
        return
    set_pod_defaults(pod)
    validate_pod_create(pod)
    written = encode("Pod", pod)
    assert encode("Pod", written) == written

"""Updates of a pod's status that the API server accepts or rejects.

Adapted from pkg/apis/core/validation/validation_test.go: TestValidatePodStatusUpdate (all 60 rows),
TestValidateContainerStateTransition and TestValidateInitContainerStateTransition (all 11 rows each). Resources and
users in the status are tested in `test_status_resources.py`; the rows about users are here, as in upstream.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.validation.field import Errors
from kubesim.api.validation.options import PodValidationOptions
from kubesim.cluster.registry.subresources.pod_status import validate_pod_status_update, validate_transitions
from kubesim.features import configured_gates
from kubesim.golang.text import aggregate

Json = dict[str, Any]
RUNNING: Json = {"running": {}}
WAITING: Json = {"waiting": {"reason": "PodInitializing"}}
TERMINATED: Json = {"terminated": {"reason": "Completed", "exitCode": 0}}
GPU: Json = {"name": "ctr", "image": "i", "resources": {"requests": {"example.com/gpu": "1"}}}
INIT_GPU: Json = {**GPU, "name": "initctr"}
SIDECAR: Json = {"name": "restartable-init", "image": "i", "restartPolicy": "Always"}
CLEARING = configured_gates({"ClearingNominatedNodeNameAfterBinding": True})
KEEPING = configured_gates({"ClearingNominatedNodeNameAfterBinding": False})
DIGESTS = configured_gates({"ImageVolumeWithDigest": True})


def pod(status: Json | None = None, **spec: Any) -> Json:
    spec.setdefault("containers", [{"name": "ctr", "image": "i"}])
    spec.setdefault("restartPolicy", "Always")
    return {
        "metadata": {"name": "foo", "namespace": "ns", "resourceVersion": "1"},
        "spec": spec,
        "status": status or {},
    }


def problems(new: Json, old: Json, gates: Any = KEEPING) -> str:
    errors = Errors()
    validate_pod_status_update(errors, new, old, PodValidationOptions(gates, resource_is_pod=True))
    return aggregate(errors) if errors else ""


def states(**kinds: list[tuple[str, Json]]) -> Json:
    """initContainerStatuses=[(name, state)]"""
    return {kind: [{"name": name, "state": state} for name, state in items] for kind, items in kinds.items()}


def generation(number: int, *, condition: bool) -> Json:
    if condition:
        return {"conditions": [{"type": "PodScheduled", "status": "True", "observedGeneration": number}]}
    return {"observedGeneration": number}


NEGATIVE = "Invalid value: -1: must be a non-negative integer"


@pytest.mark.parametrize(
    ("new", "problem"),
    [
        pytest.param(generation(1, condition=False), "", id="set valid status.observedGeneration"),
        pytest.param(generation(1, condition=True), "", id="set valid condition.observedGeneration"),
        pytest.param(
            generation(-1, condition=False),
            f"status.observedGeneration: {NEGATIVE}",
            id="set invalid status.observedGeneration",
        ),
        pytest.param(
            generation(-1, condition=True),
            f"status.conditions[0].observedGeneration: {NEGATIVE}",
            id="set invalid condition.observedGeneration",
        ),
        pytest.param({"conditions": [{"type": "AllContainersRestarting", "status": "True"}]}, "", id="no name"),
    ],
)
def test_generations_and_conditions(new: Json, problem: str) -> None:
    assert problems(pod(new), pod()) == problem


BOUND = "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"


@pytest.mark.parametrize(
    ("bound", "before", "after", "clearing", "problem"),
    [
        pytest.param("node1", "", "node1", False, "", id="add valid nominatedNodeName"),
        pytest.param("node1", "node1", "", False, "", id="remove nominatedNodeName"),
        pytest.param("node1", "", "Node1", False, "nominatedNodeName", id="Add invalid nominatedNodeName"),
        pytest.param("node1", "node2", "node1", False, "", id="Update nominatedNodeName"),
        pytest.param("", "", "node1", True, "", id="allow setting on unbound pod"),
        pytest.param("node1", "node2", "", True, "", id="allow clearing on bound pod"),
        pytest.param("node1", "", "node2", True, BOUND, id="prevent setting on already bound pod"),
        pytest.param("node1", "", "node1", True, BOUND, id="prevent setting to same node on already bound pod"),
        pytest.param("node1", "node2", "node3", True, BOUND, id="prevent updating on already bound pod"),
        pytest.param("node1", "node2", "node1", True, BOUND, id="prevent updating to same node on already bound pod"),
        pytest.param("node1", "node2", "node2", True, "", id="allow keeping same on bound pod"),
    ],
)
def test_nominated_node_name(bound: str, before: str, after: str, clearing: bool, problem: str) -> None:
    spec = {"nodeName": bound} if bound else {}
    old, new = (pod({"nominatedNodeName": name} if name else {}, **spec) for name in (before, after))
    found = problems(new, old, CLEARING if clearing else KEEPING)
    assert problem in found if problem else found == ""


def of_three(init: Json | None, main: Json | None, debug: Json | None) -> Json:
    kinds = (("initContainerStatuses", "init", init), ("containerStatuses", "nginx", main))
    all_kinds = (*kinds, ("ephemeralContainerStatuses", "debug", debug))
    return states(**{kind: [(name, state)] for kind, name, state in all_kinds if state is not None})


@pytest.mark.parametrize(
    ("new", "old"),
    [
        pytest.param(of_three(WAITING, WAITING, None), {}, id="Container statuses pending"),
        pytest.param(
            of_three(TERMINATED, RUNNING, None), of_three(WAITING, WAITING, None), id="Container statuses running"
        ),
        pytest.param(
            of_three(None, RUNNING, WAITING),
            of_three(None, RUNNING, None),
            id="Container statuses add ephemeral container",
        ),
        pytest.param(
            of_three(None, RUNNING, RUNNING),
            of_three(None, RUNNING, WAITING),
            id="Container statuses ephemeral container running",
        ),
        pytest.param(
            of_three(None, RUNNING, TERMINATED),
            of_three(None, RUNNING, RUNNING),
            id="Container statuses ephemeral container exited",
        ),
        pytest.param(
            of_three(TERMINATED, TERMINATED, TERMINATED),
            of_three(TERMINATED, RUNNING, RUNNING),
            id="Container statuses all containers terminated",
        ),
    ],
)
def test_container_state_sequences(new: Json, old: Json) -> None:
    assert problems(pod(new), pod(old)) == ""


BACK = "Forbidden: may not be transitioned to non-terminated state"


@pytest.mark.parametrize(
    ("init", "policy", "problem"),
    [
        pytest.param(
            {"name": "init", "image": "i"},
            "Never",
            f"status.initContainerStatuses[0].state: {BACK}",
            id="init container cannot restart if RestartPolicyNever",
        ),
        pytest.param(SIDECAR, "Never", "", id="restartable init container can restart if RestartPolicyNever"),
        pytest.param(SIDECAR, "OnFailure", "", id="restartable init container can restart if RestartPolicyOnFailure"),
        pytest.param(SIDECAR, "Always", "", id="restartable init container can restart if RestartPolicyAlways"),
    ],
)
def test_init_containers_that_restart(init: Json, policy: str, problem: str) -> None:
    old, new = (
        pod(states(initContainerStatuses=[(init["name"], state)]), initContainers=[init], restartPolicy=policy)
        for state in (TERMINATED, RUNNING)
    )
    assert problems(new, old) == problem


def test_an_ephemeral_container_never_runs_again() -> None:
    old, new = (pod(states(ephemeralContainerStatuses=[("debug", state)])) for state in (TERMINATED, RUNNING))
    assert problems(new, old) == f"status.ephemeralContainerStatuses[0].state: {BACK}"


NEVER: Json = {"name": "c1", "restartPolicy": "Never"}
ALL_RESTART: Json = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
IN_42: Json = {**NEVER, "restartPolicyRules": [{**ALL_RESTART, "action": "Restart"}]}


@pytest.mark.parametrize(
    ("kind", "of"), [("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")]
)
@pytest.mark.parametrize(
    ("policy", "containers", "exit_code", "allowed"),
    [
        pytest.param("Never", [NEVER], None, True, id="not terminated"),
        pytest.param("Always", [{"name": "c1"}], 0, True, id="allowed by pod policy 'Always'"),
        pytest.param("OnFailure", [{"name": "c1"}], 1, True, id="allowed by pod policy 'OnFailure' with exit 1"),
        pytest.param("OnFailure", [{"name": "c1"}], 0, False, id="not allowed by pod policy 'OnFailure' with exit 0"),
        pytest.param("Never", [{"name": "c1"}], 0, False, id="not allowed by pod policy 'Never', with transition"),
        pytest.param(
            "Never", [{**NEVER, "restartPolicy": "Always"}], 0, True, id="allowed by container policy 'Always'"
        ),
        pytest.param("Always", [NEVER], 0, False, id="not allowed by container policy 'Never'"),
        pytest.param("Never", [IN_42], 42, True, id="allowed by container rule"),
        pytest.param("Never", [IN_42], 1, False, id="not allowed by container rule mismatch"),
        pytest.param(
            "Never",
            [{**NEVER, "restartPolicyRules": [ALL_RESTART]}],
            1,
            True,
            id="allowed if the container have RestartAllContainers actions",
        ),
        pytest.param(
            "Never",
            [NEVER, {**NEVER, "name": "c2", "restartPolicyRules": [ALL_RESTART]}],
            1,
            True,
            id="allowed if other container have RestartAllContainers actions",
        ),
    ],
)
def test_transitions(
    kind: str, of: str, policy: str, containers: list[Json], exit_code: int | None, allowed: bool
) -> None:
    before = RUNNING if exit_code is None else {"terminated": {"exitCode": exit_code}}
    errors = Errors()
    spec = {"restartPolicy": policy, kind: containers}
    new, old = states(**{of: [("c1", RUNNING)]}), states(**{of: [("c1", before)]})
    validate_transitions(errors, new, old, of, spec, containers)
    assert [str(error) for error in errors] == ([] if allowed else [f"status.{of}[0].state: {BACK}"])


def test_the_qos_class_is_immutable() -> None:
    """qosClass can not be changed; qosClass no change"""
    burstable, guaranteed = ({"qosClass": name} for name in ("Burstable", "Guaranteed"))
    assert problems(pod(burstable), pod(guaranteed)) == (
        'status.qosClass: Invalid value: "Burstable": field is immutable'
    )
    assert problems(pod(burstable), pod(burstable)) == ""


def claims(*names: str) -> list[Json]:
    return [{"name": name} for name in names]


def resource_claims(*items: tuple[str, str | None]) -> Json:
    return {
        "resourceClaimStatuses": [
            {"name": name, **({} if claim is None else {"resourceClaimName": claim})} for name, claim in items
        ]
    }


SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


@pytest.mark.parametrize(
    ("status", "named", "problem"),
    [
        pytest.param(
            resource_claims(("no-such-claim", "my-claim")),
            [],
            'status.resourceClaimStatuses[0].name: Invalid value: "no-such-claim": must match the name of an entry in '
            "`spec.resourceClaims`",
            id="Non-existent PodResourceClaim",
        ),
        pytest.param(
            resource_claims(("my-claim", "%$!#")),
            claims("my-claim"),
            f'status.resourceClaimStatuses[0].resourceClaimName: Invalid value: "%$!#": {SUBDOMAIN}',
            id="Invalid ResourceClaim name",
        ),
        pytest.param(
            resource_claims(("my-claim", "foo-my-claim-12345"), ("my-other-claim", None), ("my-other-claim", None)),
            claims("my-claim", "my-other-claim"),
            'status.resourceClaimStatuses[2].name: Duplicate value: "my-other-claim"',
            id="Duplicate ResourceClaimStatuses.Name",
        ),
        pytest.param(
            resource_claims(("my-claim", "foo-my-claim-12345"), ("my-other-claim", None)),
            claims("my-claim", "my-other-claim"),
            "",
            id="ResourceClaimStatuses okay",
        ),
    ],
)
def test_resource_claim_statuses(status: Json, named: list[Json], problem: str) -> None:
    assert problems(pod(status, resourceClaims=named), pod()) == problem


def mapping(container: str = "ctr", resource: str = "example.com/gpu", request: str = "container-0-request-0") -> Json:
    return {"containerName": container, "resourceName": resource, "requestName": request}


def extended(*mappings: Json, claim: str = "xyz") -> Json:
    return {"extendedResourceClaimStatus": {"resourceClaimName": claim, "requestMappings": list(mappings)}}


WHERE = "status.extendedResourceClaimStatus"
NO_NAME = (
    f'{WHERE}.requestMappings[0].containerName: Invalid value: "abc": must match the name of an entry in '
    "spec.initContainers.name or spec.containers.name"
)


@pytest.mark.parametrize(
    ("status", "spec", "problem"),
    [
        pytest.param(extended(mapping()), {"containers": [GPU]}, "", id="ExtendedResourceClaimStatus okay"),
        pytest.param(
            extended(mapping("initctr")),
            {"initContainers": [INIT_GPU]},
            "",
            id="ExtendedResourceClaimStatus okay, init",
        ),
        pytest.param(
            extended(),
            {"containers": [GPU]},
            f"{WHERE}.requestMappings: Required value: at least one request mapping is required",
            id="empty requestMapping in ExtendedResourceClaimStatus",
        ),
        pytest.param(
            extended(mapping(), mapping()),
            {"containers": [GPU]},
            f'[{WHERE}.requestMappings[1].containerName: Duplicate value: "ctr", '
            f'{WHERE}.requestMappings[1].resourceName: Duplicate value: "example.com/gpu", '
            f'{WHERE}.requestMappings[1].requestName: Duplicate value: "container-0-request-0"]',
            id="invalid duplicate container name,, extended resource name, and request name",
        ),
        pytest.param(
            extended(mapping(), mapping(request="container-1-request-0")),
            {"containers": [GPU]},
            "",
            id="valid duplicate container name,, extended resource name",
        ),
        pytest.param(extended(mapping("abc")), {"containers": [GPU]}, NO_NAME, id="invalid container name"),
        pytest.param(extended(mapping("abc")), {"initContainers": [GPU]}, NO_NAME, id="invalid init container name"),
        pytest.param(
            extended(mapping(resource="example.com/cpu")),
            {"containers": [GPU]},
            f'{WHERE}.requestMappings[0].resourceName: Invalid value: "example.com/cpu": must match the extended '
            "resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests",
            id="invalid extended resource name in ExtendedResourceClaimStatus",
        ),
        pytest.param(
            extended(mapping(request="example.com")),
            {"containers": [GPU]},
            f'{WHERE}.requestName: Invalid value: "example.com": must not contain dots',
            id="invalid request name in ExtendedResourceClaimStatus",
        ),
        pytest.param(
            extended(mapping(), claim="xyz/abc"),
            {"containers": [GPU]},
            f'{WHERE}.resourceClaimName: Invalid value: "xyz/abc": {SUBDOMAIN}',
            id="invalid resource claim name in ExtendedResourceClaimStatus",
        ),
        pytest.param(
            extended(mapping(), claim=""),
            {"containers": [GPU]},
            f"{WHERE}.resourceClaimName: Required value",
            id="no resource claim name",
        ),
    ],
)
def test_extended_resource_claim_status(status: Json, spec: Json, problem: str) -> None:
    assert problems(pod(status, **spec), pod()) == problem


RANGE = "Invalid value: -1: must be between 0 and 2147483647, inclusive"
KINDS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("user", "os", "details"),
    [
        pytest.param({}, "", (), id="nil containerUser"),
        pytest.param({"user": {}}, "", (), id="empty containerUser"),
        pytest.param(
            {"user": {"linux": {"uid": 0, "gid": 0, "supplementalGroups": [0, 100]}}},
            "",
            (),
            id="containerUser with valid ids",
        ),
        pytest.param(
            {"user": {"linux": {"uid": -1, "gid": -1, "supplementalGroups": [-1]}}},
            "",
            (f".uid: {RANGE}", f".gid: {RANGE}", f".supplementalGroups[0]: {RANGE}"),
            id="containerUser with invalid uids/gids/supplementalGroups",
        ),
        pytest.param(
            {"user": {"linux": {}}},
            "windows",
            (": Forbidden: cannot be set for a windows pod",),
            id="containerUser cannot be set for windows pod",
        ),
    ],
)
def test_users_of_containers(kind: str, user: Json, os: str, details: tuple[str, ...]) -> None:
    spec = {"os": {"name": os}} if os else {}
    expected = [f"status.{kind}[0].user.linux{detail}" for detail in details]
    shown = f"[{', '.join(expected)}]" if len(expected) > 1 else "".join(expected)
    assert problems(pod({kind: [user]}, **spec), pod(**spec)) == shown


def mounted(reference: str | None) -> Json:
    image = {} if reference is None else {"image": {"imageRef": reference}}
    return {"containerStatuses": [{"volumeMounts": [{"volumeStatus": image}]}]}


IMAGE_REF = "status.containerStatuses[0].volumeMounts[0].volumeStatus.imageVolumeStatus.imageRef"


@pytest.mark.parametrize(
    ("old", "new", "gates", "problem"),
    [
        pytest.param("imageref", None, KEEPING, "", id="should wipe VolumeStatus if the gate is disabled"),
        pytest.param("", "", KEEPING, "", id="not checked if the gate is disabled"),
        pytest.param(
            "",
            "",
            DIGESTS,
            f"{IMAGE_REF}: Required value: imageRef must not be empty",
            id="should not be allowed to set an empty imageRef",
        ),
        pytest.param(
            "x" * 257,
            "x" * 257,
            DIGESTS,
            f"{IMAGE_REF}: Too long: may not be more than 256 bytes",
            id="should not be allowed to set an imageRef of len larger than 256",
        ),
    ],
)
def test_image_volumes(old: str | None, new: str | None, gates: Any, problem: str) -> None:
    assert problems(pod(mounted(new)), pod(mounted(old)), gates) == problem


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        ({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}, ""),
        ({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}, "may specify no more than one IP for each IP family"),
        ({"podIPs": [{"ip": "10.0.0.x"}]}, "status.podIPs[0]: Invalid value"),
        ({"hostIP": "10.0.0.2", "hostIPs": [{"ip": "10.0.0.1"}]}, "must be equal to `hostIP`"),
        ({"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.1"}]}, ""),
    ],
)
def test_addresses(status: Json, problem: str) -> None:
    found = problems(pod(status), pod())
    assert problem in found if problem else found == ""

"""The claim of a pod's claim reference, and whether it was generated for the pod.

Adapted from: dynamic-resource-allocation/resourceclaim/claim_test.go
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.workloads.resource_claims import ClaimNotCreated, ClaimReferenceError, claim_name, why_not_for_pod

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "1", "controller": True}


def pod(*made: dict[str, str]) -> Pod:
    metadata = {"name": "web", "namespace": "default", "uid": "1"}
    return Pod.from_json({"metadata": metadata, "status": {"resourceClaimStatuses": list(made)}})


def claim(namespace: str = "default", **metadata: Any) -> ApiObject:
    return ApiObject.from_json(
        {"kind": "ResourceClaim", "metadata": {"name": "gpu", "namespace": namespace, **metadata}}
    )


def test_a_claim_is_named_or_generated() -> None:
    assert claim_name(pod(), {"name": "a", "resourceClaimName": "gpu"}) == ("gpu", False)
    template = {"name": "a", "resourceClaimTemplateName": "t"}
    others = {"name": "b", "resourceClaimName": "web-b-x"}
    assert claim_name(pod(others, {"name": "a", "resourceClaimName": "web-a-x"}), template) == ("web-a-x", True)
    assert claim_name(pod({"name": "a"}), template) == (None, True), "the pod needs none"
    with pytest.raises(ClaimNotCreated, match=r'^pod "default/web": ResourceClaim not created yet$'):
        claim_name(pod(others), template)


def test_a_reference_with_neither_is_an_error() -> None:
    with pytest.raises(ClaimReferenceError, match=r'spec.resourceClaim "a": none of the supported fields are set$'):
        claim_name(pod(), {"name": "a"})


def test_a_generated_claim_belongs_to_its_pod() -> None:
    assert why_not_for_pod(pod(), claim(ownerReferences=[OWNER])) == ""
    assert why_not_for_pod(pod(), claim("other")) == (
        "ResourceClaim other/gpu is not in the same namespace as Pod default/web"
    )
    assert why_not_for_pod(pod(), claim(ownerReferences=[{**OWNER, "controller": False}])) == (
        "ResourceClaim default/gpu was not created for Pod default/web (Pod is not owner)"
    )

"""The resources of a status: amounts from the runtime and claims from the spec."""

from __future__ import annotations

from kubesim.api.pod import NO_RESOURCES, ResourceRequirements
from kubesim.kubelet.status.containers.container_resources import requirements


def test_claims_are_those_of_the_spec() -> None:
    spec = ResourceRequirements(limits={"cpu": "1"}, claims=({"name": "gpu"},))
    assert requirements({}, {"cpu": "500m"}, spec) == ResourceRequirements(
        requests={"cpu": "500m"}, claims=({"name": "gpu"},)
    )


def test_without_amounts_and_claims_there_are_none() -> None:
    assert requirements({}, {}, ResourceRequirements(limits={"cpu": "1"})) is NO_RESOURCES

"""Node features that a pod requires.

Mirrors: pkg/kubelet/lifecycle/handlers_test.go TestDeclaredFeaturesAdmitHandler; component-helpers nodedeclaredfeatures
features/restartallcontainers and usernamespaceshostnetwork tests
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.features import FeatureGates, configured_gates
from kubesim.kubelet.admission.pod_features import PodFeaturesAdmission, declared_features, required_features

RESTART_ALL = {"name": "main", "restartPolicyRules": [{"action": "RestartAllContainers"}]}
HOST = {"hostNetwork": True, "hostUsers": False}


def pod(**spec: Any) -> Pod:
    return Pod.from_json({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "main"}], **spec}})


def gates(**settings: bool) -> FeatureGates:
    return configured_gates(settings, "v1.36")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (pod(), []),
        (pod(containers=[RESTART_ALL]), ["RestartAllContainersOnContainerExits"]),
        (pod(initContainers=[RESTART_ALL]), ["RestartAllContainersOnContainerExits"]),
        (pod(containers=[{"name": "main", "restartPolicyRules": [{"action": "Restart"}]}]), []),
        (pod(**HOST), ["UserNamespacesHostNetworkSupport"]),
        (pod(hostNetwork=True), []),
        (pod(hostUsers=False), []),
        (pod(hostNetwork=True, hostUsers=True), []),
    ],
)
def test_features_required_by_a_pod(given: Pod, expected: list[str]) -> None:
    assert required_features(given) == expected


def test_features_of_a_node() -> None:
    assert declared_features(gates()) == (
        "ExtendWebSocketsToKubelet",
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScalingInitContainers",
        "RestartAllContainersOnContainerExits",
    )
    assert "UserNamespacesHostNetworkSupport" in declared_features(gates(UserNamespacesHostNetworkSupport=True))


def test_satisfied_and_unsatisfied_requirements() -> None:
    admission = PodFeaturesAdmission(gates())
    assert admission.admit(pod()) == ("", "")
    assert admission.admit(pod(containers=[RESTART_ALL])) == ("", "")
    missing = "Pod requires node features that are not available: UserNamespacesHostNetworkSupport"
    assert admission.admit(pod(**HOST)) == ("PodFeatureUnsupported", missing)


def test_pod_level_resources_need_their_gate() -> None:
    asking = pod(resources={"requests": {"cpu": "1"}})
    off = gates(PodLevelResources=False, InPlacePodLevelResourcesVerticalScaling=False, PodLevelResourceManagers=False)
    refusal = ("PodLevelResourcesNotSupported", "PodLevelResources feature gate is disabled")
    assert PodFeaturesAdmission(off).admit(asking) == refusal
    assert PodFeaturesAdmission(off).admit(pod(resources={})) == ("", "")
    assert PodFeaturesAdmission(gates()).admit(asking) == ("", "")

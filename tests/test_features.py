"""Feature gates: known by profile, with a kubelet's rules about setting them."""

from __future__ import annotations

import pytest

from kubesim.errors import GateError
from kubesim.features import DEFAULT_GATES, FeatureGates, configured_gates, known_gates
from kubesim.features.table import DEPENDENCIES, PROFILES


def test_defaults_belong_to_a_profile() -> None:
    assert DEFAULT_GATES.enabled("PLEGOnDemandRelist")
    assert not FeatureGates(profile="v1.30").enabled("PLEGOnDemandRelist")  # it did not exist yet
    defaults = {profile: FeatureGates(profile=profile).enabled("SidecarContainers") for profile in PROFILES}
    assert defaults == {"v1.6": False, "v1.12": False, "v1.30": True, "v1.35": True, "v1.36": True, "v1.37": True}
    # A v1.30 kubelet that restarts marks running containers not ready; v1.36 has a gate to restore this.
    assert FeatureGates(profile="v1.30").enabled("ChangeContainerStatusOnKubeletRestart")
    assert not DEFAULT_GATES.enabled("ChangeContainerStatusOnKubeletRestart")


def test_each_profile_knows_its_own_gates() -> None:
    assert "PodShareProcessNamespace" in known_gates("v1.12")
    assert "PodShareProcessNamespace" not in known_gates()
    with pytest.raises(
        GateError, match=r"unknown feature gate 'PodShareProcessNamespace' in v1.36: it is there in v1.12$"
    ):
        configured_gates({"PodShareProcessNamespace": True})
    assert not configured_gates({"PodShareProcessNamespace": False}, "v1.12").enabled("PodShareProcessNamespace")


def test_an_unknown_gate_gets_the_closest_name() -> None:
    with pytest.raises(GateError, match=r"unknown feature gate 'PodLevelResource'; did you mean 'PodLevelResources'\?"):
        configured_gates({"PodLevelResource": True})
    with pytest.raises(GateError, match=r"unknown feature gate 'QQQQ'$"):
        FeatureGates({"QQQQ": True})
    with pytest.raises(KeyError):
        DEFAULT_GATES.enabled("QQQQ")


def test_a_locked_gate_cannot_be_changed() -> None:
    problem = "cannot set feature gate SidecarContainers to false, feature is locked to true"
    with pytest.raises(GateError, match=problem):
        configured_gates({"SidecarContainers": False})
    assert configured_gates({"SidecarContainers": True}).enabled("SidecarContainers")
    assert not configured_gates({"SidecarContainers": False}, "v1.30").enabled("SidecarContainers")


def test_a_gate_needs_its_dependencies() -> None:
    problem = r"RestartAllContainersOnContainerExits is enabled, but depends on .* disabled: \[ContainerRestartRules\]"
    with pytest.raises(GateError, match=problem):
        configured_gates({"ContainerRestartRules": False})
    off = configured_gates({"ContainerRestartRules": False, "RestartAllContainersOnContainerExits": False})
    assert not off.enabled("ContainerRestartRules")


def test_a_whole_stage_is_set_except_for_named_gates() -> None:
    gates = configured_gates({"EventedPLEG": False, "AllAlpha": True, "GenericWorkload": True})
    assert gates.enabled("ContainerStopSignals")
    assert not gates.enabled("EventedPLEG")
    assert not configured_gates({"AllBeta": False, "ImageVolumeWithDigest": False}).enabled("PLEGOnDemandRelist")


def test_dependencies_name_existing_gates() -> None:
    for profile, rows in DEPENDENCIES.items():
        assert configured_gates({}, profile)
        assert set(rows.replace(":", "").split()) <= set().union(*map(known_gates, DEPENDENCIES))


def test_dependencies_differ_by_version() -> None:
    settings = {"UserNamespacesHostNetworkSupport": True, "NodeDeclaredFeatures": False}
    assert configured_gates(settings, "v1.35").enabled("UserNamespacesHostNetworkSupport")
    others = [
        "RestartAllContainersOnContainerExits",
        "ExtendWebSocketsToKubelet",
        "InPlacePodVerticalScalingInitContainers",
        "InPlacePodLevelResourcesVerticalScaling",
    ]
    with pytest.raises(GateError, match=r"UserNamespacesHostNetworkSupport is .* disabled: \[NodeDeclaredFeatures\]"):
        configured_gates({**settings, **dict.fromkeys(others, False)}, "v1.36")


def test_a_behaviour_whose_gate_was_removed_is_on() -> None:
    assert FeatureGates(profile="v1.37").enabled("PreventStaticPodAPIReferences")
    with pytest.raises(GateError, match="unknown feature gate 'PreventStaticPodAPIReferences'"):
        configured_gates({"PreventStaticPodAPIReferences": True}, "v1.37")

"""Options of the static policy. The tables are adapted from pkg/kubelet/cm/cpumanager/policy_options_test.go, and of
policy_static_test.go TestStaticPolicyOptions."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kubesim.features import FeatureGates
from kubesim.kubelet.cm.cpumanager.policy_options import (
    StaticPolicyOptions,
    check_option_available,
    new_static_policy_options,
    validate_static_policy_options,
)
from tests.kubelet.cm.tables import outcome, topology

ALPHA, BETA = "CPUManagerPolicyAlphaOptions", "CPUManagerPolicyBetaOptions"
ALPHA_ON = FeatureGates({ALPHA: True})


@pytest.mark.parametrize(
    ("option", "gates", "problem"),
    [
        ("this-option-does-not-exist", {}, "unknown CPU Manager Policy option"),
        ("full-pcpus-only", {}, ""),
        ("this-option-does-not-exist", {BETA: False}, "unknown CPU Manager Policy option"),
        ("this-option-does-not-exist", {BETA: True}, "unknown CPU Manager Policy option"),
        ("align-by-socket", {ALPHA: True}, ""),
        ("align-by-socket", {BETA: True}, "CPU Manager Policy Alpha-level Options not enabled, but option"),
        ("distribute-cpus-across-numa", {BETA: True}, ""),
        ("distribute-cpus-across-numa", {BETA: False}, "CPU Manager Policy Beta-level Options not enabled, but option"),
        ("distribute-cpus-across-cores", {ALPHA: True}, ""),
        (
            "distribute-cpus-across-cores",
            {BETA: True},
            "CPU Manager Policy Alpha-level Options not enabled, but option",
        ),
        ("full-pcpus-only", {ALPHA: False, BETA: False}, ""),
        ("strict-cpu-reservation", {ALPHA: False, BETA: False}, ""),
        ("prefer-align-cpus-by-uncorecache", {ALPHA: False, BETA: False}, ""),
    ],
)
def test_available_options(option: str, gates: Mapping[str, bool], problem: str) -> None:
    """TestPolicyDefaultsAvailable, TestPolicyOptionsAvailable, TestPolicyOptionsAlwaysAvailableOnceGA"""
    found = outcome(lambda: check_option_available(option, FeatureGates(gates)))[1]
    assert found.startswith(problem)
    assert bool(found) == bool(problem)
    assert not found or f'"{option}"' in found


TWO_NODES_PER_SOCKET, TWO_SOCKETS_PER_NODE = (
    "topoDualSocketMultiNumaPerSocketHT",
    "fakeTopoMultiSocketDualSocketPerNumaHT",
)


@pytest.mark.parametrize(
    ("option", "machine", "topology_policy", "problem"),
    [
        ("full-pcpus-only", TWO_NODES_PER_SOCKET, "single-numa-node", ""),
        (
            "align-by-socket",
            TWO_NODES_PER_SOCKET,
            "single-numa-node",
            "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option",
        ),
        (
            "align-by-socket",
            TWO_SOCKETS_PER_NODE,
            "none",
            "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA",
        ),
        ("align-by-socket", TWO_NODES_PER_SOCKET, "none", ""),
        ("align-by-socket", TWO_NODES_PER_SOCKET, "best-effort", ""),
        ("align-by-socket", TWO_NODES_PER_SOCKET, "restricted", ""),
    ],
)
def test_options_require_a_suitable_machine(option: str, machine: str, topology_policy: str, problem: str) -> None:
    """TestValidateStaticPolicyOptions"""
    options = new_static_policy_options({option: "true"}, ALPHA_ON)
    found = outcome(lambda: validate_static_policy_options(options, topology(machine), topology_policy))[1]
    assert found == problem


@pytest.mark.parametrize(
    ("options", "exclusive"),
    [
        (("full-pcpus-only",), False),
        (("distribute-cpus-across-cores",), False),
        (("prefer-align-cpus-by-uncorecache", "strict-cpu-reservation"), False),
        (("prefer-align-cpus-by-uncorecache", "full-pcpus-only"), False),
        (("prefer-align-cpus-by-uncorecache", "align-by-socket"), False),
        (("full-pcpus-only", "distribute-cpus-across-cores"), True),
        (("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"), True),
        (("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"), True),
        (("distribute-cpus-across-numa", "distribute-cpus-across-cores"), True),
    ],
)
def test_combined_options(options: tuple[str, ...], exclusive: bool) -> None:
    """TestPolicyOptionsCompatibility"""
    found = outcome(lambda: new_static_policy_options(dict.fromkeys(options, "true"), ALPHA_ON))[1]
    problem = f"static policy options {' and '.join(options)} can not be used at the same time"
    assert found == (problem if exclusive else "")


@pytest.mark.parametrize(
    ("options", "expected", "problem"),
    [
        ({}, StaticPolicyOptions(), ""),
        ({"badValue1": ""}, None, 'unknown CPU Manager Policy option: "badValue1"'),
        ({"badValue1": "", "badvalue2": "aaaa"}, None, 'unknown CPU Manager Policy option: "badValue1"'),
        ({"full-pcpus-only": "true"}, StaticPolicyOptions(full_pcpus_only=True), ""),
        (
            {"full-pcpus-only": "enabled!"},
            None,
            'bad value for option "full-pcpus-only": strconv.ParseBool: parsing "enabled!": invalid syntax',
        ),
        ({"full-pcpus-only": "1", "badvalue2": "lorem"}, None, 'unknown CPU Manager Policy option: "badvalue2"'),
    ],
)
def test_created_options(options: Mapping[str, str], expected: StaticPolicyOptions | None, problem: str) -> None:
    """TestStaticPolicyOptions"""
    assert outcome(lambda: new_static_policy_options(options)) == (expected, problem)

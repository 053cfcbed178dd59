"""The phase of a pod, with upstream's tables.

Mirrors: pkg/kubelet/kubelet_pods_test.go TestPodPhaseWithRestart*, TestPodPhaseWithContainerRestartPolicy*,
TestPodPhaseWithRestartAllContainers: 94 rows.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import ContainerStatus, Pod
from kubesim.features import FeatureGates
from kubesim.kubelet.status.generate.phase import get_phase

GATES = FeatureGates({"ContainerRestartRules": True, "RestartAllContainersOnContainerExits": True})
RESTARTING = {"reason": "RestartingAllContainers", "exitCode": 137}
STATES: dict[str, dict[str, Any]] = {
    "running": {"state": {"running": {}}},
    "started": {"state": {"running": {}}, "started": True},
    "waiting": {"state": {"waiting": {}}},
    "stopped": {"state": {"terminated": {}}},
    "succeeded": {"state": {"terminated": {"exitCode": 0}}},
    "failed": {"state": {"terminated": {"exitCode": -1}}},
    "failed-42": {"state": {"terminated": {"exitCode": 42}}},
    "waiting-after-0": {"state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": 0}}},
    "waiting-after-failure": {"state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": -1}}},
    "restarting-all": {
        "state": {"waiting": {"reason": "RestartingAllContainers"}},
        "lastState": {"terminated": RESTARTING},
    },
}


def phase(
    spec: dict[str, Any], states: str, *, terminal: bool = False, initialized: bool = False, static: bool = False
) -> str:
    """`states` are `name=state`, in the order of the statuses."""
    pairs = (pair.split("=") for pair in states.split())
    statuses = [ContainerStatus.from_json({"name": name, **STATES[state]}) for name, state in pairs]
    annotations = {"kubernetes.io/config.source": "file"} if static else {}
    pod = Pod.from_json({"metadata": {"annotations": annotations}, "spec": spec})
    return get_phase(pod, statuses, pod_is_terminal=terminal, pod_has_initialized=initialized, gates=GATES)


A_AND_B = [{"name": "A"}, {"name": "B"}]
PLAIN_INIT = [{"name": "X"}]
SIDECAR = [{"name": "X", "restartPolicy": "Always"}]


def spec(policy: str, init: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"nodeName": "machine", "initContainers": init or [], "containers": A_AND_B, "restartPolicy": policy}


@pytest.mark.parametrize(
    ("states", "terminal", "expected"),
    [
        pytest.param("", False, "Pending", id="waiting"),
        pytest.param("A=running B=running", False, "Running", id="all running"),
        pytest.param("A=stopped B=stopped", False, "Running", id="all stopped with restart always"),
        pytest.param(
            "A=succeeded B=succeeded",
            True,
            "Succeeded",
            id="all succeeded with restart always, but the pod is terminal",
        ),
        pytest.param(
            "A=succeeded B=failed", True, "Failed", id="all stopped with restart always, but the pod is terminal"
        ),
        pytest.param("A=running B=stopped", False, "Running", id="mixed state #1 with restart always"),
        pytest.param("A=running", False, "Pending", id="mixed state #2 with restart always"),
        pytest.param("A=running B=waiting", False, "Pending", id="mixed state #3 with restart always"),
        pytest.param(
            "A=running B=waiting-after-0", False, "Running", id="backoff crashloop container with restart always"
        ),
    ],
)
def test_restart_always(states: str, terminal: bool, expected: str) -> None:
    assert phase(spec("Always"), states, terminal=terminal) == expected


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        pytest.param("", "Pending", id="waiting"),
        pytest.param("A=running B=running", "Running", id="all running with restart never"),
        pytest.param("A=succeeded B=succeeded", "Succeeded", id="all succeeded with restart never"),
        pytest.param("A=failed B=failed", "Failed", id="all failed with restart never"),
        pytest.param("A=running B=succeeded", "Running", id="mixed state #1 with restart never"),
        pytest.param("A=running", "Pending", id="mixed state #2 with restart never"),
        pytest.param("A=running B=waiting", "Pending", id="mixed state #3 with restart never"),
    ],
)
def test_restart_never(states: str, expected: str) -> None:
    assert phase(spec("Never"), states) == expected


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        pytest.param("", "Pending", id="waiting"),
        pytest.param("A=running B=running", "Running", id="all running with restart onfailure"),
        pytest.param("A=succeeded B=succeeded", "Succeeded", id="all succeeded with restart onfailure"),
        pytest.param("A=failed B=failed", "Running", id="all failed with restart never"),
        pytest.param("A=running B=succeeded", "Running", id="mixed state #1 with restart onfailure"),
        pytest.param("A=running", "Pending", id="mixed state #2 with restart onfailure"),
        pytest.param("A=running B=waiting", "Pending", id="mixed state #3 with restart onfailure"),
        pytest.param("A=running B=waiting-after-0", "Running", id="backoff crashloop container with restart onfailure"),
    ],
)
def test_restart_on_failure(states: str, expected: str) -> None:
    assert phase(spec("OnFailure"), states) == expected


@pytest.mark.parametrize(
    ("states", "always", "never"),
    [
        pytest.param("", "Pending", "Pending", id="empty, waiting"),
        pytest.param("X=running", "Pending", "Pending", id="init container running"),
        pytest.param("X=failed", "Pending", "Failed", id="init container terminated non-zero"),
        pytest.param("X=waiting-after-0", "Pending", "Pending", id="init container waiting, terminated zero"),
        pytest.param("X=waiting-after-failure", "Pending", "Failed", id="init container waiting, terminated non-zero"),
        pytest.param("X=waiting", "Pending", "Pending", id="init container waiting, not terminated"),
        pytest.param("X=succeeded A=running B=running", "Running", "Running", id="init container succeeded"),
    ],
)
def test_init_containers(states: str, always: str, never: str) -> None:
    assert phase(spec("Always", PLAIN_INIT), states) == always
    assert phase(spec("Never", PLAIN_INIT), states) == never


@pytest.mark.parametrize(
    ("states", "terminal", "initialized", "expected"),
    [
        pytest.param("", False, False, "Pending", id="empty, waiting"),
        pytest.param("X=running", False, False, "Pending", id="restartable init container running"),
        pytest.param("X=stopped", False, False, "Pending", id="restartable init container stopped"),
        pytest.param(
            "X=waiting-after-0", False, False, "Pending", id="restartable init container waiting, terminated zero"
        ),
        pytest.param(
            "X=waiting-after-failure",
            False,
            False,
            "Pending",
            id="restartable init container waiting, terminated non-zero",
        ),
        pytest.param("X=waiting", False, False, "Pending", id="restartable init container waiting, not terminated"),
        pytest.param(
            "X=started A=running",
            False,
            True,
            "Pending",
            id="restartable init container started, 1/2 regular container running",
        ),
        pytest.param(
            "X=started A=running B=running",
            False,
            True,
            "Running",
            id="restartable init container started, all regular containers running",
        ),
        pytest.param(
            "X=running A=running B=running",
            False,
            True,
            "Running",
            id="restartable init container running, all regular containers running",
        ),
        pytest.param(
            "X=stopped A=running B=running",
            False,
            True,
            "Running",
            id="restartable init container stopped, all regular containers running",
        ),
        pytest.param(
            "X=waiting-after-0 A=running B=running",
            False,
            True,
            "Running",
            id="backoff crashloop restartable init container, all regular containers running",
        ),
        pytest.param(
            "X=failed A=succeeded B=succeeded",
            True,
            True,
            "Succeeded",
            id="all regular containers succeeded and restartable init container failed with restart always, "
            "but the pod is terminal",
        ),
        pytest.param(
            "X=succeeded A=succeeded B=succeeded",
            True,
            True,
            "Succeeded",
            id="all regular containers succeeded and restartable init container succeeded with restart always, "
            "but the pod is terminal",
        ),
        pytest.param(
            "X=running A=running B=running",
            False,
            False,
            "Pending",
            id="re-initializing the pod after the sandbox is recreated",
        ),
    ],
)
def test_restart_always_with_a_sidecar(states: str, terminal: bool, initialized: bool, expected: str) -> None:
    assert phase(spec("Always", SIDECAR), states, terminal=terminal, initialized=initialized) == expected


@pytest.mark.parametrize(
    ("states", "initialized", "expected"),
    [
        pytest.param("", False, "Pending", id="empty, waiting"),
        pytest.param("X=running", False, "Pending", id="restartable init container running"),
        pytest.param("X=stopped", False, "Pending", id="restartable init container stopped"),
        pytest.param("X=waiting-after-0", False, "Pending", id="restartable init container waiting, terminated zero"),
        pytest.param(
            "X=waiting-after-failure", False, "Pending", id="restartable init container waiting, terminated non-zero"
        ),
        pytest.param("X=waiting", False, "Pending", id="restartable init container waiting, not terminated"),
        pytest.param(
            "X=started A=running", True, "Pending", id="restartable init container started, one main container running"
        ),
        pytest.param(
            "X=started A=succeeded B=succeeded",
            True,
            "Running",
            id="restartable init container started, main containers succeeded",
        ),
        pytest.param(
            "X=running A=succeeded B=succeeded",
            True,
            "Running",
            id="restartable init container re-running, main containers succeeded",
        ),
        pytest.param("X=succeeded A=succeeded B=succeeded", True, "Succeeded", id="all containers succeeded"),
        pytest.param(
            "X=failed A=succeeded B=succeeded",
            True,
            "Succeeded",
            id="restartable init container terminated non-zero, main containers succeeded",
        ),
        pytest.param(
            "X=waiting-after-0 A=succeeded B=succeeded",
            True,
            "Succeeded",
            id="backoff crashloop restartable init container, main containers succeeded",
        ),
        pytest.param(
            "X=waiting-after-failure A=succeeded B=succeeded",
            True,
            "Succeeded",
            id="backoff crashloop with non-zero restartable init container, main containers succeeded",
        ),
    ],
)
def test_restart_never_with_a_sidecar(states: str, initialized: bool, expected: str) -> None:
    assert phase(spec("Never", SIDECAR), states, initialized=initialized) == expected


@pytest.mark.parametrize(
    ("states", "initialized", "expected"),
    [
        pytest.param(
            "X=running Y=running A=running",
            False,
            "Pending",
            id="regular init containers, restartable init container and regular container are all running",
        ),
        pytest.param(
            "X=running Y=running A=stopped",
            False,
            "Pending",
            id="regular containers is stopped, restartable init container and regular int container are both running",
        ),
        pytest.param(
            "X=succeeded Y=running A=stopped",
            False,
            "Pending",
            id="re-created sandbox: regular init container is succeeded, restartable init container is running, "
            "old regular containers is stopped",
        ),
        pytest.param(
            "X=succeeded Y=running A=stopped",
            True,
            "Running",
            id="regular init container is succeeded, restartable init container is running, "
            "regular containers is stopped",
        ),
        pytest.param(
            "X=succeeded Y=running A=running",
            True,
            "Running",
            id="regular init container is succeeded, restartable init container and regular containers are both "
            "running",
        ),
    ],
)
def test_restart_always_and_the_pod_has_run(states: str, initialized: bool, expected: str) -> None:
    both = {
        "initContainers": [{"name": "X"}, {"name": "Y", "restartPolicy": "Always"}],
        "containers": [{"name": "A"}],
        "restartPolicy": "Always",
    }
    assert phase(both, states, initialized=initialized) == expected


def container(name: str, policy: str = "", *, rule: bool = False) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name}
    if policy:
        made["restartPolicy"] = policy
    if rule:
        exit_codes = {"operator": "In", "values": [42]}
        made["restartPolicyRules"] = [{"action": "RestartAllContainers", "exitCodes": exit_codes}]
    return made


@pytest.mark.parametrize(
    ("policy", "containers", "states", "expected"),
    [
        pytest.param("Always", "A:Never", "A=failed", "Failed", id="container with restart policy Never failed"),
        pytest.param(
            "Always", "A:OnFailure", "A=failed", "Running", id="container with restart policy OnFailure failed"
        ),
        pytest.param("Always", "A:Always", "A=failed", "Running", id="container with restart policy Always failed"),
        pytest.param(
            "Never",
            "A:Always B:",
            "A=succeeded B=failed",
            "Running",
            id="At least one container with restartable container-level restart policy failed",
        ),
        pytest.param(
            "Always",
            "A:Never B:OnFailure",
            "A=failed B=succeeded",
            "Failed",
            id="All containers without restartable container-level restart policy failed",
        ),
        pytest.param(
            "Always", "A:Never B:OnFailure", "A=succeeded B=succeeded", "Succeeded", id="All containers succeeded"
        ),
    ],
)
def test_container_restart_policy(policy: str, containers: str, states: str, expected: str) -> None:
    made = [container(*each.split(":")) for each in containers.split()]
    assert phase({"containers": made, "restartPolicy": policy}, states, initialized=True) == expected


@pytest.mark.parametrize(
    ("policy", "own", "expected"),
    [
        pytest.param("Always", "Never", "Failed", id="init container with restart policy Never failed"),
        pytest.param("Never", "OnFailure", "Pending", id="init container with restart policy OnFailure failed"),
        pytest.param("Never", "Always", "Pending", id="container with restart policy Always failed"),
    ],
)
def test_container_restart_policy_of_init_containers(policy: str, own: str, expected: str) -> None:
    whole = {"initContainers": [container("X", own)], "containers": [container("A")], "restartPolicy": policy}
    assert phase(whole, "X=failed", initialized=True) == expected


RULE = container("rule", "Never", rule=True)
SIDECAR_RULE = container("rule", "Always", rule=True)
INIT, REGULAR = container("init"), container("regular")


@pytest.mark.parametrize(
    ("init", "containers", "states", "expected"),
    [
        pytest.param([], [RULE], "rule=failed-42", "Running", id="regular container triggers RestartAllContainers"),
        pytest.param(
            [RULE],
            [],
            "rule=failed-42 regular=waiting",
            "Pending",
            id="init container triggers RestartAllContainers",
        ),
        pytest.param(
            [SIDECAR_RULE],
            [REGULAR],
            "rule=failed-42 regular=waiting",
            "Pending",
            id="sidecar container triggers RestartAllContainers",
        ),
        pytest.param(
            [SIDECAR_RULE, INIT],
            [REGULAR],
            "rule=failed-42 init=waiting regular=waiting",
            "Pending",
            id="sidecar container triggers RestartAllContainers, kills another init container",
        ),
        pytest.param(
            [],
            [RULE],
            "rule=restarting-all",
            "Running",
            id="regular container triggers RestartAllContainers, cleaned up",
        ),
        pytest.param(
            [RULE],
            [],
            "rule=restarting-all regular=waiting",
            "Pending",
            id="init container triggers RestartAllContainers, cleaned up",
        ),
        pytest.param(
            [SIDECAR_RULE],
            [REGULAR],
            "rule=restarting-all regular=waiting",
            "Pending",
            id="sidecar container triggers RestartAllContainers, cleaned up",
        ),
        pytest.param(
            [SIDECAR_RULE, INIT],
            [REGULAR],
            "rule=restarting-all rule=restarting-all regular=waiting",
            "Pending",
            id="sidecar container triggers RestartAllContainers, kills another init container, cleaned up",
        ),
        pytest.param(
            [INIT],
            [RULE],
            "init=succeeded rule=restarting-all",
            "Running",
            id="regular container triggered RestartAllContainers; init container succeeded",
        ),
        pytest.param(
            [INIT],
            [RULE],
            "init=failed rule=restarting-all",
            "Failed",
            id="regular container triggered RestartAllContainers; init container failed",
        ),
        pytest.param(
            [RULE],
            [REGULAR],
            "rule=failed-42 regular=waiting",
            "Pending",
            id="init container triggered RestartAllContainers",
        ),
        pytest.param(
            [RULE],
            [REGULAR],
            "rule=succeeded regular=waiting",
            "Pending",
            id="init container triggered RestartAllContainers; init container succeeds",
        ),
        pytest.param(
            [SIDECAR_RULE],
            [REGULAR],
            "rule=restarting-all regular=restarting-all",
            "Running",
            id="sidecar container triggered RestartAllContainers kills regular container",
        ),
        pytest.param(
            [SIDECAR_RULE],
            [REGULAR],
            "rule=running regular=restarting-all",
            "Running",
            id="sidecar container triggered RestartAllContainers kills regular container; sidecar running",
        ),
        pytest.param(
            [SIDECAR_RULE, INIT],
            [REGULAR],
            "rule=running rule=restarting-all regular=waiting",
            "Pending",
            id="sidecar container triggered RestartAllContainers; kills init container; sidecar running",
        ),
    ],
)
def test_restart_all_containers(
    init: list[dict[str, Any]], containers: list[dict[str, Any]], states: str, expected: str
) -> None:
    whole = {"initContainers": init, "containers": containers, "restartPolicy": "Never"}
    assert phase(whole, states, initialized=True) == expected

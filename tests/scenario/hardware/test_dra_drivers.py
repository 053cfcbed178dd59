"""DRA drivers on nodes, and pods that claim devices."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

from kubesim.scenario.language.nodes.device_items import DraDriverItem
from kubesim.trace.records import ApiWrite, CriCall, Note
from tests.support.cluster.devices import DRIVER, claim, device_class, request
from tests.support.played import Played, container, pod

Json = dict[str, Any]
ENTRY = "status.containerStatuses[0].allocatedResourcesStatus[0]"
PREPARE = "Failed to prepare dynamic resources: prepare dynamic resources: "


def claiming(name: str = "one", claim_name: str = "claim", **spec: Any) -> Json:
    """A pod with claims, scheduled unless it names a node."""
    whole = {"resourceClaims": [{"name": "gpu", "resourceClaimName": claim_name}], **spec}
    made = pod(name, **whole)
    for each in made["spec"]["containers"]:
        each.setdefault("resources", {"claims": [{"name": "gpu"}]})
    return made


def claimed(name: str = "claim", *requests: Json) -> Json:
    made = claim(name, *requests)
    return {**made, "metadata": {"name": name}}


def play(*steps: Json, objects: list[Json], driver: Json | None = None, **spec: Any) -> Played:
    drivers = [
        {"name": DRIVER, "devices": ["a", "b"], "prepareTime": "100ms", "unprepareTime": "100ms", **(driver or {})}
    ]
    nodes = [{"name": "node-1", "draDrivers": drivers}]
    return Played(*steps, objects=[device_class(), *objects], nodes=nodes, scheduler="on", **spec)


def notes(played: Played, text: str) -> list[float]:
    return [round(r.t / 1e6, 1) for r in played.records if isinstance(r, Note) and text in r.text]


def test_a_container_gets_only_the_devices_of_its_requests() -> None:
    both = [
        container(
            "x", "echo $GPU_0$GPU_1 > /dev/termination-log", resources={"claims": [{"name": "gpu", "request": "r1"}]}
        ),
        container("y", "echo $GPU_0$GPU_1 > /dev/termination-log", resources={"claims": [{"name": "gpu"}]}),
        container("z", "echo [$GPU_0$GPU_1] > /dev/termination-log", resources={"requests": {"cpu": "1m"}}),
    ]
    played = play(
        objects=[claimed("claim", request("r0"), request("r1")), claiming(containers=both, restartPolicy="Never")],
        driver={"env": {"GPU_{n}": "{device}"}},
        expect=[
            {"pod": "one", "field": f"status.containerStatuses[{n}].state.terminated.message", "equals": f"{text}\n"}
            for n, text in enumerate(["b", "ab", "[]"])
        ],
    )
    assert played.result.expectations_failed == ()
    made = {r.container: r.args for r in played.records if isinstance(r, CriCall) and r.call == "CreateContainer"}
    assert {name: args.get("cdiDevices") for name, args in made.items()} == {
        "x": [f"{DRIVER}/device=b"],
        "y": [f"{DRIVER}/device=a", f"{DRIVER}/device=b"],
        "z": None,
    }


def test_a_shared_claim_is_prepared_with_the_first_pod_and_unprepared_with_the_last() -> None:
    played = play(
        {"at": "20s", "delete": {"pod": "one"}},
        {"at": "30s", "delete": {"pod": "two"}},
        objects=[claimed(), claiming("one"), claiming("two")],
    )
    assert len(notes(played, "NodePrepareResources")) in (1, 2)  # both may find it unprepared
    (moment,) = notes(played, "NodeUnprepareResources")
    assert moment > 30


def test_a_driver_that_never_registers() -> None:
    played = play(objects=[claimed(), claiming()], driver={"running": False})
    assert played.messages("FailedPrepareDynamicResources") == [f"{PREPARE}DRA driver {DRIVER} is not registered"]
    assert played.result.phases == {"default/one": "Pending"}


def test_a_call_that_times_out() -> None:
    played = play(objects=[claimed(), claiming()], driver={"prepareTime": "60s"})
    timeout = "rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    assert played.messages("FailedPrepareDynamicResources") == [f"{PREPARE}NodePrepareResources: {timeout}"]


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        pytest.param(
            None, 'fetch ResourceClaim claim: resourceclaims.resource.k8s.io "claim" not found', id="no claim"
        ),
        pytest.param(claimed(), r"pod one \(.+\) is not allowed to use ResourceClaim claim \(.+\)", id="not allocated"),
    ],
)
def test_a_pod_with_a_node_name(manifest: Json | None, problem: str) -> None:
    """No scheduler allocates for it. An unallocated claim is not reserved either."""
    played = play(objects=[*([manifest] if manifest else []), claiming(nodeName="node-1")])
    (message,) = played.messages("FailedPrepareDynamicResources")
    assert re.fullmatch(re.escape(PREPARE) + problem, message)


def test_a_pod_remains_while_its_claim_cannot_be_unprepared() -> None:
    played = play(
        {"at": "20s", "delete": {"pod": "one"}},
        objects=[claimed(), claiming()],
        driver={"unprepareErrors": ["busy", "busy"]},
        duration="120s",
    )
    failed, done = notes(played, "failed: busy"), notes(played, ": unprepared")
    assert len(failed) == 2
    assert len(done) == 1
    assert (
        played.sync_errors("one")
        == ["unprepare dynamic resources: NodeUnprepareResources failed for ResourceClaim claim: busy"] * 2
    )
    (gone,) = played.when(ApiWrite, "one", verb="delete", by="kubelet")
    assert gone > done[0] > failed[1]


def test_a_restarted_kubelet_knows_the_prepared_claims() -> None:
    """A restarted container has its devices, although claims are not prepared again for a pod with a sandbox."""
    again = [container("main", "sleep 30", resources={"claims": [{"name": "gpu"}]})]
    played = play(
        {"at": "10s", "restart": {"what": "kubelet", "downFor": "5s"}},
        objects=[claimed(), claiming(containers=again)],
    )
    assert len(notes(played, "NodePrepareResources")) == 1
    made = [r.args for r in played.records if isinstance(r, CriCall) and r.call == "CreateContainer"]
    assert [args["cdiDevices"] for args in made] == [[f"{DRIVER}/device=a"]] * 2


def test_claims_of_a_pod_deleted_while_the_kubelet_was_down() -> None:
    played = play(
        {"at": "10s", "stop": {"what": "kubelet"}},
        {"at": "11s", "delete": {"pod": "one", "gracePeriodSeconds": 0}},
        {"at": "15s", "start": {"what": "kubelet"}},
        objects=[claimed(), claiming()],
        duration="150s",
    )
    (moment,) = notes(played, "NodeUnprepareResources")
    assert 75 <= moment < 77  # the second round of the reconcile loop: at the first, no source had reported


def test_the_health_of_a_device_is_in_the_status() -> None:
    played = play(
        {"at": "10s", "deviceHealth": {"driver": DRIVER, "device": "a", "health": "Unhealthy"}},
        objects=[claimed(), claiming()],
        driver={"devices": [{"name": "a", "health": "Healthy"}]},
        expect=[
            {"pod": "one", "field": f"{ENTRY}.name", "equals": "claim:gpu"},
            {"pod": "one", "field": f"{ENTRY}.resources[0].resourceID", "equals": f"{DRIVER}/device=a"},
            {"pod": "one", "field": f"{ENTRY}.resources[0].health", "equals": "Healthy", "by": "9s"},
            {"pod": "one", "field": f"{ENTRY}.resources[0].health", "equals": "Unhealthy", "by": "11s"},
        ],
    )
    assert played.result.expectations_failed == ()


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"name": DRIVER, "devices": ["a", "a"]}, "two devices have the same name"),
        ({"name": DRIVER, "devices": ["A"]}, "String should match pattern"),
        ({"name": DRIVER, "devices": [{"name": "a", "capacity": {"memory": "x"}}]}, "quantities must match"),
        ({"name": DRIVER, "devices": ["a"], "prepareError": "x"}, "unknown field; did you mean prepareErrors?"),
    ],
)
def test_invalid_drivers_and_claims(item: Json, problem: str) -> None:
    with pytest.raises(ValidationError, match=problem.replace("?", r"\?")):
        DraDriverItem.model_validate(item)


def test_short_form_of_attributes() -> None:
    item = DraDriverItem.model_validate(
        {
            "name": DRIVER,
            "devices": [
                {
                    "name": "a",
                    "attributes": {"model": "x", "numa": 1, "fast": True, "driver": {"version": "1.0.0"}},
                    "capacity": {"memory": "1Gi"},
                }
            ],
        }
    )
    assert item.devices[0].listed == {
        "name": "a",
        "attributes": {
            "model": {"string": "x"},
            "numa": {"int": 1},
            "fast": {"bool": True},
            "driver": {"version": "1.0.0"},
        },
        "capacity": {"memory": {"value": "1Gi"}},
    }

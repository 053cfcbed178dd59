"""The kubectl commands supported in workload stories."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.conformance.stories.playing import CannotPlay
from kubesim.conformance.workloads.workload_player import play

POD = {
    "containers": [{"name": "main", "image": "local/busybox:1", "command": ["sleep", "100"]}],
    "terminationGracePeriodSeconds": 1,
}
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD},
    },
}
NODE = {"labels": {}, "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
Json = dict[str, Any]


def after(*commands: list[str]) -> list[Json]:
    """The objects after these commands, executed at intervals of 5 s."""
    actions = [{"at": 5 * (n + 1), "do": "kubectl", "args": args} for n, args in enumerate(commands)]
    story = {
        "name": "story",
        "wallClockStart": 1_800_000_000.0,
        "endSeconds": 5 * len(commands) + 20,
        "nodes": [{"name": "real-0", **NODE}, {"name": "hollow-0", **NODE}],
        "manifests": [WEB],
        "actions": actions,
    }
    last: dict[tuple[str, str], Json] = {}
    for change in play(story, 1)["changes"]:
        last[change["kind"], change["name"]] = change
    return [change for change in last.values() if change["type"] != "DELETED"]


def the(kind: str, changes: list[Json]) -> list[Json]:
    return [change["object"] for change in changes if change["kind"] == kind]


def test_rollout_restart_and_undo_create_revisions() -> None:
    changes = after(["rollout", "restart", "deployment/web"], ["rollout", "undo", "deployment/web"])
    revisions = {
        rs["metadata"]["annotations"]["deployment.kubernetes.io/revision"]: rs["spec"]["replicas"]
        for rs in the("ReplicaSet", changes)
    }
    assert revisions == {"2": 0, "3": 2}


def test_rollout_pause_defers_a_new_template() -> None:
    changes = after(["rollout", "pause", "deploy/web"], ["set", "image", "deployment/web", "main=local/busybox:2"])
    assert len(the("ReplicaSet", changes)) == 1
    changes = after(
        ["rollout", "pause", "deploy/web"],
        ["set", "image", "deployment/web", "main=local/busybox:2"],
        ["rollout", "resume", "deploy/web"],
    )
    assert len(the("ReplicaSet", changes)) == 2


def test_scale_label_and_annotate() -> None:
    changes = after(
        ["scale", "deployment/web", "--replicas=3"],
        ["label", "deployment", "web", "team=a"],
        ["annotate", "deployment/web", "note=b"],
    )
    (web,) = the("Deployment", changes)
    assert web["status"]["readyReplicas"] == 3
    assert web["metadata"]["labels"] == {"team": "a"}
    assert web["metadata"]["annotations"]["note"] == "b"


def test_delete_leaves_orphans_if_requested() -> None:
    assert not the("Pod", after(["delete", "deployment", "web"]))
    changes = after(["delete", "deployment/web", "--cascade=orphan"])
    assert not the("Deployment", changes)
    assert len(the("ReplicaSet", changes)) == 1
    assert len(the("Pod", changes)) == 2


def test_cordon_and_drain_empty_a_node() -> None:
    changes = after(
        ["cordon", "hollow-0"],
        ["scale", "deployment/web", "--replicas=3"],
        ["uncordon", "hollow-0"],
        ["drain", "real-0"],
    )
    assert {pod["spec"]["nodeName"] for pod in the("Pod", changes)} == {"hollow-0"}


@pytest.mark.parametrize("args", [["top", "nodes"], ["scale", "thing/web", "--replicas=1"]])
def test_an_unsupported_command_is_an_error(args: list[str]) -> None:
    with pytest.raises(CannotPlay):
        after(args)

"""Which pods protect a claim from deletion, from upstream's table (pvc_protection_controller_test.go)."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.cluster.controllers.volumes.protection import is_candidate, lacks, uses

Json = dict[str, Any]
CLAIM = {"name": "d", "persistentVolumeClaim": {"claimName": "c"}}
EPHEMERAL = {"name": "s", "ephemeral": {"volumeClaimTemplate": {}}}
DELETED = {"deletionTimestamp": "2024-01-01T00:00:00Z"}


def pod(*volumes: Json, node: str = "n", phase: str = "Running", **metadata: Any) -> Pod:
    whole = {"metadata": {"name": "p", "namespace": "ns", "uid": "u", **metadata}, "status": {"phase": phase}}
    return Pod.from_json({**whole, "spec": {"nodeName": node, "volumes": list(volumes)}})


def claim(name: str = "c", owner: str = "", **metadata: Any) -> ApiObject:
    owners = [{"kind": "Pod", "name": "p", "uid": owner, "controller": True}] if owner else []
    whole = {"name": name, "namespace": "ns", "ownerReferences": owners, **metadata}
    return ApiObject.from_json({"kind": "PersistentVolumeClaim", "metadata": whole})


@pytest.mark.parametrize(
    ("of", "asked", "expected"),
    [
        (pod(CLAIM), claim(), True),
        (pod({"name": "e", "emptyDir": {}}, CLAIM), claim(), True),
        (pod(), claim(), False),
        (pod(CLAIM), claim("other"), False),
        (pod(CLAIM, node=""), claim(), False),
        (pod(CLAIM, phase="Failed"), claim(), True),  # until it is deleted
        (pod(CLAIM, **DELETED), claim(), True),
        (pod(EPHEMERAL), claim("p-s", owner="u"), True),
        (pod(EPHEMERAL), claim("p-s", owner="x"), False),
        (pod(EPHEMERAL), claim("p-s"), False),
        (pod(EPHEMERAL, deletionGracePeriodSeconds=30, **DELETED), claim("p-s", owner="u"), True),
        (pod(EPHEMERAL, deletionGracePeriodSeconds=0, **DELETED), claim("p-s", owner="u"), False),
        (pod(CLAIM, deletionGracePeriodSeconds=0, **DELETED), claim(), True),
    ],
)
def test_which_pods_use_a_claim(of: Pod, asked: ApiObject, expected: bool) -> None:
    assert uses(of, asked) is expected


def test_when_the_finalizer_is_added_and_removed() -> None:
    finalizer = "kubernetes.io/pvc-protection"
    new, held = claim(), claim(finalizers=[finalizer])
    gone, ending = claim(**DELETED), claim(finalizers=[finalizer], **DELETED)
    assert [lacks(each, finalizer) for each in (new, held, gone, ending)] == [True, False, False, False]
    assert [is_candidate(each, finalizer) for each in (new, held, gone, ending)] == [False, False, False, True]

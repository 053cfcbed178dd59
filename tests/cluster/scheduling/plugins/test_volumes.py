"""Claims and volumes: bound, waiting for their first consumer, limited, restricted, zonal.

Adapted from: plugins/volumebinding volume_binding_test.go TestVolumeBinding, plugins/volumerestrictions,
plugins/nodevolumelimits and plugins/volumezone `_test.go` in part.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.plugin import CycleState
from kubesim.cluster.scheduling.framework.status import Status
from kubesim.cluster.scheduling.plugins.volumes import (
    node_volume_limits,
    volume_binding,
    volume_restrictions,
    volume_zone,
)
from kubesim.cluster.scheduling.plugins.volumes.volume_binding import PodVolumes, find_pod_volumes
from tests.support.cluster.scheduled import REFUSED, UNRESOLVABLE, answers, cycle_of, node, pod, pod_object

Json = dict[str, Any]
NODES = [node("n1", labels={"foo": "bar"}), node("n2", labels={"foo": "barbar"})]


def claim(name: str, volume: str = "", storage_class: str = "", **fields: Any) -> ApiObject:
    """A claim, bound if a volume is given."""
    modes = fields.pop("modes", ["ReadWriteOnce"])
    annotations = dict(fields.pop("annotations", {}))
    spec: Json = {"accessModes": modes, "resources": {"requests": {"storage": fields.pop("size", "1Gi")}}}
    if volume:
        spec["volumeName"] = volume
        annotations["pv.kubernetes.io/bind-completed"] = "yes"
    if storage_class:
        spec["storageClassName"] = storage_class
    metadata = {"name": name, "namespace": "default", "annotations": annotations, **fields.pop("metadata", {})}
    return ApiObject.from_json({"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, **fields})


def volume(name: str, storage_class: str = "", on: str = "", size: str = "1Gi", **spec: Any) -> ApiObject:
    metadata = {"name": name, "labels": spec.pop("labels", {})}
    if on:
        expressions = [{"key": "foo", "operator": "In", "values": [on]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
    spec = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": storage_class, **spec}
    return ApiObject.from_json(
        {"kind": "PersistentVolume", "metadata": metadata, "spec": spec, "status": {"phase": "Available"}}
    )


def storage_class(name: str, mode: str, provisioner: str = "kubernetes.io/no-provisioner", **fields: Any) -> ApiObject:
    metadata = {"name": name}
    return ApiObject.from_json(
        {"kind": "StorageClass", "metadata": metadata, "volumeBindingMode": mode, "provisioner": provisioner, **fields}
    )


WAIT = storage_class("wait", "WaitForFirstConsumer")
PROVISION = storage_class("provision", "WaitForFirstConsumer", "csi.example")
IMMEDIATE = storage_class("immediate", "Immediate")


def cycle(*objects: ApiObject, claims: tuple[str, ...] = ("a",), pods: tuple[Pod, ...] = (), **spec: Any) -> CycleState:
    return cycle_of(pod_object(pod("p", claims=claims, **spec)), NODES, pods, objects)


def reasons(found: CycleState) -> list[tuple[str, ...]]:
    """The reason of each node, or the common one."""
    state = volume_binding.pre_filter(found)
    if isinstance(state, Status):
        return [state.reasons]
    if state is None:
        return [()] * len(NODES)
    found.states[volume_binding.NAME] = state
    statuses = [volume_binding.filter_node(found, each) for each in found.snapshot.nodes.values()]
    return [() if status is None else status.reasons for status in statuses]


NO_MATCH, WRONG_NODE = (volume_binding.BIND_CONFLICT,), (volume_binding.NODE_CONFLICT,)


@pytest.mark.parametrize(
    ("objects", "claims", "expected"),
    [
        ((), (), [(), ()]),
        ((claim("a", "va"), volume("va")), ("a",), [(), ()]),
        ((claim("a", "va"),), ("a",), [(volume_binding.VOLUME_NOT_EXIST,)] * 2),
        ((), ("a",), [('persistentvolumeclaim "a" not found',)]),
        ((claim("a", "va"), volume("va"), WAIT, claim("b", storage_class="wait"), volume("vb", "wait")), ("a", "b"),
         [(), ()]),
        ((WAIT, claim("a", storage_class="wait")), ("a",), [NO_MATCH, NO_MATCH]),
        ((claim("a", "va"), volume("va"), IMMEDIATE, claim("b", storage_class="immediate")), ("a", "b"),
         [(volume_binding.UNBOUND_IMMEDIATE,)]),
        ((claim("a"),), ("a",), [(volume_binding.UNBOUND_IMMEDIATE,)]),
        ((claim("a", "va"), volume("va", on="bar")), ("a",), [(), WRONG_NODE]),
        ((claim("a", "va"), volume("va", on="bar"), WAIT, claim("b", storage_class="wait")), ("a", "b"),
         [NO_MATCH, WRONG_NODE + NO_MATCH]),
        ((claim("a", "va", status={"phase": "Lost"}),), ("a",),
         [('persistentvolumeclaim "a" bound to non-existent persistentvolume "va"',)]),
        ((claim("a", "va", metadata={"deletionTimestamp": "2000-01-01T00:00:00Z"}),), ("a",),
         [('persistentvolumeclaim "a" is being deleted',)]),
        ((WAIT, claim("a", storage_class="wait"), volume("va", "wait", on="barbar")), ("a",), [NO_MATCH, ()]),
        ((WAIT, claim("a", storage_class="wait"), volume("va", "wait", size="1Mi")), ("a",), [NO_MATCH, NO_MATCH]),
        ((WAIT, claim("a", storage_class="wait"), volume("va", "other")), ("a",), [NO_MATCH, NO_MATCH]),
        ((WAIT, claim("a", storage_class="wait", modes=["ReadWriteMany"]), volume("va", "wait")), ("a",),
         [NO_MATCH, NO_MATCH]),
        # One volume does not satisfy two claims.
        ((WAIT, claim("a", storage_class="wait"), claim("b", storage_class="wait"), volume("va", "wait")), ("a", "b"),
         [NO_MATCH, NO_MATCH]),
        # Provisioning needs an allowed node, and stays on the selected one.
        ((PROVISION, claim("a", storage_class="provision")), ("a",), [(), ()]),
        ((storage_class("provision", "WaitForFirstConsumer", "csi.example",
                        allowedTopologies=[{"matchLabelExpressions": [{"key": "foo", "values": ["bar"]}]}]),
          claim("a", storage_class="provision")), ("a",), [(), NO_MATCH]),
        ((PROVISION, claim("a", storage_class="provision",
                           annotations={"volume.kubernetes.io/selected-node": "n2"})), ("a",), [NO_MATCH, ()]),
    ],
)  # fmt: skip
def test_volume_binding(
    objects: tuple[ApiObject, ...], claims: tuple[str, ...], expected: list[tuple[str, ...]]
) -> None:
    assert reasons(cycle(*objects, claims=claims)) == expected


def test_the_smallest_sufficient_volume_is_bound_and_other_claims_are_provisioned() -> None:
    objects = (
        storage_class("wait", "WaitForFirstConsumer", "csi.example"),
        claim("a", storage_class="wait", size="2Gi"),
        claim("b", storage_class="wait", size="1Gi"),
        claim("c", storage_class="wait", size="50Gi"),
        volume("v1", "wait", size="1Gi"),
        volume("v5", "wait", size="5Gi"),
        volume("v3", "wait", size="3Gi"),
    )
    found = cycle(*objects, claims=("a", "b", "c"))
    assert reasons(found) == [(), ()]
    volumes = find_pod_volumes(found, found.snapshot.nodes["n1"])
    assert isinstance(volumes, PodVolumes)
    assert {c.metadata.name: v.metadata.name for v, c in volumes.static} == {"b": "v1", "a": "v3"}
    assert [c.metadata.name for c in volumes.dynamic] == ["c"]


def test_an_ephemeral_volume_waits_for_its_claim() -> None:
    ephemeral = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    waiting = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-scratch"'
    assert reasons(cycle(claims=(), volumes=ephemeral)) == [(waiting,)]
    not_ours = reasons(cycle(claim("p-scratch", "v"), volume("v"), claims=(), volumes=ephemeral))
    assert not_ours == [("PVC default/p-scratch was not created for pod default/p (pod is not owner)",)]


def test_a_read_write_once_pod_claim_has_one_pod() -> None:
    once = claim("a", "va", modes=["ReadWriteOncePod"])
    other = pod_object(pod("other", claims=("a",)), "n1")
    assert answers(volume_restrictions.PLUGIN, cycle(once, volume("va"))) == ["", ""]
    used = cycle(once, volume("va"), pods=(other,))
    assert answers(volume_restrictions.PLUGIN, used) == [REFUSED, REFUSED]
    # In a dry run the other pod is removed.
    used.update(next(iter(used.snapshot.nodes["n1"].pods.values())), NODES[0], -1)
    assert volume_restrictions.filter_node(used, used.snapshot.nodes["n2"]) is None


def test_two_pods_on_a_node_cannot_write_the_same_disk() -> None:
    def disks(read_only: bool) -> list[Json]:
        return [{"name": "d", "gcePersistentDisk": {"pdName": "disk", "readOnly": read_only}}]

    for mine, theirs, expected in ((False, False, REFUSED), (True, False, REFUSED), (True, True, "")):
        other = pod_object(pod("other", volumes=disks(theirs)), "n1")
        found = cycle(claims=(), pods=(other,), volumes=disks(mine))
        assert answers(volume_restrictions.PLUGIN, found) == [expected, ""]


def csi(name: str) -> Json:
    return {"csi": {"driver": "csi.example", "volumeHandle": name}}


def test_the_driver_limits_the_volumes_of_a_node() -> None:
    limit = ApiObject.from_json(
        {
            "kind": "CSINode",
            "metadata": {"name": "n1"},
            "spec": {"drivers": [{"name": "csi.example", "allocatable": {"count": 1}}]},
        }
    )
    objects = (limit, claim("a", "va"), volume("va", **csi("va")), claim("b", "vb"), volume("vb", **csi("vb")))
    other = pod_object(pod("other", claims=("b",)), "n1")
    assert answers(node_volume_limits.PLUGIN, cycle(*objects)) == ["", ""]
    assert answers(node_volume_limits.PLUGIN, cycle(*objects, pods=(other,))) == [REFUSED, ""]
    # An attached volume counts once.
    assert answers(node_volume_limits.PLUGIN, cycle(*objects, claims=("b",), pods=(other,))) == ["", ""]
    # A volume to be provisioned counts for the driver of its class.
    waiting = (*objects, PROVISION, claim("c", storage_class="provision"))
    assert answers(node_volume_limits.PLUGIN, cycle(*waiting, claims=("c",), pods=(other,))) == [REFUSED, ""]


def test_a_volume_requires_its_zone() -> None:
    zone = "topology.kubernetes.io/zone"
    nodes = [node("in", labels={zone: "z1"}), node("out", labels={zone: "z2"}), node("nowhere")]
    objects = [claim("a", "va"), volume("va", labels={zone: "z1__z3"})]
    found = cycle_of(pod_object(pod("p", claims=("a",))), nodes, (), objects)
    assert answers(volume_zone.PLUGIN, found) == ["", UNRESOLVABLE, ""]
    without = cycle_of(pod_object(pod("p", claims=("a",))), nodes, (), objects[:1])
    assert answers(volume_zone.PLUGIN, without) == ['persistentvolume "va" not found']

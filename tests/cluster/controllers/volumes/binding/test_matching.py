"""Finding a volume for a claim, adapted from upstream's index_test.go."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.cluster.controllers.volumes.binding.matching import find_best_match, find_matching_volume

RWO, ROX, RWX = "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"


def volume(name: str, size: str, *modes: str, phase: str = "Available", host: str = "", **spec: Any) -> ApiObject:
    whole = {"capacity": {"storage": size}, "accessModes": list(modes or (RWO,)), **spec}
    if host:
        expressions = [{"key": "host", "operator": "In", "values": [host]}]
        whole["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
    metadata = {"name": name, **({"deletionTimestamp": "2024-01-01T00:00:00Z"} if phase == "ending" else {})}
    status = {"phase": "Available" if phase == "ending" else phase}
    return ApiObject.from_json({"kind": "PersistentVolume", "metadata": metadata, "spec": whole, "status": status})


def claim(size: str, *modes: str, **spec: Any) -> ApiObject:
    whole = {"accessModes": list(modes or (RWO,)), "resources": {"requests": {"storage": size}}, **spec}
    metadata = {"name": "c", "namespace": "ns", "uid": "u"}
    return ApiObject.from_json({"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": whole})


def found(asked: ApiObject, *volumes: ApiObject, delay_binding: bool = False) -> str:
    match = find_best_match(asked, volumes, delay_binding=delay_binding)
    return "" if match is None else match.metadata.name


DISKS = (
    volume("gce-5", "5G", RWO, ROX),
    volume("gce-1", "1G", RWO, ROX),
    volume("gce-8", "8G", RWO, ROX),
    volume("nfs-5", "5G", RWO, ROX, RWX),
    volume("nfs-1", "1G", RWO, ROX, RWX),
)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        (claim("500M", RWO), "gce-1"),
        (claim("1G", RWO, ROX), "gce-1"),
        (claim("1G", RWX), "nfs-1"),
        (claim("2G", RWX), "nfs-5"),
        (claim("6G", RWO), "gce-8"),
        (claim("6G", RWX), ""),
        (claim("20G", RWO), ""),
    ],
)
def test_fewest_access_modes_first_then_the_smallest(asked: ApiObject, name: str) -> None:
    assert found(asked, *DISKS) == name


def test_a_deleted_volume_or_one_of_another_claim_does_not_match() -> None:
    assert found(claim("1G"), volume("v", "1G", phase="ending")) == ""
    assert found(claim("1G"), volume("v", "1G", claimRef={"namespace": "ns", "name": "other"})) == ""
    assert found(claim("1G"), volume("v", "1G", claimRef={"namespace": "other", "name": "c"})) == ""
    assert found(claim("1G"), volume("v", "1G", claimRef={"namespace": "ns", "name": "c", "uid": "x"})) == ""


def test_a_prebound_volume_that_is_too_small_or_of_another_mode_does_not_match() -> None:
    mine: dict[str, Any] = {"claimRef": {"namespace": "ns", "name": "c"}}
    assert found(claim("1G"), volume("v", "5G", **mine)) == "v"
    assert found(claim("10G"), volume("v", "5G", **mine)) == ""
    assert found(claim("1G"), volume("v", "5G", volumeMode="Block", **mine)) == ""


def test_with_delayed_binding_only_a_prebound_volume_matches() -> None:
    free, mine = volume("free", "1G"), volume("mine", "9G", claimRef={"namespace": "ns", "name": "c"})
    assert found(claim("1G"), free, delay_binding=True) == ""
    assert found(claim("1G"), free, mine, delay_binding=True) == "mine"


@pytest.mark.parametrize(
    ("host", "excluded", "name"),
    [("a", (), "small-a"), ("b", (), "b"), ("c", (), ""), ("a", ("small-a",), "large-a")],
)
def test_the_scheduler_passes_a_node_and_excludes_chosen_volumes(
    host: str, excluded: tuple[str, ...], name: str
) -> None:
    volumes = [
        volume("large-a", "9G", host="a"),
        volume("small-a", "2G", host="a"),
        volume("b", "1G", host="b"),
        volume("many", "1G", RWX, host="a"),  # the wrong access mode
    ]
    match = find_matching_volume(claim("1G"), volumes, node_labels={"host": host}, excluded=excluded)
    assert ("" if match is None else match.metadata.name) == name


def test_a_prebound_volume_on_another_node_leaves_no_choice() -> None:
    mine = volume("mine", "1G", host="b", claimRef={"namespace": "ns", "name": "c"})
    volumes = [mine, volume("free", "1G", host="a")]
    assert find_matching_volume(claim("1G"), volumes, node_labels={"host": "a"}) is None

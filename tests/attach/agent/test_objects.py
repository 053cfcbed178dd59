"""Stand-ins for the objects that pods refer to: which keys they have."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.attach.agent.objects import CLAIM, PlaceholderObjects
from kubesim.attach.reading.references import data_keys
from kubesim.cluster.store.store import Store
from kubesim.kubelet.volumes.claims import create_volume_spec
from kubesim.kubelet.volumes.spec import VolumeError
from tests.support.attach.pods import pod, waiting

KEY = ("Secret", "shop", "token")


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ([], None),
        ([{"f:metadata": {}}], None),
        ([{"f:data": {".": {}, "f:a": {}}}], {"a"}),
        ([{"f:data": {"f:a": {}}}, {"f:data": {"f:b": {}}, "f:binaryData": {"f:c": {}}}], {"a", "b", "c"}),
    ],
)
def test_metadata_lists_the_keys_by_their_field_manager(fields: list[Any], keys: set[str] | None) -> None:
    assert data_keys({"managedFields": [{"fieldsV1": field} for field in fields]}) == keys


def test_a_stand_in_has_the_real_keys_or_else_those_that_pods_name() -> None:
    store = Store(lambda: 0, lambda: "u")
    found = {KEY: True}
    objects = PlaceholderObjects(store, found)
    env = [{"name": "T", "valueFrom": {"secretKeyRef": {"name": "token", "key": "t"}}}]
    objects.pod_updated(pod(waiting(""), spec={"containers": [{"name": "main", "image": "x", "env": env}]}))
    assert store.get(*KEY).extra["data"] == {"t": ""}
    objects.real_keys[KEY] = frozenset({"other"})
    objects.found_changed()
    assert store.get(*KEY).extra["data"] == {"other": ""}
    found[KEY] = False
    objects.found_changed()
    assert store.find(*KEY) is None


def test_an_existing_claim_is_bound() -> None:
    store = Store(lambda: 0, lambda: "u")
    found = {(CLAIM, "shop", "data"): False}
    objects = PlaceholderObjects(store, found)
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    subject = pod(waiting(""), spec={"containers": [{"name": "main", "image": "x"}], "volumes": [volume]})
    objects.pod_updated(subject)
    with pytest.raises(VolumeError, match="failed to fetch PVC"):
        create_volume_spec(volume, subject, ["data"], [], store.get)
    found[CLAIM, "shop", "data"] = True
    objects.found_changed()
    assert create_volume_spec(volume, subject, ["data"], [], store.get).name == "pv-shop-data"

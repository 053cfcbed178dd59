"""The two states of the world, and the operations for their differences."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.kubelet.volumes.reconcile.actions import next_action
from kubesim.kubelet.volumes.reconcile.actual_state import ActualStateOfWorld, MountedVolume
from kubesim.kubelet.volumes.reconcile.desired_state import DesiredStateOfWorld
from kubesim.kubelet.volumes.spec import PLUGINS, VolumeError, VolumeSpec


def make_pod(uid: str = "a") -> Pod:
    return Pod.from_json({"metadata": {"name": f"pod-{uid}", "namespace": "ns", "uid": uid}, "spec": {}})


def inline(name: str, **source: Any) -> VolumeSpec:
    return VolumeSpec(name, {"name": name, **source})


def persistent(name: str) -> VolumeSpec:
    source = {"csi": {"driver": "d", "volumeHandle": "h"}}
    return VolumeSpec(name, source, ApiObject.from_json({"metadata": {"name": name}, "spec": source}))


def mounted(name: str, field: str = "configMap", *, uncertain: bool = False) -> MountedVolume:
    return MountedVolume(name, PLUGINS[field], uncertain=uncertain)


def test_the_name_of_a_volume_is_specific_to_its_pod_unless_pods_share_it() -> None:
    desired = DesiredStateOfWorld()
    own = desired.add_pod_to_volume(make_pod(), inline("v", configMap={}), "v")
    shared = desired.add_pod_to_volume(make_pod(), persistent("pv-1"), "data")
    assert (own.volume_name, shared.volume_name) == ("kubernetes.io/configmap/a-v", "kubernetes.io/csi/d^h")
    assert desired.volume_names_of("a") == {"v": own.volume_name, "data": shared.volume_name}
    assert desired.volume_names_of("b") == {}


def test_a_source_without_a_plugin() -> None:
    with pytest.raises(VolumeError) as error:
        DesiredStateOfWorld().add_pod_to_volume(make_pod(), inline("v", quobyte={}), "v")
    assert str(error.value) == 'failed to get Plugin from volumeSpec for volume "v" err=no volume plugin matched'


def test_one_claim_under_two_names_is_one_volume() -> None:
    desired = DesiredStateOfWorld()
    for name in ("x", "y", "x"):
        volume = desired.add_pod_to_volume(make_pod(), persistent("pv-1"), name)
    assert volume.outer_names == ("x", "y")
    assert len(desired.volumes_of("a")) == 1


def test_errors_are_reported_once_each_in_order_and_then_forgotten() -> None:
    desired = DesiredStateOfWorld()
    for error in ("b", "a", "b"):
        desired.add_error_to_pod("a", error)
    assert desired.pop_pod_errors("a") == ["a", "b"]
    assert desired.pop_pod_errors("a") == []


def test_the_lifecycle_of_a_volume() -> None:
    desired, actual = DesiredStateOfWorld(), ActualStateOfWorld()
    name = desired.add_pod_to_volume(make_pod(), inline("v", configMap={}), "v").volume_name

    def action() -> str | None:
        return next_action("a", name, desired, actual)

    assert action() == "attach"
    actual.mark_volume_as_attached(name)
    assert action() == "mount"
    actual.add_pod_to_volume("a", mounted(name))
    assert action() is None
    assert actual.mark_remount_required("a") == [name]
    assert action() == "remount"
    actual.add_pod_to_volume("a", mounted(name))
    assert action() is None
    desired.delete_pod_from_volume("a", name)
    assert action() == "unmount"
    actual.delete_pod_from_volume("a", name)
    assert action() == "detach"
    actual.mark_volume_as_detached(name)
    assert action() is None


def test_a_volume_of_an_earlier_kubelet_is_mounted_again_if_it_is_desired_and_unmounted_otherwise() -> None:
    desired, actual = DesiredStateOfWorld(), ActualStateOfWorld()
    name = "kubernetes.io/configmap/a-v"
    actual.add_pod_to_volume("a", mounted(name, uncertain=True))
    assert actual.mounted_for("a") == []
    assert next_action("a", name, desired, actual) == "unmount"
    desired.add_pod_to_volume(make_pod(), inline("v", configMap={}), "v")
    assert next_action("a", name, desired, actual) == "mount"


def test_only_volumes_with_changing_content_are_set_up_again() -> None:
    actual = ActualStateOfWorld()
    for field in PLUGINS:
        actual.add_pod_to_volume("a", mounted(field, field))
    assert actual.mark_remount_required("a") == ["configMap", "secret", "downwardAPI", "projected"]


def test_a_shared_volume_stays_attached_while_a_pod_desires_it() -> None:
    desired, actual = DesiredStateOfWorld(), ActualStateOfWorld()
    for uid in ("a", "b"):
        name = desired.add_pod_to_volume(make_pod(uid), persistent("pv-1"), "data").volume_name
        actual.add_pod_to_volume(uid, mounted(name, "csi"))
    assert actual.is_mounted_elsewhere("a", name)
    desired.delete_pod_from_volume("a", name)
    actual.delete_pod_from_volume("a", name)
    assert next_action("a", name, desired, actual) is None
    assert not actual.is_mounted_elsewhere("b", name)
    desired.delete_pod_from_volume("b", name)
    actual.delete_pod_from_volume("b", name)
    assert next_action("b", name, desired, actual) == "detach"

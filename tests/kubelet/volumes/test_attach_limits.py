"""A node that cannot attach another volume rejects the pod.

Adapted from pkg/kubelet/kubelet_test.go TestVolumeAttachLimitExceededCleanup, and pkg/volume/csi
VerifyExhaustedResource.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.cluster.controllers.volumes.attachments import attachment_name
from kubesim.errors import ApiError
from kubesim.kubelet.volumes.attach_limits import VolumeAttachLimitExceeded, has_exhausted_resource
from kubesim.kubelet.volumes.manager import VolumeManager
from kubesim.kubelet.volumes.spec import VolumeSpec
from tests.support.played import Played, pod

Json = dict[str, Any]
CSI = {"csi": {"driver": "disks.example.com", "volumeHandle": "vol-1"}}
VOLUME = ApiObject.from_json({"metadata": {"name": "pv"}, "spec": CSI})
PERIOD = {"nodeAllocatableUpdatePeriodSeconds": 60}


@pytest.mark.parametrize(
    ("driver", "status", "volume", "expected"),
    [
        pytest.param(PERIOD, {"attachError": {"errorCode": 8}}, VOLUME, True, id="the driver has no room"),
        pytest.param(PERIOD, {"attachError": {"errorCode": 13}}, VOLUME, False, id="another error"),
        pytest.param(PERIOD, {"attachError": {"message": "x"}}, VOLUME, False, id="an error without a code"),
        pytest.param(PERIOD, {"attached": False}, VOLUME, False, id="no error"),
        pytest.param(PERIOD, None, VOLUME, False, id="no attachment"),
        pytest.param({}, {"attachError": {"errorCode": 8}}, VOLUME, False, id="the driver does not ask for it"),
        pytest.param(None, {"attachError": {"errorCode": 8}}, VOLUME, False, id="no CSIDriver"),
        pytest.param(PERIOD, {"attachError": {"errorCode": 8}}, None, False, id="a volume of the pod itself"),
    ],
)
def test_exhausted_resource(driver: Json | None, status: Json | None, volume: ApiObject | None, expected: bool) -> None:
    name = attachment_name("disks.example.com", "vol-1", "node-1")
    objects = {
        ("CSIDriver", "disks.example.com"): None if driver is None else {"spec": driver},
        ("VolumeAttachment", name): None if status is None else {"status": status},
    }

    def read(kind: str, namespace: str, name: str) -> ApiObject:
        found = objects.get((kind, name))
        if found is None:
            raise ApiError(404, "NotFound", "not found")
        return ApiObject.from_json({"metadata": {"name": name}, **found})

    assert has_exhausted_resource(VolumeSpec("v", CSI, volume), "node-1", read) == expected


def test_the_pod_is_rejected_and_all_its_volumes_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(self: VolumeManager, context: Any, pod: Any) -> None:
        raise VolumeAttachLimitExceeded("Node has reached its volume attachment limit, rejecting pod. x")

    monkeypatch.setattr(VolumeManager, "wait_for_attach_and_mount", refuse)
    made = pod("web", volumes=[{"name": "d", "emptyDir": {}}])
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "6"}}
    later = pod("later")
    later["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "6"}}
    story = Played({"at": "20s", "apply": later}, objects=[made])
    status = story.statuses("web")[-1]
    assert (status["phase"], status["reason"]) == ("Failed", "VolumeAttachmentLimitExceeded")
    assert story.events("web") == ["VolumeAttachmentLimitExceeded"]
    assert story.calls("web") == []
    assert story.result.phases["default/later"] == "Failed"  # it also has a volume for the token of its service account
    assert "OutOfcpu" not in story.events("later")

"""Attach limit errors: the CSI driver reports that a node has reached its limit of attached volumes.

Checked when a pod's volumes were not attached in time: the kubelet rejects the pod, so that its controller creates
another one elsewhere. Only for drivers whose CSIDriver enables it (nodeAllocatableUpdatePeriodSeconds).

Mirrors: pkg/volume/csi/csi_plugin.go VerifyExhaustedResource; pkg/kubelet/volumemanager/volume_manager.go
VolumeAttachLimitExceededError
"""

from __future__ import annotations

from kubesim.cluster.controllers.volumes.attachments import attachment_name
from kubesim.errors import ApiError, KubesimError
from kubesim.kubelet.volumes.claims import Read
from kubesim.kubelet.volumes.spec import VolumeSpec

REASON = "VolumeAttachmentLimitExceeded"
RESOURCE_EXHAUSTED = 8  # gRPC's code


class VolumeAttachLimitExceeded(KubesimError):
    """A volume of a pod cannot be attached: the node has reached its limit."""


def has_exhausted_resource(spec: VolumeSpec, node_name: str, read: Read) -> bool:
    source = spec.source.get("csi")
    if spec.persistent_volume is None or source is None:
        return False
    driver = source.get("driver", "")
    try:
        declared = read("CSIDriver", "", driver).to_json().get("spec") or {}
        if not declared.get("nodeAllocatableUpdatePeriodSeconds"):
            return False
        name = attachment_name(driver, source.get("volumeHandle", ""), node_name)
        status = read("VolumeAttachment", "", name).to_json().get("status") or {}
    except ApiError:
        return False
    return (status.get("attachError") or {}).get("errorCode") == RESOURCE_EXHAUSTED

"""Starts the controllers of claims and volumes with the first claim or volume."""

from __future__ import annotations

from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.volumes.attach_detach import AttachDetachController
from kubesim.cluster.controllers.volumes.binding.pv_controller import PersistentVolumeController
from kubesim.cluster.controllers.volumes.expand import ExpandController
from kubesim.cluster.controllers.volumes.protection import ClaimProtection, VolumeProtection
from kubesim.cluster.controllers.volumes.sidecars.attacher import CsiAttacher
from kubesim.cluster.controllers.volumes.sidecars.provisioner import CsiProvisioner
from kubesim.cluster.controllers.volumes.sidecars.resizer import CsiResizer


class VolumeControllers:
    def __init__(self, context: ControllerContext) -> None:
        for controller in (
            PersistentVolumeController,
            ClaimProtection,
            VolumeProtection,
            ExpandController,
            AttachDetachController,
            CsiProvisioner,
            CsiResizer,
            CsiAttacher,
        ):
            controller(context)

"""Image volumes: pulled in every sync of their pod, before any container starts.

If a pull fails, containers that mount the volume do not start; the reasons are those of a container image.

Mirrors: pkg/kubelet/kuberuntime/kuberuntime_manager.go getImageVolumes, toKubeContainerImageVolumes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Container, Pod
from kubesim.runtime.helper import EventRecorder
from kubesim.runtime.images.image_manager import ImageError, ImageManager
from kubesim.runtime.kuberuntime.act.container_start import ContainerStartFailed
from kubesim.runtime.protocol import SandboxConfig

ImageVolumePulls = Mapping[str, ImageError | None]  # by volume name

NO_PULLS: ImageVolumePulls = {}


def has_image_volumes(pod: Pod) -> bool:
    volumes = pod.spec.volumes
    return bool(volumes) and any(volume.get("image") is not None for volume in volumes)


async def pull_image_volumes(
    pod: Pod, images: ImageManager, pull_secrets: Sequence[ApiObject], sandbox: SandboxConfig | None
) -> ImageVolumePulls:
    pulls: dict[str, ImageError | None] = {}
    for volume in pod.spec.volumes:
        image = volume.get("image")
        if image is not None:
            pulls[volume.get("name", "")] = None
            try:
                await images.ensure_image_exists(
                    pod,
                    image.get("reference") or "",
                    image.get("pullPolicy") or "",
                    pull_secrets=pull_secrets,
                    sandbox=sandbox,
                )
            except ImageError as error:
                pulls[volume.get("name", "")] = error
    return pulls


def check_image_volumes(pod: Pod, container: Container, pulls: ImageVolumePulls, events: EventRecorder) -> None:
    """Raises StartFailed if the container mounts an image whose pull failed; for several, the last one."""
    last: ImageError | None = None
    for mount in container.volume_mounts:
        error = pulls.get(mount.get("name", ""))
        if error is not None:
            events.event(pod, "Warning", "Failed", f"Error: {error.reason}", container.name)
            last = error
    if last is not None:
        raise ContainerStartFailed(last.reason, last.message, last.retry_at)

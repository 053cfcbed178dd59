"""Images of a simulated node, and responses of registries to pulls."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from functools import lru_cache

from kubesim.api.images import InvalidReference, apply_default_image_tag
from kubesim.errors import RuntimeCallError
from kubesim.runtime.images.pull_credentials import AuthConfig
from kubesim.runtime.protocol import ImageInfo
from kubesim.runtime.simulated.draws import Draw
from kubesim.runtime.simulated.registries import connection_refused, unauthorized
from kubesim.runtime.simulated.settings import ImageBehaviour, SimulatedSettings

_USUAL = ImageBehaviour()


class ImageStore:
    """The images of a node. `take` waits for a drawn duration; `on_change` is called for added and removed images."""

    def __init__(self, settings: SimulatedSettings, take: Callable[[Draw], Awaitable[None]]) -> None:
        self._settings = settings
        self._take = take
        self._present = {name for name, image in settings.images.items() if image.present}
        self._infos: dict[str, ImageInfo] = {}  # of images that were ever requested while present
        self._failures: dict[str, int] = {}  # failed pulls, by image
        self._listeners: list[Callable[[], None]] = []

    def on_change(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()

    async def pull(self, image: str, auth: AuthConfig | None = None) -> str:
        """Pull an image; returns its id."""
        behaviour = self._settings.images.get(image)
        refusal = connection_refused(image) if behaviour is None else ""
        if refusal:
            await self._take(self._settings.latencies.refusal)
            raise RuntimeCallError(refusal)
        behaviour = behaviour or _USUAL
        await self._take(behaviour.pull or self._settings.latencies.pull)
        failures = self._failures.get(image, 0)
        if behaviour.missing or failures < len(behaviour.errors):
            self._failures[image] = failures + 1
            raise RuntimeCallError(behaviour.missing or behaviour.errors[failures])
        if behaviour.credentials is not None:
            given = None if auth is None else (auth.username, auth.password)
            if given != behaviour.credentials:
                raise RuntimeCallError(unauthorized(image, given is not None))
        self._present.add(image)
        self._changed()
        return image_id(image)

    def status(self, image: str) -> ImageInfo | None:
        """The status of an image; its tag may be omitted."""
        name = _with_tag(image)
        return self._info(name) if name in self._present else None

    def _info(self, image: str) -> ImageInfo:
        info = self._infos.get(image)
        if info is None:
            info = self._infos[image] = _info(image, self._settings.images.get(image, _USUAL))
        return info

    def stop_signal(self, image: str) -> str:
        return self._settings.images.get(_with_tag(image), _USUAL).stop_signal

    def list(self) -> list[ImageInfo]:
        return [self._info(image) for image in sorted(self._present)]

    def remove(self, identifier: str) -> None:
        self._present = {image for image in self._present if image_id(image) != identifier}
        self._changed()

    def size(self) -> int:
        """Disk usage of all images in bytes."""
        return sum(self._info(image).size for image in self._present)


def _info(image: str, behaviour: ImageBehaviour) -> ImageInfo:
    user = behaviour.user.partition(":")[0]
    return ImageInfo(
        image_id(image),
        tags=(image,),
        size=behaviour.size,
        uid=int(user) if user.isdigit() else None,
        username="" if user.isdigit() else user,
        stop_signal=behaviour.stop_signal,
    )


def _with_tag(image: str) -> str:
    try:
        return apply_default_image_tag(image)
    except InvalidReference:
        return image


@lru_cache(maxsize=4096)
def image_id(image: str) -> str:
    return "sha256:" + hashlib.sha256(image.encode()).hexdigest()

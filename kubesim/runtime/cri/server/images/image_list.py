"""Images as containerd lists them: one for each content, with all its tags and digests. Pure.

The runtime knows images by the names with which they were pulled.

Mirrors: containerd internal/cri/server/images (service.go LocalResolve), internal/cri/store/image,
internal/cri/util/references.go
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from kubesim.api.images import DEFAULT_TAG, ImageReference, InvalidReference, parse_normalized
from kubesim.runtime.cri.server.images.public_images import content_name
from kubesim.runtime.protocol import ImageInfo
from kubesim.values import replace, value_object

_SHA256 = "sha256:"


@value_object
class ListedImage:
    """An image. `names` are those by which the runtime knows it."""

    id: str
    names: tuple[str, ...]
    tags: tuple[str, ...]
    digests: tuple[str, ...]
    info: ImageInfo
    reference: ImageReference


def normalized(name: str) -> ImageReference:
    """With `latest` if it has neither tag nor digest, and without the tag if it has a digest. Raises
    InvalidReference."""
    reference = parse_normalized(name)
    if reference.digest:
        return replace(reference, tag="")
    return reference if reference.tag else replace(reference, tag=DEFAULT_TAG)


def image_id(reference: ImageReference) -> str:
    """The digest of its configuration."""
    return _digest("config", content_name(reference))


def manifest_digest(reference: ImageReference) -> str:
    return reference.digest or _digest("manifest", content_name(reference))


def _digest(*parts: str) -> str:
    return _SHA256 + hashlib.sha256("\0".join(parts).encode()).hexdigest()


def listed_images(infos: Iterable[ImageInfo]) -> list[ListedImage]:
    """In the order of the first name of each."""
    found: dict[str, ListedImage] = {}
    for info in infos:
        for name in info.tags:
            try:
                reference = normalized(name)
            except InvalidReference:
                continue
            identifier = image_id(reference)
            known = found.get(identifier) or ListedImage(identifier, (), (), (), info, reference)
            digest = f"{reference.name}@{manifest_digest(reference)}"
            tag = f"{reference.name}:{reference.tag}" if reference.tag else ""
            found[identifier] = replace(
                known,
                names=(*known.names, name),
                tags=_with(known.tags, tag),
                digests=_with(known.digests, digest),
            )
    return list(found.values())


def _with(known: tuple[str, ...], each: str) -> tuple[str, ...]:
    return known if not each or each in known else (*known, each)


def resolve(given: str, images: Iterable[ListedImage]) -> ListedImage | None:
    """The image with this tag, digest or id, or with the only id that begins so."""
    images = list(images)
    wanted = _by_reference(given)
    for image in images:
        if given == image.id or wanted in image.tags or wanted in image.digests:
            return image
    start = given if given.startswith(_SHA256) else _SHA256 + given
    found = [image for image in images if given and image.id.startswith(start)]
    return found[0] if len(found) == 1 else None


def _by_reference(given: str) -> str:
    try:
        reference = normalized(given)
    except InvalidReference:
        return given
    separator = f"@{reference.digest}" if reference.digest else f":{reference.tag}"
    return reference.name + separator

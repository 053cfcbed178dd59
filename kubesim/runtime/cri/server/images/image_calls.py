"""ImageService.

Mirrors: containerd internal/cri/server/images (image_pull.go, image_list.go, image_status.go, image_remove.go,
imagefs_info.go)
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from typing import Any
from urllib.parse import urlsplit

from kubesim.api.images import InvalidReference, apply_default_image_tag
from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import Pod
from kubesim.clock import LoopClock
from kubesim.golang.text import quoted
from kubesim.runtime.cri.server.failures import failure, missing
from kubesim.runtime.cri.server.images.image_list import ListedImage, image_id, listed_images, normalized, resolve
from kubesim.runtime.cri.server.images.public_images import image_user
from kubesim.runtime.cri.wire import cri_pb2
from kubesim.runtime.images.pull_credentials import AuthConfig, PullSecret
from kubesim.runtime.protocol import Runtime
from kubesim.runtime.simulated.image_store import ImageStore
from kubesim.values import part

_FILE_SYSTEMS = ("/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs", "/var/lib", "/")
_INODES_OF_AN_IMAGE = 500
_NO_SECRET = PullSecret("", "", "", "")  # a runtime does not learn it


@part
class ImageCalls:
    """`runtime` is what calls go to, faults included; `store` has the images."""

    runtime: Runtime
    store: ImageStore
    clock: LoopClock

    def images(self) -> list[ListedImage]:
        return listed_images(self.store.list())

    def find(self, given: str) -> ListedImage | None:
        return resolve(given, self.images())

    def required(self, given: str) -> ListedImage:
        """Raises CriError."""
        found = self.find(given)
        if found is None:
            raise missing(f"failed to resolve image {quoted(given)}")
        return found

    async def list_images(self, request: Any) -> Any:
        images = listed_images(await self.runtime.list_images())
        wanted = request.filter.image.image
        if wanted:
            found = resolve(wanted, images)
            images = [] if found is None else [found]
        return cri_pb2.ListImagesResponse(images=[_message(image) for image in images])

    async def image_status(self, request: Any) -> Any:
        await self.runtime.image_status(request.image.image)
        found = self.find(request.image.image)
        if found is None:
            return cri_pb2.ImageStatusResponse()
        response = cri_pb2.ImageStatusResponse(image=_message(found))
        if request.verbose:
            response.info["info"] = json.dumps({"chainID": found.id, "imageSpec": _image_spec(found)})
        return response

    async def pull_image(self, request: Any) -> Any:
        given = request.image.image
        try:
            reference = normalized(given)
        except InvalidReference as error:
            raise failure(f"failed to parse image reference {quoted(given)}: {error}") from None
        metadata = request.sandbox_config.metadata
        pod = Pod(metadata=ObjectMeta(name=metadata.name, namespace=metadata.namespace, uid=metadata.uid))
        host = reference.name.partition("/")[0]
        auth = _auth(request.auth, host) if request.HasField("auth") else None
        await self.runtime.pull_image(apply_default_image_tag(given), pod, auth)
        return cri_pb2.PullImageResponse(image_ref=image_id(reference))

    async def remove_image(self, request: Any) -> Any:
        """All references of the image; removing one that does not exist succeeds."""
        found = self.find(request.image.image)
        names = () if found is None else found.names
        for info in self.store.list():
            if set(info.tags) & set(names):
                await self.runtime.remove_image(info.id)
        return cri_pb2.RemoveImageResponse()

    async def image_fs_info(self, request: Any) -> Any:
        """Of a directory that exists on this machine, because kubelets measure its file system."""
        images = self.images()
        usage = cri_pb2.FilesystemUsage(
            timestamp=self.clock.wall() * 1000,
            fs_id=cri_pb2.FilesystemIdentifier(mountpoint=image_directory()),
            used_bytes=cri_pb2.UInt64Value(value=sum(image.info.size for image in images)),
            inodes_used=cri_pb2.UInt64Value(value=_INODES_OF_AN_IMAGE * len(images)),
        )
        return cri_pb2.ImageFsInfoResponse(image_filesystems=[usage], container_filesystems=[usage])


def image_directory() -> str:
    return next(path for path in _FILE_SYSTEMS if os.path.isdir(path))


def user_of(image: ListedImage) -> str:
    """As the configuration of the image names it."""
    info = image.info
    return info.username or ("" if info.uid is None else str(info.uid)) or image_user(image.reference)


def _message(image: ListedImage) -> Any:
    message = cri_pb2.Image(
        id=image.id, repo_tags=image.tags, repo_digests=image.digests, size=image.info.size, pinned=image.info.pinned
    )
    user = user_of(image).partition(":")[0]
    if user.isdigit():
        message.uid.value = int(user)
    else:
        message.username = user
    return message


def _image_spec(image: ListedImage) -> dict[str, Any]:
    return {"architecture": "amd64", "os": "linux", "config": {"User": user_of(image)}, "rootfs": {"type": "layers"}}


def _auth(auth: Any, host: str) -> AuthConfig | None:
    """The credentials in containerd's form; None if they are for another registry. Raises CriError.

    Mirrors: image_pull.go ParseAuth
    """
    if auth.server_address and urlsplit(auth.server_address).netloc != host:
        return None
    if auth.username:
        return AuthConfig(auth.username, auth.password, _NO_SECRET)
    if auth.identity_token:
        return AuthConfig("", auth.identity_token, _NO_SECRET)
    if not auth.auth:
        return None
    try:
        decoded = base64.b64decode(auth.auth, validate=True).decode("utf-8", "replace")
    except (ValueError, binascii.Error):
        raise failure("illegal base64 data in auth") from None
    user, colon, password = decoded.partition(":")
    if not colon:
        raise failure("invalid decoded auth: it has no colon")  # containerd quotes it, and with it a secret
    return AuthConfig(user, password.strip("\0"), _NO_SECRET)

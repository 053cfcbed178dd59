"""Docker's image names in a container status: first tag and first digest.

Mirrors: kubelet v1.12 pkg/kubelet/dockershim/convert.go toPullableImageID, docker_container.go ContainerStatus; kubelet
v1.6 pkg/kubelet/dockertools/docker_manager.go inspectContainer
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from kubesim.api.images import DEFAULT_DOMAIN, DEFAULT_TAG, parse_normalized

_PULLABLE = "docker-pullable://"


@lru_cache(maxsize=4096)
def reported_image(image: str) -> tuple[str, str]:
    """Name and pullable id: `nginx:1.27` and `docker-pullable://nginx@sha256:...`."""
    reference = parse_normalized(image)
    name = reference.name.removeprefix(f"{DEFAULT_DOMAIN}/").removeprefix("library/")
    if reference.digest:  # docker has no tag for an image pulled by digest
        return f"{name}@{reference.digest}", f"{_PULLABLE}{name}@{reference.digest}"
    tagged = f"{name}:{reference.tag or DEFAULT_TAG}"
    # The digest of the manifest; the image id is different.
    digest = hashlib.sha256(f"manifest of {tagged}".encode()).hexdigest()
    return tagged, f"{_PULLABLE}{name}@sha256:{digest}"

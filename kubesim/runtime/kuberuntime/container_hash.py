"""The hash by which the kubelet tells whether a running container still is what the pod asks for.

Only the name and the image count: whatever else changes in a container, it is not restarted for it.

Mirrors: pkg/kubelet/container/helpers.go HashContainer, pkg/util/hash DeepHashObject.
"""

from __future__ import annotations

from functools import lru_cache

from kubesim.api.pod import Container
from kubesim.golang.fnv import fnv1a
from kubesim.golang.json import dumps_in_order


def hash_container(container: Container) -> int:
    return _hash(container.name, container.image)


@lru_cache(maxsize=4096)
def _hash(name: str, image: str) -> int:
    encoded = dumps_in_order({"image": image, "name": name}).encode()
    # Upstream hashes the printed form of the byte slice, not its bytes.
    printed = f"([]uint8)[{' '.join(map(str, encoded))}]"
    return fnv1a(printed.encode(), 32)

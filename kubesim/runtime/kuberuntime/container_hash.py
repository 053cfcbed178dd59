"""The container hash: the kubelet restarts a running container if the hash of its spec has changed.

Only name and image are hashed; other changes do not restart a container. Older kubelets hash the whole container.

Mirrors: pkg/kubelet/container/helpers.go HashContainer, HashContainerWithoutResources (v1.30); pkg/util/hash
DeepHashObject.
"""

from __future__ import annotations

from functools import lru_cache

from kubesim.api.pod import Container, ResourceRequirements
from kubesim.features import FeatureGates
from kubesim.features.rules import DEFAULT_RULES, Rules
from kubesim.golang.fnv import fnv1a
from kubesim.golang.json import dumps_in_order


def hash_container(container: Container, rules: Rules = DEFAULT_RULES) -> int:
    return _hash_as(rules.container_hash, container)


def is_hash_of_other_kubelet(container: Container, hash: int) -> bool:
    """Whether a kubelet with another hash function computed it for this container."""
    return any(hash == _hash_as(way, container) for way in ("image", "json", "dump"))


def _hash_as(way: str, container: Container) -> int:
    if way == "image":
        return _hash(container.name, container.image)
    # Go always writes `resources`, because it is a struct and not a pointer.
    text = dumps_in_order(container.changed(resources=container.resources).to_json())
    # Upstream's dump has another format; here it only needs to differ from JSON.
    return _hash_text(text if way == "json" else f"v1.Container{text}")


def hashed_part(container: Container, gates: FeatureGates) -> Container:
    """The hashed fields of kubelets that hash the whole container: without resizable resources."""
    is_resizable = gates.enabled("InPlacePodVerticalScaling")
    return container.changed(resources=ResourceRequirements()) if is_resizable else container


@lru_cache(maxsize=4096)
def _hash(name: str, image: str) -> int:
    return _hash_text(dumps_in_order({"image": image, "name": name}))


def _hash_text(text: str) -> int:
    encoded = text.encode()
    # Upstream hashes the printed form of the byte slice, not its bytes.
    printed = f"([]uint8)[{' '.join(map(str, encoded))}]"
    return fnv1a(printed.encode(), 32)

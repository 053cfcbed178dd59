"""The hash by which the kubelet decides whether a running container still matches the pod's spec.

Only the name and the image count: whatever else changes in a container, it is not restarted for it. Older kubelets hash
all of it.

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
    """Whether a kubelet that hashes in another way computed it for this container."""
    return any(hash == _hash_as(way, container) for way in ("image", "json", "dump"))


def _hash_as(way: str, container: Container) -> int:
    if way == "image":
        return _hash(container.name, container.image)
    # Go writes `resources` always: it is a struct and not a pointer to one.
    text = dumps_in_order(container.changed(resources=container.resources).to_json())
    # Upstream's dump of the struct has another format; what matters is that it differs from JSON.
    return _hash_text(text if way == "json" else f"v1.Container{text}")


def hashed_part(container: Container, gates: FeatureGates) -> Container:
    """The part of a container that is hashed by kubelets that hash all of it: resources that can be resized are not."""
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

"""The hash by which the kubelet tells whether a running container still is what the pod asks for.

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
    if rules.hashes_whole_container:
        # Go writes `resources` always: it is a struct and not a pointer to one.
        return _hash_text(dumps_in_order(container.changed(resources=container.resources).to_json()))
    return _hash(container.name, container.image)


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

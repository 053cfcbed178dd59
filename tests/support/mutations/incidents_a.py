"""The rules of the first half of the incidents (`scenarios/incidents/`), broken."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from kubesim.runtime.images.image_manager import ImageManager
from tests.support.mutations import Mutation, returns

_ensure = ImageManager.ensure_image_exists


def _pull_once(manager: ImageManager, pod: Any, image: str, pull_policy: str, **given: Any) -> Awaitable[str]:
    """`Always` is taken for `IfNotPresent`."""
    return _ensure(manager, pod, image, "IfNotPresent", **given)


INCIDENTS_A = {
    "config-error-pulls": Mutation("kubesim.runtime.images.image_manager:ImageManager.ensure_image_exists", _pull_once),
    "static-pod-memory": Mutation("kubesim.kubelet.eviction.manager:is_critical_pod", returns(False)),
}

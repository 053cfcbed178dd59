"""container_hash: HashContainer of one container."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Container
from kubesim.runtime.kuberuntime.container_hash import hash_container


def play(case: dict[str, Any]) -> dict[str, str]:
    value = hash_container(Container.from_json(case["input"]["container"]))
    return {"hash": str(value), "hashHex": f"{value:x}"}

"""Pod Security admission: a namespace's labels set the level to enforce and the level to warn about.

Mirrors: k8s.io/pod-security-admission admission admission.go EvaluatePod
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubesim.cluster.problems import forbidden
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store

JsonObject = dict[str, Any]

_PREFIX = "pod-security.kubernetes.io/"


def admit_pod_security(store: Store, namespace: str, pod: JsonObject, warn: Callable[[str], None]) -> None:
    found = store.find("Namespace", "", namespace)
    labels: Mapping[str, str] = found.metadata.labels if found is not None else {}
    enforced = _problem(labels, "enforce", pod)
    if enforced:
        raise forbidden(RESOURCES["Pod"], pod["metadata"].get("name", ""), f"violates {enforced}")
    warned = _problem(labels, "warn", pod)
    if warned:
        warn(f"would violate {warned}")


def _problem(labels: Mapping[str, str], mode: str, pod: JsonObject) -> str:
    level = labels.get(f"{_PREFIX}{mode}", "privileged")
    if level == "privileged":
        return ""
    from kubesim.cluster.registry.new_pods.standards import findings  # most namespaces set no level

    wrong = findings(level, pod)
    version = labels.get(f"{_PREFIX}{mode}-version", "latest")
    return f'PodSecurity "{level}:{version}": {", ".join(map(str, wrong))}' if wrong else ""

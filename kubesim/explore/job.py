"""The Indexed Job that explores a scenario in shards, with the ConfigMap that has the scenario. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

from kubesim import __version__
from kubesim.values import value_object

MOST_TEXT: Final = 1 << 20  # bytes of a ConfigMap
RETRIES: Final = 3  # of a shard: a node that is lost, not a finding, which ends with 0
SCENARIO, RESULTS = "/scenario", "/results"
_NOBODY: Final = 65534


@value_object
class JobSettings:
    """`flags` are those of `kubesim explore`; `claim` is a PersistentVolumeClaim for the results, empty: the log."""

    completions: int
    parallelism: int
    image: str = ""
    claim: str = ""
    flags: tuple[str, ...] = ()


def job_objects(name: str, text: str, settings: JobSettings) -> list[dict[str, Any]]:
    """The ConfigMap and the Job that explore the scenario with this text. Their name has a digest of all of it, because
    a Job cannot be changed: another scenario is another Job."""
    digest = sha256(repr((text, settings)).encode()).hexdigest()[:8]
    full_name, labels = f"explore-{name[:40].rstrip('-')}-{digest}", {"app.kubernetes.io/name": "kubesim-explore"}
    metadata = {"name": full_name, "labels": labels}
    file = f"{name}.yaml"
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {file: text}, "immutable": True}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "completionMode": "Indexed",
            "completions": settings.completions,
            "parallelism": settings.parallelism,
            "backoffLimitPerIndex": RETRIES,
            "template": {"metadata": {"labels": labels}, "spec": _pod(full_name, file, settings)},
        },
    }
    return [config, job]


def _pod(config: str, file: str, settings: JobSettings) -> dict[str, Any]:
    volumes: list[dict[str, Any]] = [{"name": "scenario", "configMap": {"name": config}}]
    mounts: list[dict[str, Any]] = [{"name": "scenario", "mountPath": SCENARIO, "readOnly": True}]
    if settings.claim:
        volumes.append({"name": "results", "persistentVolumeClaim": {"claimName": settings.claim}})
        mounts.append({"name": "results", "mountPath": RESULTS})
    container = {
        "name": "explore",
        "image": settings.image or f"kubesim:{__version__}",
        "args": _arguments(f"{SCENARIO}/{file}", settings),
        "resources": {"requests": {"cpu": "1", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": mounts,
    }
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _NOBODY,
            "runAsGroup": _NOBODY,
            "fsGroup": _NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": volumes,
    }


def _arguments(file: str, settings: JobSettings) -> Sequence[str]:
    """A finding is a result, not a failure of the pod, which the Job would repeat: hence --exit-zero."""
    results = ["--output", RESULTS] if settings.claim else []
    shard = f"auto/{settings.completions}"
    return ["explore", file, "--shard", shard, "--jobs", "1", "-o", "jsonl", "--exit-zero", *results, *settings.flags]

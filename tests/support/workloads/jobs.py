"""Jobs as stored by an API server, and their policies."""

from __future__ import annotations

from typing import Any

from kubesim.api.workloads.rules.batch import RULES

JOB = RULES["Job"]
CONTAINER = {
    "name": "abc",
    "image": "image",
    "imagePullPolicy": "IfNotPresent",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
IN = {"operator": "In", "values": [1]}
DISRUPTED = {"type": "DisruptionTarget", "status": "True"}
INDEXED: dict[str, Any] = {"completionMode": "Indexed", "completions": 5}


def new_job(labels: dict[str, str] | None = None, restart_policy: str = "Never", **spec: Any) -> dict[str, Any]:
    """A newly created Job."""
    template: dict[str, Any] = {"spec": {"restartPolicy": restart_policy, "containers": [dict(CONTAINER)]}}
    if labels is not None:
        template["metadata"] = {"labels": labels}
    job = {
        "kind": "Job",
        "metadata": {"name": "myjob", "namespace": "default", "uid": "1a2b3c"},
        "spec": {"template": template, **spec},
    }
    JOB.default(job)
    JOB.prepare(job)
    return job


def failure_rules(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"podFailurePolicy": {"rules": list(rules)}}


def success_rules(*rules: dict[str, Any]) -> dict[str, Any]:
    return {**INDEXED, "successPolicy": {"rules": list(rules)}}

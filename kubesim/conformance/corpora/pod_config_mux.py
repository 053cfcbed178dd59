"""pod_config_mux: snapshots of several sources, and the resulting updates."""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import CONFIG_SEEN
from kubesim.api.pod import Pod
from kubesim.api.timestamps import parse_time
from kubesim.sources.mux import PodConfig


def play(case: dict[str, Any]) -> dict[str, Any]:
    given = case["input"]
    config = PodConfig(given["sources"])
    handled: set[str] = set()
    steps = []
    for step in given["steps"]:
        pods = [Pod.from_json(pod) for pod in step["pods"]]
        updates = config.merge(step["source"], pods, parse_time(case["now"]))
        handled.update(update.source for update in updates)
        result: dict[str, Any] = {
            "updates": [
                {"op": update.op, "source": update.source, "pods": [_pod(pod) for pod in update.pods]}
                for update in updates
            ],
            "seenAllSources": config.seen_all_sources(handled),
            "seenAllSourcesIfAllReady": config.seen_all_sources(config.sources),
        }
        if config.dropped:
            result["events"] = [f"Warning FailedValidation {dropped.message}" for dropped in config.dropped]
        steps.append(result)
    return {"steps": steps}


def _pod(pod: Pod) -> dict[str, Any]:
    meta = pod.metadata
    annotations = {key: "<time>" if key == CONFIG_SEEN else value for key, value in meta.annotations.items()}
    fields = {
        "uid": meta.uid,
        "name": meta.name,
        "namespace": meta.namespace,
        "image": pod.spec.containers[0].image if pod.spec.containers else "",
        "labels": meta.labels,
        "annotations": annotations,
        "phase": pod.status.phase,
        "generation": meta.generation,
        "deletionTimestamp": meta.deletion_timestamp,
        "deletionGracePeriodSeconds": meta.deletion_grace_period_seconds,
    }
    # A grace period of zero is a set value; all other zeros are unset.
    return {
        name: value
        for name, value in fields.items()
        if value or (name == "deletionGracePeriodSeconds" and value is not None)
    }

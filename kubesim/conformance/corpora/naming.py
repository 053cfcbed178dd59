"""naming: names, labels, annotations, log paths, back-off key, grace periods and termination order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, get_args

from kubesim.api.pod import Pod
from kubesim.api.pods.pod_kinds import pod_full_name
from kubesim.conformance.frame import differences
from kubesim.conformance.narrowing import without_lost_grace_period
from kubesim.runtime.kuberuntime import labels, naming
from kubesim.runtime.kuberuntime.decide.termination import KillReason, termination_grace_period, termination_waits_for
from kubesim.runtime.kuberuntime.hash_text import resources_text


def judge(case: dict[str, Any], expected: dict[str, Any], actual: dict[str, Any]) -> Iterator[str]:
    pod = case["input"]["pod"]
    yield from differences(without_lost_grace_period(pod, expected), without_lost_grace_period(pod, actual))


def play(case: dict[str, Any]) -> dict[str, Any]:
    given = case["input"]
    pod = Pod.from_json(given["pod"])
    name, root = given["container"], given["podLogsRoot"]
    container = next(c for c in pod.spec.containers if c.name == name)
    waits = termination_waits_for(pod, given["running"])
    output = {
        "backoffKey": naming.backoff_key(pod, container),
        "containerAnnotations": labels.new_container_annotations(container, pod, given["restartCount"]),
        "containerLabels": labels.new_container_labels(container, pod),
        "containerLogPath": naming.container_log_path(name, given["restartCount"]),
        "containerLogsDir": naming.container_logs_directory(pod, name, root),
        "containerRefFieldPath": naming.container_field_path(pod, name),
        "legacyLogSymlink": naming.legacy_log_symlink(pod, name, given["containerID"]),
        "podFormat": naming.format_pod(pod),
        "podFullName": pod_full_name(pod),
        "podLabels": labels.new_pod_labels(pod),
        "podLogsDirectory": naming.pod_logs_directory(pod, root),
        "resourcesString": resources_text(container.resources),
        # The runtime helper of the recording had no host names and cgroups.
        "sandboxCgroupParent": "",
        "sandboxHostname": "",
        "sandboxLogDirectory": naming.pod_logs_directory(pod, root),
        "sandboxMetadata": asdict(naming.sandbox_metadata(pod, given["sandboxAttempt"])),
        "terminationGracePeriod": {
            reason: termination_grace_period(pod, container, reason) for reason in get_args(KillReason) if reason
        },
        "terminationWaitsFor": {waiting: sorted(names) for waiting, names in waits.items()},
    }
    if pod.spec.init_containers:
        output["initRefFieldPath"] = naming.container_field_path(pod, pod.spec.init_containers[0].name)
    return output

"""Describes Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and CronJobs.

Mirrors: kubectl/pkg/describe describe.go describeDeployment, describeReplicaSet, describeJob and the others;
kubectl/pkg/util/deployment FindNewReplicaSet
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from kubesim.api.timestamps import parse_time
from kubesim.cluster.kubectl.describe.page import DescriptionPage, date
from kubesim.cluster.kubectl.describe.pods import describe_template
from kubesim.cluster.tables.ages import human_duration
from kubesim.cluster.tables.table import JsonObject, dig
from kubesim.cluster.tables.texts import NONE, UNSET, format_labels, format_selector, yes_or_no

_PHASES = (("Running", "Running"), ("Waiting", "Pending"), ("Succeeded", "Succeeded"), ("Failed", "Failed"))
_HASH = "pod-template-hash"


def _template(obj: JsonObject) -> JsonObject:
    found: JsonObject = dig(obj, "spec.template", {})
    return found


def _selector(obj: JsonObject) -> str:
    return format_selector(dig(obj, "spec.selector"))


def pods_status(owner: JsonObject, pods: Iterable[JsonObject]) -> str:
    """The number of controlled pods in each phase."""
    uid = owner["metadata"].get("uid")
    phases = Counter(
        dig(pod, "status.phase", "")
        for pod in pods
        if any(each.get("controller") and each.get("uid") == uid for each in dig(pod, "metadata.ownerReferences", ()))
    )
    return " / ".join(f"{phases[phase]} {word}" for word, phase in _PHASES)


def describe_deployment(
    page: DescriptionPage, obj: JsonObject, replica_sets: Sequence[JsonObject], events: Sequence[JsonObject]
) -> None:
    page.names(obj)
    page.field("CreationTimestamp", date(dig(obj, "metadata.creationTimestamp")))
    page.marks(obj)
    page.field("Selector", _selector(obj))
    counts = (("updated", "updatedReplicas"), ("total", "replicas"), ("available", "availableReplicas"),
              ("unavailable", "unavailableReplicas"))  # fmt: skip
    said = [
        f"{dig(obj, 'spec.replicas', 0)} desired",
        *(f"{dig(obj, f'status.{at}', 0)} {word}" for word, at in counts),
    ]
    page.field("Replicas", " | ".join(said))
    page.field("StrategyType", dig(obj, "spec.strategy.type", ""))
    page.field("MinReadySeconds", dig(obj, "spec.minReadySeconds", 0))
    rolling = dig(obj, "spec.strategy.rollingUpdate")
    if rolling is not None:
        limits = f"{rolling.get('maxUnavailable')} max unavailable, {rolling.get('maxSurge')} max surge"
        page.field("RollingUpdateStrategy", limits)
    describe_template(page, _template(obj))
    page.conditions(obj)
    uid = obj["metadata"].get("uid")
    own = [each for each in replica_sets
           if any(ref.get("uid") == uid for ref in dig(each, "metadata.ownerReferences", ()))]  # fmt: skip
    new = next((each for each in _by_age(own) if _same(_template(each), _template(obj))), None)
    old = [each for each in own if each is not new]
    if own:
        page.field("OldReplicaSets", ", ".join(map(_created, old)) or NONE)
        page.field("NewReplicaSet", NONE if new is None else _created(new))
    page.events(events)


def _by_age(objects: Iterable[JsonObject]) -> list[JsonObject]:
    return sorted(objects, key=lambda each: (dig(each, "metadata.creationTimestamp", ""), each["metadata"]["name"]))


def _same(template: JsonObject, other: JsonObject) -> bool:
    """Whether two templates are equal, ignoring the label that the controller adds."""
    return bool(_without_hash(template) == _without_hash(other))


def _without_hash(template: JsonObject) -> Any:
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = {key: value for key, value in (metadata.get("labels") or {}).items() if key != _HASH}
    return {**template, "metadata": {key: value for key, value in metadata.items() if value}}


def _created(replica_set: JsonObject) -> str:
    replicas = f"{dig(replica_set, 'status.replicas', 0)}/{dig(replica_set, 'spec.replicas', 0)}"
    return f"{replica_set['metadata']['name']} ({replicas} replicas created)"


def describe_replica_set(
    page: DescriptionPage, obj: JsonObject, pods: Iterable[JsonObject], events: Sequence[JsonObject]
) -> None:
    page.names(obj)
    is_plain = obj["kind"] == "ReplicationController"
    page.field("Selector", format_labels(dig(obj, "spec.selector")) if is_plain else _selector(obj))
    page.marks(obj)
    if not is_plain:
        page.controller(obj)
    page.field("Replicas", f"{dig(obj, 'status.replicas', 0)} current / {dig(obj, 'spec.replicas', 0)} desired")
    page.field("Pods Status", pods_status(obj, pods))
    describe_template(page, _template(obj))
    page.conditions(obj)
    page.events(events)


def describe_stateful_set(
    page: DescriptionPage, obj: JsonObject, pods: Iterable[JsonObject], events: Sequence[JsonObject]
) -> None:
    page.names(obj)
    page.field("CreationTimestamp", date(dig(obj, "metadata.creationTimestamp")))
    page.field("Selector", _selector(obj))
    page.marks(obj)
    page.field("Replicas", f"{dig(obj, 'spec.replicas', 0)} desired | {dig(obj, 'status.replicas', 0)} total")
    page.field("Update Strategy", dig(obj, "spec.updateStrategy.type", ""))
    rolling = dig(obj, "spec.updateStrategy.rollingUpdate", {})
    if rolling.get("partition") is not None:
        page.field("Partition", rolling["partition"], 1)
        page.optional("MaxUnavailable", rolling.get("maxUnavailable"), 1)
    page.field("Pods Status", pods_status(obj, pods))
    describe_template(page, _template(obj))
    _claims(page, dig(obj, "spec.volumeClaimTemplates", ()))
    page.events(events)


def _claims(page: DescriptionPage, templates: Sequence[JsonObject]) -> None:
    page.line("Volume Claims:" + ("" if templates else f"\t{NONE}"))
    for each in templates:
        page.field("Name", each["metadata"]["name"], 1)
        page.field("StorageClass", dig(each, "spec.storageClassName", ""), 1)
        page.labels("  Labels", dig(each, "metadata.labels"))
        page.labels("  Annotations", dig(each, "metadata.annotations"))
        page.field("Capacity", dig(each, "spec.resources.requests.storage", "<default>"), 1)
        page.field("Access Modes", f"[{' '.join(dig(each, 'spec.accessModes', ()))}]", 1)


def describe_daemon_set(
    page: DescriptionPage, obj: JsonObject, pods: Iterable[JsonObject], events: Sequence[JsonObject]
) -> None:
    page.names(obj)
    page.field("Selector", _selector(obj))
    page.field("Node-Selector", format_labels(dig(_template(obj), "spec.nodeSelector")))
    page.marks(obj)
    for text, field in (
        ("Desired Number of Nodes Scheduled", "desiredNumberScheduled"),
        ("Current Number of Nodes Scheduled", "currentNumberScheduled"),
        ("Number of Nodes Scheduled with Up-to-date Pods", "updatedNumberScheduled"),
        ("Number of Nodes Scheduled with Available Pods", "numberAvailable"),
        ("Number of Nodes Misscheduled", "numberMisscheduled"),
    ):
        page.line(f"{text}: {dig(obj, f'status.{field}', 0)}")
    page.field("Pods Status", pods_status(obj, pods))
    describe_template(page, _template(obj))
    page.events(events)


def describe_job(page: DescriptionPage, obj: JsonObject, events: Sequence[JsonObject]) -> None:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    page.names(obj)
    page.field("Selector", _selector(obj))
    page.marks(obj)
    page.controller(obj)
    page.optional("Parallelism", spec.get("parallelism"))
    page.field("Completions", spec.get("completions", UNSET))
    page.optional("Completion Mode", spec.get("completionMode"))
    if spec.get("suspend") is not None:
        page.field("Suspend", str(spec["suspend"]).lower())
    page.optional("Backoff Limit", spec.get("backoffLimit"))
    page.optional("TTL Seconds After Finished", spec.get("ttlSecondsAfterFinished"))
    started, completed = status.get("startTime"), status.get("completionTime")
    if started:
        page.field("Start Time", date(started))
    if completed:
        page.field("Completed At", date(completed))
    if started and completed:
        page.field("Duration", human_duration(parse_time(completed) - parse_time(started)))
    if spec.get("activeDeadlineSeconds") is not None:
        page.field("Active Deadline Seconds", f"{spec['activeDeadlineSeconds']}s")
    ready = "" if status.get("ready") is None else f" ({status['ready']} Ready)"
    ended = f"{status.get('succeeded', 0)} Succeeded / {status.get('failed', 0)} Failed"
    page.field("Pods Statuses", f"{status.get('active', 0)} Active{ready} / {ended}")
    if spec.get("completionMode") == "Indexed":
        page.field("Completed Indexes", _capped(status.get("completedIndexes") or NONE))
    describe_template(page, _template(obj))
    page.events(events)


def _capped(indexes: str, most: int = 50) -> str:
    comma = indexes.find(",", most)
    return indexes if comma < 0 else f"{indexes[: comma + 1]}..."


def describe_cron_job(page: DescriptionPage, obj: JsonObject, events: Sequence[JsonObject]) -> None:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    job = dig(spec, "jobTemplate.spec", {})
    page.names(obj)
    page.marks(obj)
    page.field("Schedule", spec.get("schedule", ""))
    page.field("Concurrency Policy", spec.get("concurrencyPolicy", ""))
    page.field("Suspend", yes_or_no(spec.get("suspend")))
    page.field("Time Zone", spec.get("timeZone", UNSET))
    page.field("Successful Job History Limit", spec.get("successfulJobsHistoryLimit", UNSET))
    page.field("Failed Job History Limit", spec.get("failedJobsHistoryLimit", UNSET))
    deadline = spec.get("startingDeadlineSeconds")
    page.field("Starting Deadline Seconds", UNSET if deadline is None else f"{deadline}s")
    page.field("Selector", UNSET if job.get("selector") is None else format_selector(job["selector"]))
    page.field("Parallelism", job.get("parallelism", UNSET))
    page.field("Completions", job.get("completions", UNSET))
    if job.get("activeDeadlineSeconds") is not None:
        page.field("Active Deadline Seconds", f"{job['activeDeadlineSeconds']}s")
    describe_template(page, job.get("template") or {})
    last = status.get("lastScheduleTime")
    page.field("Last Schedule Time", date(last) if last else UNSET)
    page.field("Active Jobs", ", ".join(each["name"] for each in status.get("active") or ()) or NONE)
    page.events(events)

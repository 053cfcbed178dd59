"""Table rows of workloads: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs.

Mirrors: pkg/printers/internalversion printers.go printDeployment, printReplicaSet, printJob and the others
"""

from __future__ import annotations

from kubesim.api.timestamps import parse_time
from kubesim.cluster.tables.ages import human_duration
from kubesim.cluster.tables.table import Cell, JsonObject, TableContext, TableRules, columns, dig, is_true
from kubesim.cluster.tables.texts import NONE, format_labels, format_selector, names_and_images, yes_or_no

_TEMPLATE = "Containers,Images,Selector"


def _name(obj: JsonObject) -> str:
    return str(obj["metadata"]["name"])


def _deployment(obj: JsonObject, context: TableContext) -> list[Cell]:
    ready = f"{dig(obj, 'status.readyReplicas', 0)}/{dig(obj, 'spec.replicas', 0)}"
    counts = [dig(obj, "status.updatedReplicas", 0), dig(obj, "status.availableReplicas", 0)]
    selector = format_selector(dig(obj, "spec.selector"))
    return [_name(obj), ready, *counts, context.age(obj), *names_and_images(dig(obj, "spec.template")), selector]


def _replica_set(obj: JsonObject, context: TableContext) -> list[Cell]:
    counts = [dig(obj, path, 0) for path in ("spec.replicas", "status.replicas", "status.readyReplicas")]
    selector = format_selector(dig(obj, "spec.selector"))
    return [_name(obj), *counts, context.age(obj), *names_and_images(dig(obj, "spec.template")), selector]


def _replication_controller(obj: JsonObject, context: TableContext) -> list[Cell]:
    *cells, _ = _replica_set({**obj, "spec": {**obj.get("spec", {}), "selector": None}}, context)
    return [*cells, format_labels(dig(obj, "spec.selector"))]


def _stateful_set(obj: JsonObject, context: TableContext) -> list[Cell]:
    ready = f"{dig(obj, 'status.readyReplicas', 0)}/{dig(obj, 'spec.replicas', 0)}"
    return [_name(obj), ready, context.age(obj), *names_and_images(dig(obj, "spec.template"))]


_OF_DAEMON_SET = (
    "desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable",
)  # fmt: skip


def _daemon_set(obj: JsonObject, context: TableContext) -> list[Cell]:
    counts = [dig(obj, f"status.{field}", 0) for field in _OF_DAEMON_SET]
    template = dig(obj, "spec.template")
    nodes = format_labels(dig(template, "spec.nodeSelector"))
    selector = format_selector(dig(obj, "spec.selector"))
    return [_name(obj), *counts, nodes, context.age(obj), *names_and_images(template), selector]


def _job(obj: JsonObject, context: TableContext) -> list[Cell]:
    selector = format_selector(dig(obj, "spec.selector"))
    cells = [_name(obj), _job_status(obj), _completions(obj), _job_duration(obj, context), context.age(obj)]
    return [*cells, *names_and_images(dig(obj, "spec.template")), selector]


def _job_status(obj: JsonObject) -> str:
    for type, word in (("Complete", "Complete"), ("Failed", "Failed")):
        if is_true(obj, type):
            return word
    if dig(obj, "metadata.deletionTimestamp"):
        return "Terminating"
    for type in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if is_true(obj, type):
            return type
    return "Running"


def _completions(obj: JsonObject) -> str:
    done, wanted = dig(obj, "status.succeeded", 0), dig(obj, "spec.completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = dig(obj, "spec.parallelism", 0)
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_duration(obj: JsonObject, context: TableContext) -> str:
    started, ended = dig(obj, "status.startTime"), dig(obj, "status.completionTime")
    if not started:
        return ""
    return human_duration(parse_time(ended) - parse_time(started)) if ended else context.ago(parse_time(started))


def _cron_job(obj: JsonObject, context: TableContext) -> list[Cell]:
    last = dig(obj, "status.lastScheduleTime")
    template = dig(obj, "spec.jobTemplate.spec", {})
    return [
        _name(obj),
        dig(obj, "spec.schedule", ""),
        dig(obj, "spec.timeZone", NONE),
        yes_or_no(dig(obj, "spec.suspend")),
        len(dig(obj, "status.active", ())),
        context.since(last) if last else NONE,
        context.age(obj),
        *names_and_images(template.get("template")),
        format_selector(template.get("selector")),
    ]


def _controller_revision(obj: JsonObject, context: TableContext) -> list[Cell]:
    owner = next((each for each in dig(obj, "metadata.ownerReferences", ()) if each.get("controller")), None)
    name = NONE
    if owner is not None:
        group = owner["apiVersion"].rpartition("/")[0]
        name = f"{owner['kind']}{'.' if group else ''}{group}".lower() + f"/{owner['name']}"
    return [_name(obj), name, obj.get("revision", 0), context.age(obj)]


def _budget(obj: JsonObject, context: TableContext) -> list[Cell]:
    limits = [str(dig(obj, path, "N/A")) for path in ("spec.minAvailable", "spec.maxUnavailable")]
    return [_name(obj), *limits, dig(obj, "status.disruptionsAllowed", 0), context.age(obj)]


_REPLICAS = "Name,Desired:integer,Current:integer,Ready:integer,Age"

WORKLOADS = {
    "Deployment": TableRules(columns("Name,Ready,Up-to-date:integer,Available:integer,Age", _TEMPLATE), _deployment),
    "ReplicaSet": TableRules(columns(_REPLICAS, _TEMPLATE), _replica_set),
    "ReplicationController": TableRules(columns(_REPLICAS, _TEMPLATE), _replication_controller),
    "StatefulSet": TableRules(columns("Name,Ready,Age", "Containers,Images"), _stateful_set),
    "DaemonSet": TableRules(
        columns(
            "Name,Desired:integer,Current:integer,Ready:integer,Up-to-date:integer,Available:integer,Node Selector,Age",
            _TEMPLATE,
        ),
        _daemon_set,
    ),
    "Job": TableRules(columns("Name,Status,Completions,Duration,Age", _TEMPLATE), _job),
    "CronJob": TableRules(
        columns("Name,Schedule,Timezone,Suspend:boolean,Active:integer,Last Schedule,Age", _TEMPLATE), _cron_job
    ),
    "ControllerRevision": TableRules(columns("Name,Controller,Revision:integer,Age"), _controller_revision),
    "PodDisruptionBudget": TableRules(
        columns("Name,Min Available,Max Unavailable,Allowed Disruptions:integer,Age"), _budget
    ),
}

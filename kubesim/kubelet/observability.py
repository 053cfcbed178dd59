"""The texts of `/healthz`, `/pods`, `/metrics` and the state dump.

Read-only: the server sends these texts. Metrics have the kubelet's names; values that the kubelet does not count are
computed on request or measured in the trace (`metrics/`).

Mirrors: pkg/kubelet/server/server.go InstallDefaultHandlers, getPods; pkg/kubelet/metrics/metrics.go; kubelet_pods.go
HandlePodCleanups (the counts of pods)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kubesim.api.pod import Pod
from kubesim.api.pods.pod_kinds import is_static_pod
from kubesim.kubelet.agent import Kubelet
from kubesim.kubelet.metrics.exposition import Labels, Metric

if TYPE_CHECKING:
    from kubesim.kubelet.metrics.sink import MetricsSink

KNOWN_REJECTIONS = frozenset(
    {
        "AppArmor", "Evicted", "InitContainerRestartPolicyForbidden", "InvalidNodeInfo", "NodeShutdown", "OutOfcpu",
        "OutOfephemeral-storage", "OutOfmemory", "OutOfpods", "PodFeatureUnsupported", "PodLevelResourcesNotSupported",
        "PodOSNotSupported", "PodOSSelectorNodeLabelDoesNotMatch", "SupplementalGroupsPolicyNotSupported",
        "SysctlForbidden", "TopologyAffinityError", "UnexpectedAdmissionError", "UnexpectedPredicateFailureType",
        "UnknownReason", "VolumeAttachmentLimitExceeded", "node(s) had taints that the pod didn't tolerate",
    }
)  # fmt: skip


def render_healthz(checks: Mapping[str, str]) -> tuple[int, str]:
    """HTTP status and body. Each check has a problem or an empty text; the response does not contain the problem."""
    if not any(checks.values()):
        return 200, "ok"
    lines = [f"[-]{name} failed: reason withheld" if problem else f"[+]{name} ok" for name, problem in checks.items()]
    return 500, "\n".join([*lines, "healthz check failed"]) + "\n"


def render_pods(pods: Iterable[Pod]) -> str:
    items = [pod.to_json() for pod in pods]
    return json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}) + "\n"


def render_state(statistics: Mapping[str, Any]) -> str:
    return json.dumps(statistics, indent=2) + "\n"


# -- the data behind the endpoints ----------------------------------------------------------------------------------


def health_checks(kubelet: Kubelet, now: int) -> dict[str, str]:
    """The checks of `/healthz`. The sync loop's fails when the runtime has been down for five minutes."""
    return {"ping": "", "log": "", "syncloop": kubelet.sync_loop.health_problem(now)}


def pods_of(kubelet: Kubelet) -> list[Pod]:
    """The pods of all sources. Static pods carry the status from the kubelet's own status manager."""
    return [_with_own_status(kubelet, pod) for pod in kubelet.views.manager.pods()]


def _with_own_status(kubelet: Kubelet, pod: Pod) -> Pod:
    status = kubelet.views.statuses.get_pod_status(pod.metadata.uid) if is_static_pod(pod) else None
    return pod if status is None else pod.changed(status=status)


def statistics(kubelet: Kubelet) -> dict[str, Any]:
    """The kubelet's counters, and its pods with the state of their workers."""
    states = kubelet.views.states.statuses
    node_managers = kubelet.node_managers
    return {
        "node": kubelet.settings.node_name,
        "sourcesReady": kubelet.views.sources.all_ready,
        "workers": kubelet.workers.statistics(),
        "podCache": kubelet.views.cache.statistics(),
        "volumes": kubelet.volumes.statistics(),
        "nodeConditions": [] if node_managers is None else list(node_managers.eviction.node_conditions),
        "shuttingDown": node_managers is not None and node_managers.shutdown.shutting_down,
        "pods": {
            uid: {
                "name": state.fullname,
                "state": state.work_type(),
                "working": state.working,
                "evicted": state.evicted,
            }
            for uid, state in states.items()
        },
    }


def metrics_of(kubelet: Kubelet, traced: MetricsSink | None = None) -> Iterator[Metric]:
    """The kubelet's counters and, if there is a sink, measurements from its trace."""
    if traced is not None:
        yield from traced.metrics(kubelet.settings.node_name, kubelet.views.resyncs.counted)
    yield from _relists(kubelet)
    yield Metric(
        "kubelet_node_name",
        "gauge",
        "The name of the node. The count is always 1.",
        {(("node", kubelet.settings.node_name),): 1},
    )
    pods = kubelet.views.manager.pods()
    active = [pod for pod in pods if kubelet.views.is_active(pod)]
    yield Metric("kubelet_desired_pods", "gauge", "Pods that the sources want.", _by_static(pods))
    yield Metric("kubelet_active_pods", "gauge", "Pods that count when a new one is admitted.", _by_static(active))
    mirrors = len(kubelet.views.manager.mirror_pods())
    yield Metric("kubelet_mirror_pods", "gauge", "Mirror pods that the kubelet knows of.", {(): mirrors})
    yield Metric("kubelet_working_pods", "gauge", "Pods that have a worker, by how far it is.", _working(kubelet))
    yield from _running(kubelet)
    yield Metric(
        "volume_manager_total_volumes",
        "gauge",
        "Volumes that should be mounted, and that are.",
        {
            (("plugin_name", plugin), ("state", state)): count
            for state, plugins in kubelet.volumes.volumes_by_plugin().items()
            for plugin, count in plugins.items()
        },
    )
    yield from _counted(kubelet)
    yield Metric("prober_probe_total", "counter", "Probes of running workers, by result.", _probes(kubelet))
    if kubelet.node_managers is not None:
        evictions, collected = kubelet.node_managers.eviction.evictions, kubelet.node_managers.image_gc.collected
        yield Metric(
            "kubelet_evictions",
            "counter",
            "Pods evicted, by the signal that was short.",
            {(("eviction_signal", signal),): count for signal, count in evictions.items()},
        )
        yield Metric(
            "kubelet_image_garbage_collected_total",
            "counter",
            "Images removed, because of their age or for lack of space.",
            {(("reason", reason),): count for reason, count in collected.items()},
        )


def _relists(kubelet: Kubelet) -> Iterator[Metric]:
    pleg = kubelet.pleg
    for name, help, histogram in (
        ("relist_duration", "How long the PLEG took to list all pods.", pleg.relist_durations),
        ("relist_interval", "From one list of all pods to the next.", pleg.relist_intervals),
        ("pod_relist_duration", "How long the PLEG took to list a single pod.", pleg.pod_relist_durations),
    ):
        yield Metric(f"kubelet_pleg_{name}_seconds", "histogram", help, {(): histogram})
    help = "Events that the sync loop had no room for."
    yield Metric("kubelet_pleg_discard_events", "counter", help, {(): pleg.discarded})


def _counted(kubelet: Kubelet) -> Iterator[Metric]:
    """Counters since the kubelet started."""
    for name, help, labels in (
        ("started_pods", "Sandboxes that were begun.", ()),
        ("started_pods_errors", "Sandboxes that could not be made.", ()),
        ("started_containers", "Containers that were begun.", ("container_type",)),
        ("started_containers_errors", "Containers that could not be started.", ("container_type", "code")),
    ):
        counts = {key[1:]: count for key, count in kubelet.runtime.counts.items() if key[0] == name}
        samples: dict[Labels, float] = {tuple(sorted(zip(labels, key, strict=True))): n for key, n in counts.items()}
        yield Metric(f"kubelet_{name}_total", "counter", help, samples)
    rejections: Counter[Labels] = Counter()
    for reason, count in kubelet.views.rejections.items():
        rejections[(("reason", rejection_label(reason)),)] += count
    yield Metric("kubelet_admission_rejections_total", "counter", "Pods that were rejected.", dict(rejections))
    again = kubelet.housekeeping.restarted
    restarted: dict[Labels, float] = {(("static", "true" if static else ""),): n for static, n in again.items()}
    yield Metric("kubelet_restarted_pods_total", "counter", "Pods that came back under their old uid.", restarted)
    orphans: dict[Labels, float] = {(): kubelet.housekeeping.orphans} if kubelet.housekeeping.orphans else {}
    yield Metric("kubelet_orphaned_runtime_pods_total", "counter", "Pods that only the runtime knew.", orphans)


def rejection_label(reason: str) -> str:
    """The metric label of a rejection reason. Unknown reasons share one label to limit cardinality."""
    if reason in KNOWN_REJECTIONS:
        return reason
    return "OutOfExtendedResources" if reason.startswith("OutOf") else "Other"


def _probes(kubelet: Kubelet) -> dict[Labels, float]:
    words = {"success": "successful", "failure": "failed", "unknown": "unknown"}
    samples: dict[Labels, float] = {}
    for worker in kubelet.probes.workers():
        subject, metadata = worker.subject, worker.subject.pod.metadata
        for result, count in worker.results.items():
            labels = {
                "container": subject.container.name,
                "namespace": metadata.namespace,
                "pod": metadata.name,
                "pod_uid": metadata.uid,
                "probe_type": subject.probe_type.capitalize(),
                "result": words[result],
            }
            samples[tuple(labels.items())] = count
    return samples


def _by_static(pods: Iterable[Pod]) -> dict[Labels, float]:
    counts = Counter("true" if is_static_pod(pod) else "" for pod in pods)
    return {(("static", static),): counts[static] for static in ("", "true")}


def _working(kubelet: Kubelet) -> dict[Labels, float]:
    """Worker counts by lifecycle state, by presence in a source, and by static or not."""
    counts: Counter[Labels] = Counter()
    desired = kubelet.views.manager.uids()
    for uid, state in kubelet.views.states.statuses.items():
        update = state.active_update or state.pending_update
        pod = update.pod if update is not None else None
        config = "desired" if uid in desired else "orphan" if pod is not None else "runtime_only"
        static = "unknown" if pod is None else "true" if is_static_pod(pod) else ""
        counts[("config", config), ("lifecycle", state.work_type()), ("static", static)] += 1
    return dict(counts)


def _running(kubelet: Kubelet) -> Iterator[Metric]:
    """Running pods and containers at the last relist."""
    known = [kubelet.views.cache.known(uid) for uid in kubelet.views.states.statuses]
    statuses = [status for status in known if status is not None]
    running = sum(any(sandbox.ready for sandbox in status.sandboxes) for status in statuses)
    yield Metric("kubelet_running_pods", "gauge", "Pods that have a running sandbox.", {(): running})
    states = Counter(record.state for status in statuses for record in status.containers)
    samples: dict[Labels, float] = {(("container_state", state),): count for state, count in states.items()}
    yield Metric("kubelet_running_containers", "gauge", "Containers, by state.", samples)

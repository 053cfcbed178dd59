"""Controllers and the scheduler (scenarios/workloads/)."""

from __future__ import annotations

from typing import Any

from kubesim.cluster.controllers.cronjob.cron_plan import _start
from kubesim.cluster.controllers.daemonset.placement import Fit
from kubesim.cluster.controllers.endpointslice.endpoints import pod_to_endpoint
from kubesim.cluster.controllers.job.outcome.policies import NO_MATCH
from kubesim.cluster.controllers.volumes.binding.claim_decisions import _provision
from kubesim.cluster.controllers.volumes.storage_fields import class_of
from tests.support.mutations import Mutation, returns

CLUSTER = "kubesim.cluster"
CONTROLLERS = f"{CLUSTER}.controllers"
SCHEDULING = f"{CLUSTER}.scheduling"


def _allow(plan: Any, cron_job: Any, scheduled: int, now: int) -> Any:
    return _start(plan, cron_job.changed(spec=cron_job.spec.changed(concurrency_policy="Allow")), scheduled, now)


def _without_deletion(pod: Any, *args: Any) -> Any:
    return pod_to_endpoint(pod.changed(metadata=pod.metadata.changed(deletion_timestamp=None)), *args)


def _status_as_it_is(budget: Any, pod_name: str, now: int) -> Any:
    return budget.status


def _revision_as_it_is(sync: Any, new: Any, revision: int) -> Any:
    return new


def _at_once(claim: Any, view: Any) -> Any:
    return _provision(class_of(claim), view.storage_class(class_of(claim)))


WORKLOADS = {
    "workloads/cronjob-forbid": Mutation(f"{CONTROLLERS}.cronjob.cron_plan:_start", _allow),
    # Taints are ignored.
    "workloads/daemonset-taint": Mutation(f"{CONTROLLERS}.daemonset.controller:fit_of", returns(Fit(True, True))),
    # New pods do not wait for old ones.
    "workloads/deployment-recreate": Mutation(f"{CONTROLLERS}.deployment.sync:old_pods_running", returns(False)),
    # The budget allows every eviction.
    "workloads/drain-pdb": Mutation(f"{CLUSTER}.registry.subresources.eviction:check_and_decrement", _status_as_it_is),
    # Endpoints of terminating pods stay ready.
    "workloads/endpoints-prestop": Mutation(
        f"{CONTROLLERS}.endpointslice.reconciler:pod_to_endpoint", _without_deletion
    ),
    # A failed pod counts as succeeded.
    "workloads/eviction-recreation": Mutation(f"{CONTROLLERS}.pods:TERMINAL_PHASES", ("Succeeded",)),
    # No index fails.
    "workloads/indexed-job": Mutation(f"{CONTROLLERS}.job.outcome.counting:_is_index_failed", returns(False)),
    # Failed pods are replaced without back-off.
    "workloads/job-backoff-sidecar": Mutation(f"{CONTROLLERS}.job.sync_plan:remaining_time", returns(0)),
    "workloads/job-pod-failure-policy": Mutation(
        f"{CONTROLLERS}.job.outcome.ending:match_pod_failure_policy", returns(NO_MATCH)
    ),
    # Pods tolerate every taint, without a time limit.
    "workloads/node-lost": Mutation(f"{CONTROLLERS}.nodes.taint_eviction:toleration_time", returns(None)),
    # Nobody makes room.
    "workloads/preemption": Mutation(
        f"{SCHEDULING}.preemption.executor:PreemptionExecutor._preempt_pod", returns(None)
    ),
    "workloads/replicaset-adoption": Mutation(f"{CONTROLLERS}.owners:OwnerIndex.orphans", returns([])),
    "workloads/rollback": Mutation(f"{CONTROLLERS}.deployment.sync:DeploymentSync._with_revision", _revision_as_it_is),
    # One old pod may be deleted before the new one is ready.
    "workloads/rolling-update-readiness": Mutation(f"{CONTROLLERS}.deployment.rolling:max_unavailable", returns(1)),
    "workloads/scheduling-gates": Mutation(
        f"{SCHEDULING}.queue.scheduling_queue:SchedulingQueue._passes_gates", returns(True)
    ),
    # A claim is deleted with its pod.
    "workloads/statefulset-claims": Mutation(
        f"{CONTROLLERS}.statefulset.retention:retention_policy", returns(("Delete", "Delete"))
    ),
    # Pods do not wait for the previous one.
    "workloads/statefulset-stuck": Mutation(f"{CONTROLLERS}.statefulset.plan:Situation.is_ordered", False),
    "workloads/topology-spread": Mutation(
        f"{SCHEDULING}.plugins.pods.pod_topology_spread:spread_constraints", returns(())
    ),
    # A claim is provisioned without a consumer.
    "workloads/wait-for-first-consumer": Mutation(
        f"{CONTROLLERS}.volumes.binding.claim_decisions:_decide_unbound", _at_once
    ),
}

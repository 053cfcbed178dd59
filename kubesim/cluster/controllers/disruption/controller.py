"""The disruption controller: maintains the status of each PodDisruptionBudget, which the eviction API checks.

It also removes the DisruptionTarget condition from pods that were not deleted within two minutes.

Mirrors: pkg/controller/disruption/disruption.go trySync, updatePod, syncStalePodDisruption
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod, PodCondition
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.api.workloads.policy import PodDisruptionBudget
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.disruption.budget_status import (
    count_healthy,
    disrupted_pods,
    expected_pods,
    failed_status,
    needs_scale,
    new_status,
)
from kubesim.cluster.controllers.disruption.scales import ExpectedScale, expected_scale
from kubesim.cluster.controllers.queue import KeyQueue
from kubesim.cluster.controllers.selected_pods import SelectedPods
from kubesim.cluster.registry.subresources.binding import pod_with_condition
from kubesim.cluster.store.selectors import LabelSelector, selector_from
from kubesim.cluster.store.store import Key
from kubesim.cluster.store.watches import WatchEvent

STALE_DISRUPTION_TIMEOUT = 120 * SECOND


def selector_of(budget: ApiObject) -> LabelSelector | None:
    assert isinstance(budget, PodDisruptionBudget)
    return None if budget.spec.selector is None else selector_from(budget.spec.selector)


def stale_since(pod: Pod) -> int | None:
    """When a pod that is not being deleted was marked as disrupted. A condition set by a kubelet does not expire."""
    if pod.metadata.deletion_timestamp is not None or pod.status.phase in TERMINAL_PHASES:
        return None
    mark = next((c for c in pod.status.conditions if c.type == "DisruptionTarget"), None)
    if mark is None or mark.status != "True" or mark.reason == "TerminationByKubelet":
        return None
    return parse_time(mark.last_transition_time or "")


class DisruptionController(Controller):
    name = "controllermanager"  # the source component in its Events

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = SelectedPods(self.store, "PodDisruptionBudget", selector_of)
        stream = context.randomness.stream("controller", "stale-pod-disruption")
        self._stale = KeyQueue(context.clock, stream, self._sync_stale)
        self.watch("PodDisruptionBudget")
        self.store.watch("Pod", self._pod_changed)

    def _pod_changed(self, change: WatchEvent) -> None:
        pod = change.object
        assert isinstance(pod, Pod)
        budgets = self._pods.selecting(pod)
        if len(budgets) > 1:
            chosen = f'Pod "{pod.metadata.namespace}"/"{pod.metadata.name}" matches multiple PodDisruptionBudgets.'
            message = f'{chosen}  Chose "{budgets[0][1]}" arbitrarily.'
            self.client.event(pod, "Warning", "MultiplePodDisruptionBudgets", message)
        if budgets:
            self.queue.add(budgets[0])
        if change.type != "DELETED" and (since := stale_since(pod)) is not None:
            due = max(since + STALE_DISRUPTION_TIMEOUT, self.clock.now())
            self._stale.add_at((pod.metadata.namespace, pod.metadata.name), due)

    def sync(self, namespace: str, name: str) -> None:
        budget = self.store.find("PodDisruptionBudget", namespace, name)
        if not isinstance(budget, PodDisruptionBudget):
            return
        pods, now = self._pods.of(budget), self.clock.now()
        if not pods:
            self.client.event(budget, "Normal", "NoPods", "No matching pods found")
        scale = expected_scale(self.store, pods) if needs_scale(budget) else ExpectedScale()
        if scale.problem:
            self._fail(budget, scale.problem)
            return
        if scale.unmanaged:
            self._report_unmanaged(budget)
        wanted = expected_pods(budget, pods, scale)
        disrupted = disrupted_pods(budget, pods, now)
        for pod in disrupted.not_deleted:  # (upstream names the namespace twice)
            message = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
            self.client.event(pod, "Warning", "NotDeleted", message)
        healthy = count_healthy(pods, disrupted.pending, now)
        status = new_status(budget, healthy, wanted, disrupted.pending, now)
        why = (
            f"{healthy} of {wanted.expected} pods are healthy and {wanted.desired_healthy} must be, "
            f"so {status.disruptions_allowed or 'none'} may be evicted"
        )
        self.client.update_status(budget, status, why)
        if disrupted.recheck_at is not None:
            self.queue.add_at((namespace, name), disrupted.recheck_at)

    def _fail(self, budget: PodDisruptionBudget, problem: str) -> None:
        message = f"Failed to calculate the number of expected pods: {problem}"
        self.client.event(budget, "Warning", "CalculateExpectedPodCountFailed", message)
        self.client.update_status(budget, failed_status(budget, problem, self.clock.now()), message)

    def _report_unmanaged(self, budget: PodDisruptionBudget) -> None:
        message = (
            f"Pods selected by this PodDisruptionBudget (selector: {_printed(budget)}) were found to be unmanaged. As "
            "a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "
            'To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
        )
        self.client.event(budget, "Warning", "UnmanagedPods", message)

    def _sync_stale(self, key: Key) -> None:
        pod = self.store.find("Pod", *key)
        since = stale_since(pod) if isinstance(pod, Pod) else None
        if since is None or not isinstance(pod, Pod):
            return
        if since + STALE_DISRUPTION_TIMEOUT > self.clock.now():
            self._stale.add_at(key, since + STALE_DISRUPTION_TIMEOUT)
            return
        condition = PodCondition(type="DisruptionTarget", status="False", observed_generation=pod.metadata.generation)
        new = pod_with_condition(pod, condition, self.clock.now())
        why = "the pod was marked as disrupted two minutes ago, and nobody has deleted it"
        self.client.patch(pod, new, why, "status", verb="update")


def _printed(budget: PodDisruptionBudget) -> str:
    """A LabelSelector in the format of its String method."""
    selector = budget.spec.selector or {}
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{item['key']},Operator:{item['operator']},"
        f"Values:[{' '.join(item.get('values') or ())}],}},"
        for item in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )

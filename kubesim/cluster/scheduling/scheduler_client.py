"""The scheduler's writes: bindings, pod statuses, annotations of claims, claimRefs of volumes."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Pod, PodCondition
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import ControllerClient
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.registry.subresources.binding import bind, pod_with_condition
from kubesim.cluster.store.kinds import RESOURCES

NAME = "default-scheduler"


class SchedulerClient(ControllerClient):
    """Writes on behalf of the scheduler. Errors are `ApiError`s."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, NAME)
        self._now = context.clock.now

    def bind(self, pod: Pod, node: str, why: str) -> None:
        metadata = pod.metadata
        target = Target(RESOURCES["Pod"], metadata.namespace, metadata.name, "binding")
        self._record("create", target, pod, why, {"node": node})
        named = {"name": metadata.name, "uid": metadata.uid}
        bind(self._store, target, {"metadata": named, "target": {"kind": "Node", "name": node}})

    def patch_status(self, pod: Pod, condition: PodCondition | None, nominate: str | None, why: str) -> Pod:
        """Write the condition and the nominated node; None leaves the latter unchanged."""
        changed = pod if condition is None else pod_with_condition(pod, condition, self._now())
        shown: dict[str, Any] = {} if condition is None else {condition.type: f"{condition.status}/{condition.reason}"}
        if nominate is not None and nominate != pod.status.nominated_node_name:
            changed = changed.changed(status=changed.status.changed(nominated_node_name=nominate))
            shown["nominatedNodeName"] = nominate
        written = self.patch(pod, changed, why, "status", shown)
        assert isinstance(written, Pod)
        return written

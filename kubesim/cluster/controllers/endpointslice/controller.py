"""The EndpointSlice controller: writes the slices of each Service that selects pods.

Mirrors: pkg/controller/endpointslice/endpointslice_controller.go syncService, onPodUpdate, onEndpointSliceUpdate
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.api.workloads.services import EndpointSlice, Service
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.endpointslice.endpoints import may_match_other_services, pod_endpoints_changed
from kubesim.cluster.controllers.endpointslice.explanation import explain
from kubesim.cluster.controllers.endpointslice.reconciler import CONTROLLER, MANAGED_BY, SERVICE_NAME, reconcile
from kubesim.cluster.controllers.endpointslice.trigger_times import TRIGGER_TIME, TriggerTimes
from kubesim.cluster.controllers.selected_pods import SelectedPods
from kubesim.cluster.problems import not_found
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.selectors import LabelSelector, selector_from
from kubesim.cluster.store.store import Key
from kubesim.cluster.store.watches import WatchEvent

SLICE_CHANGE_DELAY = 1 * SECOND  # delay after another client changed a slice


def selector_of(service: ApiObject) -> LabelSelector | None:
    """The Service's selector. Services without one, and external names, get no slices here."""
    assert isinstance(service, Service)
    if not service.spec.selector or service.spec.type == "ExternalName":
        return None
    return selector_from({"matchLabels": service.spec.selector})


class EndpointSliceController(Controller):
    name = "endpoint-slice-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = SelectedPods(self.store, "Service", selector_of)
        self._slices = context.owned("EndpointSlice")
        self._trigger_times = TriggerTimes()
        self._writes = False  # the controller changed the slice itself
        self.watch("Service")
        self.store.watch("Pod", self._pod_changed)
        self.store.watch("EndpointSlice", self._slice_changed)

    def _pod_changed(self, change: WatchEvent) -> None:
        pod, old = change.object, change.previous
        assert isinstance(pod, Pod)
        if change.type == "MODIFIED" and isinstance(old, Pod):
            keys = self._affected(old, pod)
        else:
            keys = self._pods.selecting(pod)
        for key in keys:
            self.queue.add(key)

    def _affected(self, old: Pod, pod: Pod) -> list[Key]:
        changed = pod_endpoints_changed(old, pod)
        if not may_match_other_services(old, pod):
            return self._pods.selecting(pod) if changed else []
        before, now = self._pods.selecting(old), self._pods.selecting(pod)
        return [key for key in dict.fromkeys((*before, *now)) if changed or key not in before or key not in now]

    def _slice_changed(self, change: WatchEvent) -> None:
        """Revert a change by another client."""
        if self._writes:
            return
        for item in (change.object, change.previous):
            if item is not None and item.metadata.labels.get(MANAGED_BY) == CONTROLLER:
                service = item.metadata.labels.get(SERVICE_NAME, "")
                self.queue.add_after((item.metadata.namespace, service), SLICE_CHANGE_DELAY)

    def sync(self, namespace: str, name: str) -> None:
        service = self.store.find("Service", namespace, name)
        if not isinstance(service, Service):
            self._trigger_times.forget((namespace, name))
            return
        if selector_of(service) is None:
            return
        pods = self._pods.of(service)
        trigger_time = self._trigger_times.compute(service, pods)
        changes = reconcile(service, pods, self._existing(service), self._find_node)
        self._writes = True
        try:
            if service.metadata.deletion_timestamp is None:
                for item in changes.created:
                    self._create(item, trigger_time)
            for item in changes.updated:
                self._update(item, trigger_time)
            for item in changes.deleted:
                self.client.delete(item, "its endpoints are gone or in other slices")
        finally:
            self._writes = False
        if changes.lost:
            self._report_lost(service, changes.lost[0])

    def _existing(self, service: Service) -> list[EndpointSlice]:
        return [
            item
            for item in self._slices.of(service)
            if isinstance(item, EndpointSlice)
            and item.metadata.labels.get(MANAGED_BY) == CONTROLLER
            and item.metadata.labels.get(SERVICE_NAME) == service.metadata.name
            and item.metadata.deletion_timestamp is None
        ]

    def _find_node(self, name: str) -> Node | None:
        node = self.store.find("Node", "", name)
        return node if isinstance(node, Node) else None

    def _create(self, item: EndpointSlice, trigger_time: str) -> None:
        annotations = {TRIGGER_TIME: trigger_time} if trigger_time else {}
        self.client.create(item.changed(metadata=item.metadata.changed(annotations=annotations)), explain(None, item))

    def _update(self, item: EndpointSlice, trigger_time: str) -> None:
        metadata = item.metadata
        annotations = {key: value for key, value in metadata.annotations.items() if key != TRIGGER_TIME}
        if trigger_time:
            annotations[TRIGGER_TIME] = trigger_time
        old = self.store.get("EndpointSlice", metadata.namespace, metadata.name)
        changed = metadata.changed(annotations=annotations, generation=metadata.generation + 1)
        assert isinstance(old, EndpointSlice)
        self.client.patch(old, item.changed(metadata=changed), explain(old, item), verb="update")

    def _report_lost(self, service: Service, pod: Pod) -> None:
        """Emit a warning and retry, as the node may come back."""
        metadata, node = service.metadata, pod.spec.node_name
        named = f"{metadata.namespace}/{metadata.name}"
        problem = f"skipping Pod {pod.metadata.name} for Service {named}: Node {node} Not Found"
        message = f"Error updating Endpoint Slices for Service {named}: {problem}"
        self.client.event(service, "Warning", "FailedToUpdateEndpointSlices", message)
        raise not_found(resource_of("Node"), node)

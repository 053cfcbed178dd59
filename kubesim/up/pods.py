"""Finds the containers of a pod on its node, with the errors of the API server and the kubelet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubesim.api.pod import Pod
from kubesim.app import Simulation
from kubesim.clock import LoopClock
from kubesim.cluster.kubectl.logs import DEFAULT_CONTAINER
from kubesim.cluster.problems import bad_request, internal_error
from kubesim.runtime.simulated.containers.container_process import ContainerProcess, SimulatedContainer
from kubesim.scenario.play.node.simulated_node import SimulatedNode
from kubesim.values import value_object


class Pods:
    """The pods of a simulation. `clock` is the clients' clock."""

    def __init__(self, simulation: Simulation, clock: LoopClock) -> None:
        self.clock = clock
        self._simulation = simulation

    def now(self) -> int:
        """The current time of the containers."""
        return self._simulation.clock.now()

    def get(self, namespace: str, name: str) -> Pod:
        """The pod. Raises ApiError 404."""
        pod = self._simulation.store.get("Pod", namespace, name)
        assert isinstance(pod, Pod)
        return pod

    def node_of(self, pod: Pod) -> SimulatedNode:
        """The node that runs the pod. Raises ApiError if its kubelet does not answer."""
        name = pod.spec.node_name
        if not name:
            raise bad_request(f"pod {pod.metadata.name} does not have a host assigned")
        node = self._simulation.nodes.get(name)
        if node is None or not node.kubelet_runs or not node.api.up:
            where = name if node is None else node.name
            raise internal_error(f"error dialing backend: dial tcp: lookup {where}: the kubelet does not answer")
        return node


@value_object
class PodRequest:
    """A request about one pod; `query` has all values of each key, in order."""

    pods: Pods
    namespace: str
    name: str
    query: Mapping[str, Sequence[str]]

    def text(self, key: str) -> str:
        return (self.query.get(key) or ("",))[0]

    def flag(self, key: str) -> bool:
        """Whether a flag is set: any value means true, except `0` and `false`."""
        return key in self.query and self.text(key).lower() not in ("0", "false")

    def pod(self) -> Pod:
        return self.pods.get(self.namespace, self.name)

    def container_name(self, pod: Pod) -> str:
        """The container that the request names, or the only one. Raises ApiError."""
        given, name = self.text("container"), pod.metadata.name
        init = [each.name for each in pod.spec.init_containers]
        main = [each.name for each in pod.spec.containers]
        if given:
            if given not in (*init, *main, *(each.name for each in pod.spec.ephemeral_containers)):
                raise bad_request(f"container {given} is not valid for pod {name}")
            return given
        default = pod.metadata.annotations.get(DEFAULT_CONTAINER, "")
        if default in main:
            return default
        if len(main) == 1:
            return main[0]
        also = f" or one of the init containers: [{' '.join(init)}]" if init else ""
        raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{' '.join(main)}]{also}")

    def running(self) -> tuple[Pod, SimulatedContainer, ContainerProcess]:
        """The running container of the request. Raises ApiError."""
        pod = self.pod()
        node = self.pods.node_of(pod)
        name = self.container_name(pod)
        for context in node.runtime.running(pod.metadata.uid):
            if context.container.name == name:
                container = node.runtime.find(context.identifier)
                if container.process is not None:
                    return pod, container, container.process
        raise internal_error(f'container not found ("{name}")')

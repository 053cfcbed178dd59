"""What a cluster has beside its API server and its nodes: controllers, a scheduler, the objects of a new cluster."""

from __future__ import annotations

from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.manager import start_when_needed
from kubesim.cluster.controllers.nodes.node_taints import NodeTaints
from kubesim.cluster.controllers.nodes.taint_eviction import TaintEviction
from kubesim.cluster.controllers.volumes.standard_class import create_standard_class
from kubesim.cluster.registry.services.kubernetes_service import create_kubernetes_service
from kubesim.cluster.scheduling.starting import FirstNode, SchedulerStarter
from kubesim.scenario.language.document import Spec
from kubesim.scenario.play.node.live_node import LiveNode


def start_control_plane(controllers: ControllerContext, spec: Spec, live: LiveNode | None) -> None:
    """Of a live cluster only the pods are read: it has controllers, a scheduler and classes of its own."""
    store, gates = controllers.store, controllers.gates
    if not gates.enabled("BoundServiceAccountTokenVolume"):
        from kubesim.cluster.controllers.tokens import TokensController

        store.binds_tokens = False
        TokensController(store)
    store.proposes_resizes = gates.rules.proposes_resizes
    create_kubernetes_service(store)
    if live is None or live.decides_alone:
        NodeTaints(controllers)
        TaintEviction(controllers)
    if live is not None:
        return
    create_standard_class(store)
    start_when_needed(controllers)
    if spec.scheduler == "off":
        FirstNode(controllers, spec.nodes[0].name)
    else:
        SchedulerStarter(controllers)

"""Admission as the handlers ask for it: may this pod run beside those that were admitted before?

Mirrors: pkg/kubelet/lifecycle/predicate.go predicateAdmitHandler
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.admission.node_info import NodeInfo
from kubesim.kubelet.admission.predicates import admit_beside


class NodeAdmission:
    """The last check of one node; implements the handlers' `Admission`.

    What the active pods use is summed up once and grows with each pod that is admitted; `pods_changed` says that it
    must be summed up anew.
    """

    def __init__(self, node: Node, gates: FeatureGates = DEFAULT_GATES) -> None:
        self._node = node
        self._gates = gates
        self._info: NodeInfo | None = None

    def admit(self, pod: Pod, others: Callable[[], Iterable[Pod]]) -> tuple[str, str]:
        """The reason and message of a refusal, empty if the pod may run; `others` gives the other active pods."""
        if self._info is None:
            self._info = NodeInfo(self._node, others(), self._gates)
        result = admit_beside(pod, self._info, self._gates)
        if not result.admit:
            return result.reason, result.message
        self._info.add(pod)
        return "", ""

    def pods_changed(self) -> None:
        self._info = None

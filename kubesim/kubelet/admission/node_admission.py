"""Admission as the handlers ask for it: may this pod run beside those that were admitted before?

Mirrors: pkg/kubelet/lifecycle/predicate.go predicateAdmitHandler
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.admission.predicates import admit


class NodeAdmission:
    """The last check of one node; implements the handlers' `Admission`."""

    def __init__(self, node: Node, gates: FeatureGates = DEFAULT_GATES) -> None:
        self._node = node
        self._gates = gates

    def admit(self, pod: Pod, active: Sequence[Pod]) -> tuple[str, str]:
        result = admit(pod, self._node, active, self._gates)
        return ("", "") if result.admit else (result.reason, result.message)

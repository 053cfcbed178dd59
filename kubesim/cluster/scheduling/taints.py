"""Whether a pod tolerates a node's taints. The kubelet checks only NoExecute taints.

Mirrors: component-helpers/scheduling/corev1/helpers.go FindMatchingUntoleratedTaint; api/core/v1/toleration.go
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import gt, lt
from typing import Final

from kubesim.api.node import Node, Taint
from kubesim.api.pod import Pod, Toleration
from kubesim.cluster.scheduling.node_affinity import parse_int64
from kubesim.features import DEFAULT_GATES, FeatureGates

_COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {"Lt": lt, "Gt": gt}
_DECIMAL_INTEGER = re.compile(r"0|-?[1-9][0-9]*")


def untolerated_taint(pod: Pod, node: Node, gates: FeatureGates = DEFAULT_GATES) -> Taint | None:
    """The first untolerated taint."""
    comparison = gates.enabled("TaintTolerationComparisonOperators")
    for taint in node.spec.taints:
        if taint.effect in ("NoSchedule", "NoExecute") and not any(
            tolerates(toleration, taint, comparison=comparison) for toleration in pod.spec.tolerations
        ):
            return taint
    return None


def tolerates_no_execute_taints(pod: Pod, node: Node, gates: FeatureGates = DEFAULT_GATES) -> bool:
    comparison = gates.enabled("TaintTolerationComparisonOperators")
    return all(
        any(tolerates(toleration, taint, comparison=comparison) for toleration in pod.spec.tolerations)
        for taint in node.spec.taints
        if taint.effect == "NoExecute"
    )


def tolerates(toleration: Toleration, taint: Taint, *, comparison: bool) -> bool:
    """Whether a toleration matches; an empty key or effect matches all. `comparison` allows the operators Lt and Gt."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    if toleration.operator in _COMPARISONS and comparison:
        value, bound = _number(taint.value), _number(toleration.value)
        return value is not None and bound is not None and _COMPARISONS[toleration.operator](value, bound)
    return toleration.operator == "Exists"


def _number(text: str) -> int | None:
    return parse_int64(text) if _DECIMAL_INTEGER.fullmatch(text) else None

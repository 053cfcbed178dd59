"""Admission: the kubelet's own checks, before a pod gets its worker."""

from kubesim.cluster.scheduling.fit import InsufficientResource, PredicateFailure
from kubesim.cluster.scheduling.node_info import NodeInfo, NodeResources
from kubesim.kubelet.admission.predicates import AdmissionResult, Failure, admit, predicate_failures

__all__ = [
    "AdmissionResult",
    "Failure",
    "InsufficientResource",
    "NodeInfo",
    "NodeResources",
    "PredicateFailure",
    "admit",
    "predicate_failures",
]

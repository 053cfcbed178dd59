"""The topology of a new volume: that of the selected node, limited by the class.

Mirrors: kubernetes-csi/external-provisioner pkg/controller/topology.go GenerateAccessibilityRequirements,
GenerateVolumeNodeAffinity
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.cluster.controllers.volumes.storage_fields import Json
from kubesim.errors import KubesimError


class TopologyError(KubesimError):
    """No volume can be provisioned for the selected node."""


def node_affinity(node: ApiObject | None, keys: Sequence[str], allowed: Sequence[Json]) -> Json | None:
    """The node affinity of the volume; None: accessible from every node.

    `keys` are the driver's topology labels. If empty, the labels in the class apply.
    """
    terms = [_labels(term) for term in allowed]
    keys = tuple(keys) or tuple(dict.fromkeys(key for term in terms for key in term))
    if not keys:
        return None
    if node is None:
        if not terms:
            return None
        return _selector({key: values[0] for key, values in terms[0].items() if values})
    own = {key: node.metadata.labels[key] for key in keys if key in node.metadata.labels}
    if terms and not any(all(own.get(key) in values for key, values in term.items()) for term in terms):
        where = f"selected node '\"{node.metadata.name}\"' topology '{_go(own)}'"
        known = " ".join(_go(term) for term in terms)
        problem = f"error generating accessibility requirements: {where} is not in allowed topologies: [{known}]"
        raise TopologyError(problem)
    return _selector(own) if own else None


def _labels(term: Json) -> dict[str, list[str]]:
    return {one.get("key", ""): list(one.get("values") or ()) for one in term.get("matchLabelExpressions") or ()}


def _go(labels: dict[str, Any]) -> str:
    return "map[" + " ".join(f"{key}:{value}" for key, value in sorted(labels.items())) + "]"


def _selector(labels: dict[str, str]) -> Json:
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in sorted(labels.items())]
    return {"nodeSelectorTerms": [{"matchExpressions": expressions}]}

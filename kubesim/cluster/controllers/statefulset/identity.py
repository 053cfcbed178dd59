"""The identity of a StatefulSet's pod: name, labels, host name and volumes, all derived from its ordinal.

Mirrors: pkg/controller/statefulset/stateful_set_utils.go getParentNameAndOrdinal, identityMatches, storageMatches,
updateIdentity, updateStorage, newVersionedStatefulSetPod
"""

from __future__ import annotations

import re

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.workloads.apps import StatefulSet
from kubesim.cluster.controllers.pods import pod_from_template

POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"
REVISION_LABEL = "controller-revision-hash"
CLAIM = "PersistentVolumeClaim"

_POD_NAME = re.compile(r"(.*)-([0-9]+)")
_ORDINAL_MAX = 2**31 - 1


def parent_and_ordinal(name: str) -> tuple[str, int]:
    """The StatefulSet and the ordinal in a pod's name; the ordinal is -1 if there is none."""
    found = _POD_NAME.fullmatch(name)
    if found is None:
        return "", -1
    ordinal = int(found[2])
    return found[1], ordinal if ordinal <= _ORDINAL_MAX else -1


def ordinal_of(pod: ApiObject) -> int:
    return parent_and_ordinal(pod.metadata.name)[1]


def is_member_of(set_: StatefulSet, pod: ApiObject) -> bool:
    return parent_and_ordinal(pod.metadata.name)[0] == set_.metadata.name


def start_ordinal(set_: StatefulSet) -> int:
    return 0 if set_.spec.ordinals is None else set_.spec.ordinals.start


def ordinals(set_: StatefulSet) -> range:
    """The ordinals of the desired pods."""
    start = start_ordinal(set_)
    return range(start, start + (set_.spec.replicas or 0))


def pod_name(set_: StatefulSet, ordinal: int) -> str:
    return f"{set_.metadata.name}-{ordinal}"


def revision_of(pod: Pod) -> str:
    """The name of the revision from which the pod was created."""
    return pod.metadata.labels.get(REVISION_LABEL, "")


# -- claims ---------------------------------------------------------------------------------------------------------


def claim_names(set_: StatefulSet, ordinal: int) -> dict[str, str]:
    """The claim name for each claim template of a pod."""
    names = [template["metadata"]["name"] for template in set_.spec.volume_claim_templates]
    return {name: f"{name}-{set_.metadata.name}-{ordinal}" for name in names}


def new_claims(set_: StatefulSet, ordinal: int) -> list[ApiObject]:
    """The claims that a pod needs, labelled with the set's selector."""
    labels = (set_.spec.selector or {}).get("matchLabels") or {}
    names = claim_names(set_, ordinal)
    claims = []
    for template in set_.spec.volume_claim_templates:
        metadata = dict(template["metadata"])
        metadata |= {"name": names[metadata["name"]], "namespace": set_.metadata.namespace}
        metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
        claims.append(ApiObject.from_json({**template, "kind": CLAIM, "apiVersion": "v1", "metadata": metadata}))
    return claims


def storage_matches(set_: StatefulSet, pod: Pod) -> bool:
    """Whether the pod mounts the claims of its ordinal."""
    ordinal = ordinal_of(pod)
    volumes = {volume["name"]: volume for volume in pod.spec.volumes}
    return ordinal >= 0 and all(
        (volumes.get(name, {}).get("persistentVolumeClaim") or {}).get("claimName") == claim
        for name, claim in claim_names(set_, ordinal).items()
    )


def with_storage(set_: StatefulSet, pod: Pod) -> Pod:
    """The pod with its claims as volumes; they replace volumes of the same name."""
    claims = claim_names(set_, ordinal_of(pod))
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in claims.items()]
    volumes += [volume for volume in pod.spec.volumes if volume["name"] not in claims]
    return pod.changed(spec=pod.spec.changed(volumes=tuple(volumes)))


# -- pods -----------------------------------------------------------------------------------------------------------


def identity_matches(set_: StatefulSet, pod: Pod) -> bool:
    parent, ordinal = parent_and_ordinal(pod.metadata.name)
    name = pod.metadata.name
    named = ordinal >= 0 and parent == set_.metadata.name and name == pod_name(set_, ordinal)
    return named and pod.metadata.labels.get(POD_NAME_LABEL) == name


def with_identity(set_: StatefulSet, pod: Pod) -> Pod:
    ordinal = ordinal_of(pod)
    name = pod_name(set_, ordinal)
    labels = {**pod.metadata.labels, POD_NAME_LABEL: name, POD_INDEX_LABEL: str(ordinal)}
    return pod.changed(metadata=pod.metadata.changed(name=name, namespace=set_.metadata.namespace, labels=labels))


def new_pod(set_: StatefulSet, ordinal: int, revision: str) -> Pod:
    """A pod for an ordinal, from the set's template."""
    pod = pod_from_template(set_.spec.template, set_)
    name = pod_name(set_, ordinal)
    labels = {**pod.metadata.labels, REVISION_LABEL: revision}
    pod = pod.changed(
        metadata=pod.metadata.changed(name=name, labels=labels),
        spec=pod.spec.changed(hostname=name, subdomain=set_.spec.service_name),
    )
    return with_storage(set_, with_identity(set_, pod))


def is_at_current_revision(set_: StatefulSet, ordinal: int) -> bool:
    """Whether a new pod uses the current revision: so do pods below the partition.

    Without the field rollingUpdate, the status's current replicas count instead.
    """
    strategy = set_.spec.update_strategy
    below = ordinal - start_ordinal(set_)
    if strategy.rolling_update is not None:
        return below < (strategy.rolling_update.partition or 0)
    return strategy.type == "RollingUpdate" and below < set_.status.current_replicas


def new_versioned_pod(current: StatefulSet, update: StatefulSet, revisions: tuple[str, str], ordinal: int) -> Pod:
    """A pod from the current or the update revision. The set is given at both, with their names."""
    if is_at_current_revision(current, ordinal):
        return new_pod(current, ordinal, revisions[0])
    return new_pod(update, ordinal, revisions[1])

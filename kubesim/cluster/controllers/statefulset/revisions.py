"""The current, update and old revisions of a StatefulSet.

Mirrors: pkg/controller/statefulset/stateful_set_control.go getStatefulSetRevisions, truncateHistory
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy

from kubesim.api.pod import Pod
from kubesim.api.workloads.apps import ControllerRevision, StatefulSet
from kubesim.api.workloads.rules.pod_templates import default_pod_template
from kubesim.cluster.controllers.history import (
    HASH_LABEL,
    Data,
    RevisionHistory,
    hash_revision,
    new_revision,
    next_revision,
    patch_of,
    revision_name,
    template_patch,
)
from kubesim.cluster.controllers.statefulset.identity import revision_of
from kubesim.cluster.controllers.statefulset.plan import Versions


def resolve_versions(history: RevisionHistory, set_: StatefulSet, revisions: Sequence[ControllerRevision]) -> Versions:
    """The current and the update revision. A new template creates a revision.

    `revisions` are the set's, oldest first.
    """
    collision_count = set_.status.collision_count or 0
    data = template_patch(set_)
    equal = [revision for revision in revisions if revision.data == data]
    if equal and equal[-1] is revisions[-1]:
        update = equal[-1]
    elif equal:
        update = history.renumber(equal[-1], next_revision(revisions))
    elif revisions and _with_defaults(revisions[-1].data) == data:
        update = revisions[-1]
    else:
        proposed = _proposed(set_, data, next_revision(revisions), collision_count)
        update, collision_count = history.create(proposed, collision_count)
    named = set_.status.current_revision
    current = next((revision for revision in revisions if revision.metadata.name == named), update)
    return Versions(current, update, collision_count)


def _proposed(set_: StatefulSet, data: Data, number: int, collision_count: int) -> ControllerRevision:
    hash_text = hash_revision(data, collision_count)
    labels = {**set_.spec.template.metadata.labels, HASH_LABEL: hash_text}
    return new_revision(set_, revision_name(set_.metadata.name, hash_text), labels, data, number)


def _with_defaults(data: Data) -> Data:
    """The data with current defaults, as an older server may have set fewer."""
    template = deepcopy((data.get("spec") or {}).get("template") or {})
    template.pop("$patch", None)
    default_pod_template(template)
    return patch_of(template)


def surplus_revisions(
    set_: StatefulSet, pods: Iterable[Pod], revisions: Sequence[ControllerRevision], live: Iterable[str]
) -> list[ControllerRevision]:
    """The oldest unused revisions beyond the limit. A negative limit keeps all."""
    limit = set_.spec.revision_history_limit
    used = {*live, *(revision_of(pod) for pod in pods)}
    unused = [revision for revision in revisions if revision.metadata.name not in used]
    if limit is None or limit < 0 or len(unused) <= limit:
        return []
    return unused[: len(unused) - limit]

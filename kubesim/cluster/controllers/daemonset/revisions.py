"""The revisions of a DaemonSet: that of its current template, and old ones.

Mirrors: pkg/controller/daemon/update.go constructHistory, dedupCurHistories, snapshot, cleanupHistory
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubesim.api.pod import Pod
from kubesim.api.workloads.apps import ControllerRevision, DaemonSet
from kubesim.api.workloads.templates import template_hash
from kubesim.cluster.controllers.controller import ControllerClient
from kubesim.cluster.controllers.daemonset.placement import HASH_LABEL
from kubesim.cluster.controllers.history import (
    RevisionHistory,
    by_revision,
    new_revision,
    next_revision,
    template_patch,
)
from kubesim.cluster.store.selectors import selector_from
from kubesim.errors import ApiError


def revision_hash(revision: ControllerRevision) -> str:
    return revision.metadata.labels.get(HASH_LABEL, "")


class DaemonHistory:
    """Maintains the ControllerRevisions of DaemonSets."""

    def __init__(self, client: ControllerClient, history: RevisionHistory) -> None:
        self._client = client
        self._history = history

    def construct(self, set_: DaemonSet, pods: Sequence[Pod]) -> tuple[ControllerRevision, list[ControllerRevision]]:
        """The revision of the current template, created if missing, and all others."""
        revisions = [self._labelled(each) for each in self._history.claim(set_, selector_from(set_.spec.selector))]
        data = template_patch(set_)
        old = [each for each in revisions if each.data != data]
        same = [each for each in revisions if each.data == data]
        number = next_revision(old)
        if not same:
            return self._snapshot(set_, number), old
        current = self._without_duplicates(same, pods)
        if current.revision < number:
            current = self._history.renumber(current, number)
        return current, old

    def _labelled(self, revision: ControllerRevision) -> ControllerRevision:
        """Label a revision that lacks a hash with its name."""
        if HASH_LABEL in revision.metadata.labels:
            return revision
        labels = {**revision.metadata.labels, HASH_LABEL: revision.metadata.name}
        new = revision.changed(metadata=revision.metadata.changed(labels=labels))
        written = self._client.update(new, "a revision needs a hash that pods can be labelled with")
        assert isinstance(written, ControllerRevision)
        return written

    def _without_duplicates(self, same: Sequence[ControllerRevision], pods: Sequence[Pod]) -> ControllerRevision:
        """Keep the newest of several revisions with the same template, and relabel their pods."""
        kept = max(same, key=lambda each: each.revision)
        if len(same) == 1:
            return kept
        for pod in pods:
            if pod.metadata.labels.get(HASH_LABEL) != revision_hash(kept):
                labels = {**pod.metadata.labels, HASH_LABEL: revision_hash(kept)}
                new = pod.changed(metadata=pod.metadata.changed(labels=labels))
                self._client.patch(pod, new, "two revisions are equal, and the pod is counted to the newer one")
        for each in same:
            if each is not kept:
                self._history.delete(each, "a newer revision has the same template")
        return kept

    def _snapshot(self, set_: DaemonSet, number: int) -> ControllerRevision:
        """Create a revision of the current template. If its name exists with another template, the next attempt uses a
        new name.
        """
        hash_text = template_hash(set_.spec.template, set_.status.collision_count)
        name = f"{set_.metadata.name}-{hash_text}"
        labels = {**set_.spec.template.metadata.labels, HASH_LABEL: hash_text}
        revision = new_revision(set_, name, labels, template_patch(set_), number)
        try:
            return self._history.create_named(revision)
        except ApiError as error:
            existing = self._history.find(set_.metadata.namespace, name)
            if error.reason != "AlreadyExists" or existing is None:
                raise
            if existing.data == revision.data:
                return existing
            collided = set_.status.changed(collision_count=(set_.status.collision_count or 0) + 1)
            self._client.update_status(set_, collided, f"revision {name} exists with another template")
            raise

    def clean_up(self, set_: DaemonSet, old: Sequence[ControllerRevision], pods: Iterable[Pod]) -> None:
        limit = set_.spec.revision_history_limit or 0
        for revision in surplus_revisions(old, pods, limit):
            self._history.delete(revision, f"no pod is at it, and the set keeps {limit} old revisions")


def surplus_revisions(old: Sequence[ControllerRevision], pods: Iterable[Pod], limit: int) -> list[ControllerRevision]:
    """The oldest unused revisions beyond the limit."""
    surplus = len(old) - limit
    if surplus <= 0:
        return []
    used = {pod.metadata.labels.get(HASH_LABEL, "") for pod in pods} - {""}
    unused = [each for each in sorted(old, key=by_revision) if revision_hash(each) not in used]
    return unused[:surplus]

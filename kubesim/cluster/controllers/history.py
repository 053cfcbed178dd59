"""The revision history of a StatefulSet or DaemonSet: one ControllerRevision per template.

The data of a revision is a patch that restores its template. Revisions with equal data are equal, whatever their
numbers.

Mirrors: pkg/controller/history/controller_history.go; pkg/controller/statefulset/stateful_set_utils.go getPatch,
newRevision, ApplyRevision
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubesim.api.meta import ApiObject, ObjectMeta
from kubesim.api.schema.codec import encode
from kubesim.api.workloads.apps import ControllerRevision, DaemonSet, StatefulSet
from kubesim.api.workloads.templates import PodTemplateSpec, safe_encode
from kubesim.cluster.controllers.controller import ControllerClient
from kubesim.cluster.controllers.owners import OwnerIndex, controller_of, controller_reference
from kubesim.cluster.store.selectors import LabelSelector
from kubesim.cluster.store.store import Store
from kubesim.errors import ApiError
from kubesim.golang.fnv import fnv1_32
from kubesim.golang.json import dumps

HASH_LABEL = "controller.kubernetes.io/hash"
_PREFIX_MAX = 223  # limits the name to 253 characters

Data = dict[str, Any]


def template_patch(owner: StatefulSet | DaemonSet) -> Data:
    """The revision data of the owner's current template."""
    return patch_of(owner.spec.template.to_json())


def patch_of(template: Data) -> Data:
    return {"spec": {"template": {**encode("PodTemplateSpec", template), "$patch": "replace"}}}


def template_of(revision: ControllerRevision) -> PodTemplateSpec:
    """The template that a revision restores."""
    template = {name: value for name, value in revision.data["spec"]["template"].items() if name != "$patch"}
    return PodTemplateSpec.from_json(template)


def hash_revision(data: Data, collision_count: int | None) -> str:
    """The hash in a revision's name; the collision count changes it."""
    text = dumps(data) + ("" if collision_count is None else str(collision_count))
    return safe_encode(str(fnv1_32(text.encode())))


def revision_name(prefix: str, hash_text: str) -> str:
    return f"{prefix[:_PREFIX_MAX]}-{hash_text}"


def new_revision(
    owner: StatefulSet | DaemonSet,
    name: str,
    labels: Mapping[str, str],
    data: Data,
    revision: int,
) -> ControllerRevision:
    """A revision that the owner controls, with the owner's annotations."""
    return ControllerRevision(
        api_version="apps/v1",
        kind="ControllerRevision",
        metadata=ObjectMeta(
            name=name,
            namespace=owner.metadata.namespace,
            labels=dict(labels),
            annotations=owner.metadata.annotations,
            owner_references=(controller_reference(owner),),
        ),
        data=data,
        revision=revision,
    )


def by_revision(revision: ControllerRevision) -> tuple[int, str, str]:
    """Sorts oldest first: by number, time, name."""
    return revision.revision, revision.metadata.creation_timestamp or "", revision.metadata.name


def next_revision(revisions: Iterable[ControllerRevision]) -> int:
    return max((each.revision for each in revisions), default=0) + 1


class RevisionHistory:
    """Reads and writes the revisions of a controller's objects."""

    def __init__(self, store: Store, client: ControllerClient, index: OwnerIndex) -> None:
        self._store = store
        self._client = client
        self._index = index

    def listed(self, owner: ApiObject, selector: LabelSelector) -> list[ControllerRevision]:
        """The revisions that the owner controls and matching orphans."""
        found = [*self._index.of(owner), *self._index.orphans(owner.metadata.namespace)]
        return [each for each in _revisions(found) if selector.matches(each.metadata.labels)]

    def adopt_orphans(self, owner: ApiObject, selector: LabelSelector) -> None:
        if owner.metadata.deletion_timestamp is not None:
            return
        for revision in self.listed(owner, selector):
            if controller_of(revision) is None:
                references = (*revision.metadata.owner_references, controller_reference(owner))
                self._client.set_owners(revision, references)

    def claim(self, owner: ApiObject, selector: LabelSelector) -> list[ControllerRevision]:
        """The revisions that the owner controls, after adoption and release."""
        return list(_revisions(self._client.claim(self._index, owner, selector)))

    def find(self, namespace: str, name: str) -> ControllerRevision | None:
        found = self._store.find("ControllerRevision", namespace, name)
        return found if isinstance(found, ControllerRevision) else None

    def create(self, revision: ControllerRevision, collision_count: int) -> tuple[ControllerRevision, int]:
        """Create the revision under a free name; returns it and the collision count.

        An existing revision with the same data is returned as it is.
        """
        prefix = revision.metadata.owner_references[0].name
        while True:
            name = revision_name(prefix, hash_revision(revision.data, collision_count))
            named = revision.changed(metadata=revision.metadata.changed(name=name))
            try:
                return self.create_named(named), collision_count
            except ApiError as error:
                existing = self.find(named.metadata.namespace, name)
                if error.reason != "AlreadyExists" or existing is None:
                    raise
                if existing.data == named.data:
                    return existing, collision_count
                collision_count += 1

    def create_named(self, revision: ControllerRevision) -> ControllerRevision:
        number = revision.revision
        created = self._client.create(revision, f"the pod template is new, so it is kept as revision {number}")
        assert isinstance(created, ControllerRevision)
        return created

    def renumber(self, revision: ControllerRevision, number: int) -> ControllerRevision:
        """Give an old template that becomes current again the highest number."""
        why = f"the pod template is that of revision {revision.revision} again, which becomes revision {number}"
        written = self._client.update(revision.changed(revision=number), why)
        assert isinstance(written, ControllerRevision)
        return written

    def delete(self, revision: ControllerRevision, why: str) -> None:
        self._client.delete(revision, why)


def _revisions(objects: Iterable[ApiObject]) -> Iterable[ControllerRevision]:
    return (each for each in objects if isinstance(each, ControllerRevision))
